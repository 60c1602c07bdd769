"""Admission of a kind by its declaration alone: defaults, schema, and a status of its own."""

from __future__ import annotations

from typing import ClassVar

from vacate.admission.context import Context, Traits
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj, metadata
from vacate.crds.customresource import CustomResource


class DeclaredStrategy(KindStrategy):
    """Admits declared kinds, which behave as custom resources do; some have a strategy derived from it."""

    # Custom resources are never overwritten blindly.
    traits = Traits(unconditional_update=False)
    counts_generations = True
    checks_finalizers = False
    new_status: ClassVar[Obj | None] = {}

    def __init__(self, declaration: CustomResource) -> None:
        super().__init__(declaration.kind)
        self.declaration = declaration

    def default(self, obj: Obj, ctx: Context) -> None:
        """What the schema says where the author says nothing."""
        self.declaration.structure.fill_defaults(obj)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """A status that is given on create is dropped."""
        super().prepare_new(obj, ctx)
        self.declaration.structure.fill_defaults(obj)

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Nothing but the status changes."""
        version = metadata(new).get("resourceVersion")
        keep(new, old, "spec", "metadata")
        new["metadata"] = {**new["metadata"], "resourceVersion": version}

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The schema. Rules in CEL are the API server's to evaluate."""
        return self._spec_errors(obj)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again."""
        return [*step, *self._spec_errors(new)]

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The status by its schema."""
        return [*step, *self.declaration.structure.status_errors(new.get("status"))]

    def _spec_errors(self, obj: Obj) -> list[FieldError]:
        return self.declaration.structure.field_errors({**obj, "metadata": {}})
