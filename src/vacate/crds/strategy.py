"""Admission of a kind by its declaration alone: defaults, schema, rules, and a status of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacate.admission.checks import same
from vacate.admission.context import Context, Traits
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj, metadata
from vacate.crds.declaration import CelRule, Declaration

_TRAITS = Traits(unconditional_update=False)


class DeclaredStrategy(KindStrategy):
    """Admits declared kinds, which behave as custom resources do; some have a strategy derived from it."""

    counts_generations = True
    checks_finalizers = False

    def __init__(self, declaration: Declaration) -> None:
        super().__init__(declaration.kind)
        self.declaration = declaration

    @property
    def traits(self) -> Traits:
        """Custom resources are never overwritten blindly."""
        return _TRAITS

    def default(self, obj: Obj, ctx: Context) -> None:
        """What the schema says where the author says nothing."""
        self.declaration.structure.fill_defaults(obj)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """A status that is given on create is dropped."""
        obj["status"] = {}
        self.declaration.structure.fill_defaults(obj)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """The status stays as it is."""
        keep(new, old, "status")
        count_generation(new, old, not same(new.get("spec"), old.get("spec")))

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Nothing but the status changes."""
        version = metadata(new).get("resourceVersion")
        keep(new, old, "spec", "metadata")
        new["metadata"] = {**new["metadata"], "resourceVersion": version}

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The schema, then the rules where the types are right."""
        return self._spec_errors(obj)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again."""
        return [*step, *self._spec_errors(new)]

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The status by its schema."""
        return [*step, *self.declaration.structure.status_errors(new.get("status"))]

    def _spec_errors(self, obj: Obj) -> list[FieldError]:
        found = self.declaration.structure.field_errors({**obj, "metadata": {}})
        return found or rule_errors(self.declaration.rules, obj)


def rule_errors(rules: Sequence[CelRule], obj: Obj) -> list[FieldError]:
    """Every rule that the object breaks; its types are right."""
    return [
        rule.field_error(path, value)
        for rule in rules
        for path, value in _places(obj, rule.at.split(".") if rule.at else [], "")
        if not rule.holds(value)
    ]


def _places(value: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    """The places that a path names, as far as they are there."""
    if not steps:
        yield path, value
        return
    key, items = steps[0].removesuffix("[]"), steps[0].endswith("[]")
    if not isinstance(value, dict) or key not in value:
        return
    below = f"{path}.{key}" if path else key
    if not items:
        yield from _places(value[key], steps[1:], below)
        return
    for index, item in enumerate(value[key]):
        yield from _places(item, steps[1:], f"{below}[{index}]")
