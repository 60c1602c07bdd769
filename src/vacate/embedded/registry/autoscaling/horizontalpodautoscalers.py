"""HorizontalPodAutoscalers."""

from __future__ import annotations

from vacate.admission.checks import not_negative, same
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.nameformats import name_is_path_segment
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError, complaints, invalid, required
from vacate.api.lenient import child, integer, mapping, text
from vacate.api.objects import Obj
from vacate.embedded.registry.autoscaling.behavior import behavior_errors, default_behavior
from vacate.embedded.registry.autoscaling.metrics import metrics_errors

_REF = "spec.scaleTargetRef"


class HorizontalPodAutoscalerStrategy(KindStrategy):
    """Answers for HorizontalPodAutoscalers."""

    counts_generations = True

    def default(self, obj: Obj, ctx: Context) -> None:
        """At least one pod, by their use of the CPU."""
        spec = child(obj, "spec")
        spec.setdefault("minReplicas", 1)
        if not spec.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        default_behavior(spec)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The status is the controller's."""
        obj["status"] = {"desiredReplicas": 0, "currentMetrics": None}

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; a new spec is a new generation."""
        keep(new, old, "status")
        count_generation(new, old, not same(mapping(new.get("spec")), mapping(old.get("spec"))))

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        found = _bounds_errors(spec) + _reference_errors(mapping(spec.get("scaleTargetRef")))
        return found + metrics_errors(spec) + behavior_errors(spec)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again."""
        return step + self.field_errors(new, ctx)

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Counts."""
        status = mapping(new.get("status"))
        found = not_negative("status", status, "currentReplicas")
        return step + found + not_negative("status", status, "desiredReplicas")


def _bounds_errors(spec: Obj) -> list[FieldError]:
    floor, ceiling = integer(spec.get("minReplicas")), integer(spec.get("maxReplicas"))
    found: list[FieldError] = []
    if floor < 0:
        found.append(invalid("spec.minReplicas", floor, "must be greater than or equal to 0"))
    if ceiling == 0:
        found.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif ceiling < 0:
        found.append(invalid("spec.maxReplicas", ceiling, "must be greater than or equal to 1"))
    if ceiling < floor:
        detail = "must be greater than or equal to `minReplicas`"
        found.append(invalid("spec.maxReplicas", ceiling, detail))
    return found


def _reference_errors(ref: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for key in ("kind", "name"):
        value = text(ref.get(key))
        if not value:
            found.append(required(f"{_REF}.{key}"))
        else:
            found += complaints(f"{_REF}.{key}", value, name_is_path_segment(value, False))
    version = text(ref.get("apiVersion"))
    if version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {version}"
        found.append(invalid(f"{_REF}.apiVersion", version, detail))
    elif not version.partition("/")[0] or "/" not in version:
        found.append(invalid(f"{_REF}.apiVersion", version, "apiVersion must specify API group"))
    return found
