"""Cases of HorizontalPodAutoscalers. The messages are those of a real server."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep
from embedded.registry.cases_workloads import NEGATIVE
from vacate.api.kinds import HORIZONTALPODAUTOSCALERS as KIND

_H = "HorizontalPodAutoscaler/"
_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_FLOOR = "must be greater than or equal to `minReplicas`"
_TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"'
_GROUP = "apiVersion must specify API group"
_REF = "spec.scaleTargetRef"
_M = "spec.metrics[0]"
_MT = "spec.metrics[].{}.target"


def _external(name: str = "q", **target: Any) -> dict[str, Any]:
    return {"spec.metrics": [{"type": "External", "external": {"metric": {"name": name}, "target": target}}]}


def _broken(rule: str, changes: dict[str, Any], field_error: str) -> Broken:
    return Broken(f"{_H}{rule}", KIND, changes, field_error)


CASES: Cases = (
    Done(f"{_H}spec.minReplicas/default", KIND, {}, "spec.minReplicas", 1),
    Done(f"{_H}spec.metrics/default", KIND, {}, "spec.metrics", [_CPU]),
    Done(f"{_H}status/dropped", KIND, {"status": {"desiredReplicas": 3}}, "status",
         {"desiredReplicas": 0, "currentMetrics": None}),
    DoneByStep(f"{_H}status/kept", KIND, {"status.desiredReplicas": 3}, "status.desiredReplicas", 0),
    DoneByStep(f"{_H}spec/kept", KIND, {"spec.maxReplicas": 5}, "spec.maxReplicas", 3, subresource="status"),
    _broken("spec.minReplicas/invalid", {"spec.minReplicas": -1},
            "spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"),
    _broken("spec.maxReplicas/required", {"spec.maxReplicas": 0},
            "spec.maxReplicas: Required value: must be set and greater than 0"),
    _broken("spec.maxReplicas/invalid/negative", {"spec.maxReplicas": -1},
            "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"),
    _broken("spec.maxReplicas/invalid/floor", {"spec.minReplicas": 4}, f"spec.maxReplicas: Invalid value: 3: {_FLOOR}"),
    _broken(f"{_REF}.kind/required", {_REF: {}}, f"{_REF}.kind: Required value"),
    _broken(f"{_REF}.kind/invalid", {f"{_REF}.kind": "a/b"}, f"{_REF}.kind: Invalid value: \"a/b\": may not contain '/'"),
    _broken(f"{_REF}.name/required", {_REF: {}}, f"{_REF}.name: Required value"),
    _broken(f"{_REF}.name/invalid", {f"{_REF}.name": ".."}, f"{_REF}.name: Invalid value: \"..\": may not be '..'"),
    *(_broken(f"{_REF}.apiVersion/invalid", {f"{_REF}.apiVersion": value},
              f'{_REF}.apiVersion: Invalid value: "{value}": {_GROUP}') for value in ("", "v1", "/v1")),
    _broken(f"{_REF}.apiVersion/invalid", {f"{_REF}.apiVersion": "x/y/z"},
            f'{_REF}.apiVersion: Invalid value: "x/y/z": unexpected GroupVersion string: x/y/z'),
    _broken("spec.metrics/forbidden", {"spec.minReplicas": 0},
            "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"),
    _broken("spec.metrics[].type/unsupported", {"spec.metrics": [{"type": "x"}]},
            f'{_M}.type: Unsupported value: "x": supported values: {_TYPES}'),
    _broken("spec.metrics[].{}.metric.name/required", _external("", type="Value", value="1"),
            f"{_M}.external.metric.name: Required value: must specify a metric name"),
    _broken(f"{_MT}.value/invalid", _external(type="Value", value="0"),
            f'{_M}.external.target.value: Invalid value: "0": must be positive'),
    _broken(f"{_MT}.averageValue/required", _external(type="Value"),
            f"{_M}.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target"),
    *(BrokenStep(f"{_H}status.{key}/invalid", KIND, {f"status.{key}": -1},
                 f"status.{key}: Invalid value: -1: {NEGATIVE}", subresource="status")
      for key in ("currentReplicas", "desiredReplicas")),
)  # fmt: skip
