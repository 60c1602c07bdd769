"""ReplicaSets."""

from __future__ import annotations

from vacate.admission.checks import not_negative, same
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError, invalid
from vacate.api.lenient import child, integer, mapping
from vacate.api.objects import Obj
from vacate.embedded.registry.apps import podtemplate as template

_COUNTS = (
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
    "terminatingReplicas",
)  # fmt: skip


class ReplicaSetStrategy(KindStrategy):
    """Answers for ReplicaSets."""

    counts_generations = True

    def default(self, obj: Obj, ctx: Context) -> None:
        """One replica, and the template's defaults."""
        spec = child(obj, "spec")
        spec.setdefault("replicas", 1)
        template.default_template(spec, self.kind)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The status is the controller's."""
        obj["status"] = {"replicas": 0}
        template.drop_gated_fields(mapping(obj.get("spec")), None, ctx)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; a new spec is a new generation."""
        keep(new, old, "status")
        spec, before = mapping(new.get("spec")), mapping(old.get("spec"))
        template.drop_gated_fields(spec, before, ctx)
        count_generation(new, old, not same(spec, before))

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        found = not_negative("spec", spec, "replicas") + not_negative("spec", spec, "minReadySeconds")
        return found + template.selector_and_template_errors(spec, ctx)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again, with the same selector."""
        specs = (mapping(each.get("spec")) for each in (new, old))
        ctx = template.tolerating_interceptors(ctx, old)
        return step + self.field_errors(new, ctx) + template.selector_change_errors(*specs)

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Counts that fit together."""
        status = mapping(new.get("status"))
        found = list(step)
        for key in _COUNTS:
            found += not_negative("status", status, key)
        return found + count_errors(status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))


def count_errors(status: Obj, parts: tuple[str, ...]) -> list[FieldError]:
    """No part is greater than the whole, and nothing is available that is not ready."""
    whole = integer(status.get("replicas"))
    detail = "cannot be greater than status.replicas"
    found = [
        invalid(f"status.{key}", count, detail)
        for key in parts
        if (count := integer(status.get(key))) > whole
    ]
    available = integer(status.get("availableReplicas"))
    if available > integer(status.get("readyReplicas")):
        detail = "cannot be greater than readyReplicas"
        found.append(invalid("status.availableReplicas", available, detail))
    return found
