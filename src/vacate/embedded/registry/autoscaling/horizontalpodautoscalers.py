"""HorizontalPodAutoscalers. Of metrics only External ones are checked, which the controller here reads."""

from __future__ import annotations

from typing import ClassVar

from vacate.admission.checks import unsupported
from vacate.admission.context import Context
from vacate.admission.nameformats import name_is_path_segment
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required
from vacate.api.objects import Obj, dig
from vacate.api.untyped import child, integer, mapping, maps, text
from vacate.embedded.registry.core.quantities import quantity_of

_REF = "spec.scaleTargetRef"
_METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TO_ZERO = "must specify at least one Object or External metric to support scaling to zero replicas"


class HorizontalPodAutoscalerStrategy(KindStrategy):
    """Answers for HorizontalPodAutoscalers."""

    counts_generations = True
    new_status: ClassVar[Obj | None] = {"desiredReplicas": 0, "currentMetrics": None}
    counts = ("currentReplicas", "desiredReplicas")

    def default(self, obj: Obj, ctx: Context) -> None:
        """At least one pod, by their use of the CPU."""
        spec = child(obj, "spec")
        spec.setdefault("minReplicas", 1)
        if not spec.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        found = _bounds_errors(spec) + _reference_errors(mapping(spec.get("scaleTargetRef")))
        return found + _metrics_errors(spec)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again."""
        return step + self.field_errors(new, ctx)


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


def _metrics_errors(spec: Obj) -> list[FieldError]:
    """Errors of External metrics; without one, and without one of an object, nothing is scaled from zero."""
    metrics, found = maps(spec.get("metrics")), list[FieldError]()
    for index, metric in enumerate(metrics):
        path, sort = f"spec.metrics[{index}]", text(metric.get("type"))
        if sort not in _METRICS:
            found.append(unsupported(f"{path}.type", sort, _METRICS))
        if sort == "External":
            found += _external_errors(mapping(metric.get("external")), f"{path}.external")
    if spec.get("minReplicas") == 0 and not any(one.get("type") in ("Object", "External") for one in metrics):
        found.append(forbidden("spec.metrics", _TO_ZERO))
    return found


def _external_errors(source: Obj, path: str) -> list[FieldError]:
    name, target = text(dig(source, "metric", "name")), mapping(source.get("target"))
    found = [] if name else [required(f"{path}.metric.name", "must specify a metric name")]
    for key in ("value", "averageValue"):
        if target.get(key) is not None and quantity_of(target[key]).sign <= 0:
            found.append(invalid(f"{path}.target.{key}", str(target[key]), "must be positive"))
    if target.get("value") is None and target.get("averageValue") is None:
        detail = "must set either a target value for metric or a per-pod target"
        found.append(required(f"{path}.target.averageValue", detail))
    return found
