"""HorizontalPodAutoscalers."""

from __future__ import annotations

from vacate.admission.checks import not_negative
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.nameformats import name_is_path_segment
from vacate.admission.rules import Effect, table
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import ErrorType, FieldError, complaints, invalid, required
from vacate.api.lenient import child, integer, mapping, text
from vacate.api.objects import Obj
from vacate.embedded.registry.autoscaling.behavior import behavior_errors, default_behavior
from vacate.embedded.registry.autoscaling.metrics import metrics_errors

_REF = "spec.scaleTargetRef"
_TARGET = "spec.metrics[].{}.target"
_RULES = "spec.behavior.{}"

RULES = table(
    "HorizontalPodAutoscaler",
    ("spec.minReplicas", Effect.DEFAULT, "1"),
    ("spec.metrics", Effect.DEFAULT, "the CPU at 80 percent"),
    ("spec.behavior", Effect.DEFAULT, "both directions, where one is mentioned"),
    ("status", Effect.DROPPED, "not settable on create"),
    ("status", Effect.KEPT, "only the status subresource changes it"),
    ("spec", Effect.KEPT, "the status subresource does not change it"),
    ("spec.minReplicas", ErrorType.INVALID, "at least 1"),
    ("spec.maxReplicas", ErrorType.REQUIRED, "not 0"),
    ("spec.maxReplicas#negative", ErrorType.INVALID, "at least 1"),
    ("spec.maxReplicas#floor", ErrorType.INVALID, "at least minReplicas"),
    (f"{_REF}.kind", ErrorType.REQUIRED, "not empty"),
    (f"{_REF}.kind", ErrorType.INVALID, "a path segment"),
    (f"{_REF}.name", ErrorType.REQUIRED, "not empty"),
    (f"{_REF}.name", ErrorType.INVALID, "a path segment"),
    (f"{_REF}.apiVersion", ErrorType.INVALID, "a group and a version"),
    ("spec.metrics", ErrorType.FORBIDDEN, "no minReplicas of 0 without an Object or External metric"),
    ("spec.metrics[].type", ErrorType.REQUIRED, "not empty"),
    ("spec.metrics[].type", ErrorType.NOT_SUPPORTED, "one of the five types"),
    ("spec.metrics[].{}", ErrorType.REQUIRED, "the source that the type names"),
    ("spec.metrics[].{}", ErrorType.FORBIDDEN, "no other source"),
    ("spec.metrics[].{}.name", ErrorType.REQUIRED, "a resource"),
    ("spec.metrics[].containerResource.container", ErrorType.REQUIRED, "a container"),
    ("spec.metrics[].{}.metric.name", ErrorType.REQUIRED, "not empty"),
    ("spec.metrics[].{}.metric.name", ErrorType.INVALID, "a path segment"),
    (f"{_TARGET}.type", ErrorType.REQUIRED, "not empty"),
    (f"{_TARGET}.type", ErrorType.INVALID, "Utilization, Value or AverageValue"),
    (f"{_TARGET}.value", ErrorType.INVALID, "positive"),
    (f"{_TARGET}.value", ErrorType.FORBIDDEN, "not with averageValue, in an External metric"),
    (f"{_TARGET}.averageValue", ErrorType.INVALID, "positive"),
    (f"{_TARGET}.averageValue", ErrorType.REQUIRED, "where there is no other value"),
    (f"{_TARGET}.averageValue", ErrorType.FORBIDDEN, "not with averageUtilization"),
    (f"{_TARGET}.averageUtilization", ErrorType.INVALID, "positive"),
    (f"{_TARGET}.averageUtilization", ErrorType.REQUIRED, "of a resource, where there is no averageValue"),
    (f"{_RULES}.stabilizationWindowSeconds#negative", ErrorType.INVALID, "not negative"),
    (f"{_RULES}.stabilizationWindowSeconds#long", ErrorType.INVALID, "at most 3600"),
    (f"{_RULES}.selectPolicy", ErrorType.NOT_SUPPORTED, "Disabled, Max or Min"),
    (f"{_RULES}.policies[].type", ErrorType.NOT_SUPPORTED, "Percent or Pods"),
    (f"{_RULES}.policies[].value", ErrorType.INVALID, "positive"),
    (f"{_RULES}.policies[].periodSeconds#positive", ErrorType.INVALID, "positive"),
    (f"{_RULES}.policies[].periodSeconds#long", ErrorType.INVALID, "at most 1800"),
    (f"{_RULES}.tolerance", ErrorType.INVALID, "not negative"),
    ("status.currentReplicas", ErrorType.INVALID, "not negative"),
    ("status.desiredReplicas", ErrorType.INVALID, "not negative"),
)


class HorizontalPodAutoscalerStrategy(KindStrategy):
    """Answers for HorizontalPodAutoscalers. Their generation is not counted, as in Kubernetes 1.36."""

    rules = RULES

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
        """Status stays."""
        keep(new, old, "status")

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
    if floor < 1:
        found.append(invalid("spec.minReplicas", floor, "must be greater than or equal to 1"))
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
