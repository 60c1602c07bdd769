"""Strategies of Vacate's own kinds on the embedded server, which holds the rules of their definitions too.

What a webhook would say comes first, as it does on other clusters; then the rules that are written in the
definition, evaluated as they are written there.
"""

from __future__ import annotations

from functools import cache

from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.crds.catalogue import declaration_of
from vacate.crds.definition import definition
from vacate.embedded.cel.ruletree import RuleTree


class CustomResourceStrategy:
    """A strategy, and after it the rules of the definition."""

    def __init__(self, strategy: KindStrategy) -> None:
        self._strategy = strategy
        self.kind = strategy.kind
        self.traits = strategy.traits
        self.default = strategy.default
        self.prepare_create = strategy.prepare_create
        self.prepare_update = strategy.prepare_update
        self.validate_delete = strategy.validate_delete

    def validate(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """What the strategy finds; where that is nothing, the rules that a new object breaks."""
        found = self._strategy.validate(obj, ctx)
        return found or rules_of(self.kind, ctx.allowed_interceptors).field_errors(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        """What the strategy finds; where that is nothing, the rules that the step breaks."""
        found = self._strategy.validate_update(new, old, ctx)
        return found or rules_of(self.kind, ctx.allowed_interceptors).field_errors(new, old)


@cache
def rules_of(kind: Kind, allowed_interceptors: tuple[str, ...] = ()) -> RuleTree:
    """The rules of a kind's definition, as it is installed where these names are allowed."""
    written = definition(allowed_interceptors, declaration_of(kind))
    (version,) = written["spec"]["versions"]
    return RuleTree(version["schema"]["openAPIV3Schema"])
