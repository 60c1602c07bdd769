"""The metrics of a HorizontalPodAutoscaler."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import unsupported
from vacate.admission.nameformats import name_is_path_segment
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required
from vacate.api.lenient import integer, mapping, maps, text
from vacate.api.objects import Obj
from vacate.api.quantity import parse_quantity

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_CHECKED = ("object", "external", "pods", "resource", "containerResource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_TO_ZERO = "must specify at least one Object or External metric to support scaling to zero replicas"


def metrics_errors(spec: Obj) -> list[FieldError]:
    """Every rule that the metrics break."""
    metrics, found = maps(spec.get("metrics")), list[FieldError]()
    for index, metric in enumerate(metrics):
        found += _metric_errors(metric, f"spec.metrics[{index}]")
    if spec.get("minReplicas") == 0 and not any(_counts_without_pods(one) for one in metrics):
        found.append(forbidden("spec.metrics", _TO_ZERO))
    return found


def _counts_without_pods(metric: Obj) -> bool:
    return metric.get("type") in ("Object", "External")


def _metric_errors(metric: Obj, path: str) -> list[FieldError]:
    sort, found = text(metric.get("type")), list[FieldError]()
    if not sort:
        found.append(required(f"{path}.type", "must specify a metric source type"))
    if sort not in _SOURCES:
        found.append(unsupported(f"{path}.type", sort, tuple(_SOURCES)))
    given = [key for key in _CHECKED if metric.get(key) is not None]
    if given:
        found += _source_errors(given[0], mapping(metric[given[0]]), f"{path}.{given[0]}")
    expected = _SOURCES.get(sort)
    if expected is not None and expected not in given:
        detail = "must populate information for the given metric source"
        found.append(required(f"{path}.{expected}", detail))
    elif expected is not None:
        others = [key for key in sorted(given) if key != expected]
        detail = "must populate the given metric source only"
        found += [forbidden(f"{path}.{key}", detail) for key in others]
    return found


def _source_errors(key: str, source: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if key in ("resource", "containerResource"):
        if not text(source.get("name")):
            found.append(required(f"{path}.name", "must specify a resource name"))
        if key == "containerResource" and not text(source.get("container")):
            found.append(required(f"{path}.container", "must specify a container"))
    else:
        found += _named(mapping(source.get("metric")), f"{path}.metric")
    target = mapping(source.get("target"))
    found += _target_errors(target, f"{path}.target")
    return found + _choice_errors(key, target, f"{path}.target")


def _named(metric: Obj, path: str) -> list[FieldError]:
    name = text(metric.get("name"))
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return complaints(f"{path}.name", name, name_is_path_segment(name, False))


def _target_errors(target: Obj, path: str) -> list[FieldError]:
    sort, found = text(target.get("type")), list[FieldError]()
    if not sort:
        found.append(required(f"{path}.type", "must specify a metric target type"))
    if sort not in _TARGETS:
        found.append(invalid(f"{path}.type", sort, "must be either Utilization, Value, or AverageValue"))
    for key in ("value", "averageValue"):
        if target.get(key) is not None and not _is_positive(target[key]):
            found.append(invalid(f"{path}.{key}", str(target[key]), "must be positive"))
    percent = target.get("averageUtilization")
    if percent is not None and integer(percent) < 1:
        found.append(invalid(f"{path}.averageUtilization", percent, "must be greater than 0"))
    return found


def _choice_errors(key: str, target: Obj, path: str) -> list[FieldError]:
    """Which of the values a source takes."""
    value, average = target.get("value"), target.get("averageValue")
    percent = target.get("averageUtilization")
    if key in ("resource", "containerResource"):
        if percent is None and average is None:
            detail = "must set either a target raw value or a target utilization"
            return [required(f"{path}.averageUtilization", detail)]
        if percent is not None and average is not None:
            detail = "may not set both a target raw value and a target utilization"
            return [forbidden(f"{path}.averageValue", detail)]
    elif key == "pods":
        if average is None:
            return [required(f"{path}.averageValue", "must specify a positive target averageValue")]
    elif value is None and average is None:
        detail = "a target value or averageValue" if key == "object" else _EXTERNAL
        return [required(f"{path}.averageValue", f"must set either {detail}")]
    elif key == "external" and value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        return [forbidden(f"{path}.value", detail)]
    return []


_EXTERNAL = "a target value for metric or a per-pod target"


def _is_positive(value: Any) -> bool:
    try:
        return parse_quantity(value).sign > 0
    except ValueError:
        return False
