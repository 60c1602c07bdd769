"""Horizontal pod autoscalers."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer
from vacate.api.objects import Obj, dig, name_of
from vacate.api.untyped import mapping, maps

_UNKNOWN = "<unknown>"
_SHOWN = 2
"""So many metrics are shown, and how many there are beyond them."""
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler(obj: Obj, now: dt.datetime) -> list[Any]:
    ref = mapping(dig(obj, "spec", "scaleTargetRef"))
    floor = dig(obj, "spec", "minReplicas")
    return [
        name_of(obj),
        f"{ref.get('kind', '')}/{ref.get('name', '')}",
        _targets(maps(dig(obj, "spec", "metrics")), maps(dig(obj, "status", "currentMetrics"))),
        "<unset>" if floor is None else str(floor),
        dig(obj, "spec", "maxReplicas") or 0,
        dig(obj, "status", "currentReplicas") or 0,
        age(obj, now),
    ]


def _targets(metrics: list[Obj], measured: list[Obj]) -> str:
    if not metrics:
        return "<none>"
    shown = [
        _metric(metric, measured[index] if index < len(measured) else {})
        for index, metric in enumerate(metrics[:_SHOWN])
    ]
    more = f" + {len(metrics) - _SHOWN} more..." if len(metrics) > _SHOWN else ""
    return ", ".join(shown) + more


def _metric(metric: Obj, measured: Obj) -> str:
    key = _SOURCES.get(str(metric.get("type")), "")
    target, current = mapping(dig(metric, key, "target")), mapping(dig(measured, key, "current"))
    average = target.get("averageValue")
    if key in ("resource", "containerResource"):
        name = dig(metric, key, "name")
        if average is not None:
            return f"{name}: {current.get('averageValue', _UNKNOWN)}/{average}"
        used = current.get("averageUtilization")
        return f"{name}: {_UNKNOWN if used is None else f'{used}%'}/{target.get('averageUtilization')}%"
    if average is not None:
        suffix = "" if key == "pods" else " (avg)"
        return f"{current.get('averageValue', _UNKNOWN)}/{average}{suffix}"
    return f"{current.get('value', _UNKNOWN)}/{target.get('value')}"


HORIZONTALPODAUTOSCALERS = Printer(
    (
        NAME,
        Column("Reference", "What is scaled."),
        Column("Targets", "Each metric: what was measured, and what it should be."),
        Column("MinPods", "The fewest pods."),
        Column("MaxPods", "The most pods."),
        Column("Replicas", "How many pods there are."),
        AGE,
    ),
    _autoscaler,
)
