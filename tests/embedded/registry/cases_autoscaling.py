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
_ALL = {"type": "Percent", "value": 100, "periodSeconds": 15}
_BEHAVIOR = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _ALL],
    },
    "scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Max", "policies": [_ALL]},
}
_FLOOR = "must be greater than or equal to `minReplicas`"
_TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"'
_GROUP = "apiVersion must specify API group"
_REF = "spec.scaleTargetRef"
_M = "spec.metrics[0]"
_MT = "spec.metrics[].{}.target"
_UP = "spec.behavior.scaleUp"
_R = "spec.behavior.{}"


def _resource(**target: Any) -> dict[str, Any]:
    return {"spec.metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}


def _external(name: str = "q", **target: Any) -> dict[str, Any]:
    return {"spec.metrics": [{"type": "External", "external": {"metric": {"name": name}, "target": target}}]}


def _broken(rule: str, changes: dict[str, Any], field_error: str) -> Broken:
    return Broken(f"{_H}{rule}", KIND, changes, field_error)


CASES: Cases = (
    Done(f"{_H}spec.minReplicas/default", KIND, {}, "spec.minReplicas", 1),
    Done(f"{_H}spec.metrics/default", KIND, {}, "spec.metrics", [_CPU]),
    Done(f"{_H}spec.behavior/default", KIND, {"spec.behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}},
         "spec.behavior", _BEHAVIOR),
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
    _broken("spec.metrics[].type/required", {"spec.metrics": [{}]}, f"{_M}.type: Required value: must specify a metric source type"),
    _broken("spec.metrics[].type/unsupported", {"spec.metrics": [{"type": "x"}]},
            f'{_M}.type: Unsupported value: "x": supported values: {_TYPES}'),
    _broken("spec.metrics[].{}/required", {"spec.metrics": [{**_CPU, "type": "External"}]},
            f"{_M}.external: Required value: must populate information for the given metric source"),
    _broken("spec.metrics[].{}/forbidden", {"spec.metrics": [{**_CPU, "pods": {}}]},
            f"{_M}.pods: Forbidden: must populate the given metric source only"),
    _broken("spec.metrics[].{}.name/required", {"spec.metrics": [{"type": "Resource", "resource": {}}]},
            f"{_M}.resource.name: Required value: must specify a resource name"),
    _broken("spec.metrics[].containerResource.container/required",
            {"spec.metrics": [{"type": "ContainerResource", "containerResource": {"name": "cpu"}}]},
            f"{_M}.containerResource.container: Required value: must specify a container"),
    _broken("spec.metrics[].{}.metric.name/required", _external("", type="Value", value="1"),
            f"{_M}.external.metric.name: Required value: must specify a metric name"),
    _broken("spec.metrics[].{}.metric.name/invalid", _external("a%", type="Value", value="1"),
            f"{_M}.external.metric.name: Invalid value: \"a%\": may not contain '%'"),
    _broken(f"{_MT}.type/required", _resource(averageUtilization=5),
            f"{_M}.resource.target.type: Required value: must specify a metric target type"),
    _broken(f"{_MT}.type/invalid", _resource(type="x", averageUtilization=5),
            f'{_M}.resource.target.type: Invalid value: "x": must be either Utilization, Value, or AverageValue'),
    _broken(f"{_MT}.value/invalid", _external(type="Value", value="0"),
            f'{_M}.external.target.value: Invalid value: "0": must be positive'),
    _broken(f"{_MT}.value/forbidden", _external(type="Value", value="1", averageValue="1"),
            f"{_M}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target"),
    _broken(f"{_MT}.averageValue/invalid", _resource(type="AverageValue", averageValue="-1"),
            f'{_M}.resource.target.averageValue: Invalid value: "-1": must be positive'),
    _broken(f"{_MT}.averageValue/required", _external(type="Value"),
            f"{_M}.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target"),
    _broken(f"{_MT}.averageValue/required", {"spec.metrics": [{"type": "Object", "object": {"metric": {"name": "q"}}}]},
            f"{_M}.object.target.averageValue: Required value: must set either a target value or averageValue"),
    _broken(f"{_MT}.averageValue/required", {"spec.metrics": [{"type": "Pods", "pods": {"metric": {"name": "q"}}}]},
            f"{_M}.pods.target.averageValue: Required value: must specify a positive target averageValue"),
    _broken(f"{_MT}.averageValue/forbidden", _resource(type="Utilization", averageUtilization=5, averageValue="1"),
            f"{_M}.resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization"),
    _broken(f"{_MT}.averageUtilization/invalid", _resource(type="Utilization", averageUtilization=-1),
            f"{_M}.resource.target.averageUtilization: Invalid value: -1: must be greater than 0"),
    _broken(f"{_MT}.averageUtilization/required", _resource(type="Utilization"),
            f"{_M}.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization"),
    _broken(f"{_R}.stabilizationWindowSeconds/invalid/negative", {"spec.behavior": {"scaleUp": {"stabilizationWindowSeconds": -1}}},
            f"{_UP}.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero"),
    _broken(f"{_R}.stabilizationWindowSeconds/invalid/long", {"spec.behavior": {"scaleUp": {"stabilizationWindowSeconds": 3601}}},
            f"{_UP}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"),
    _broken(f"{_R}.selectPolicy/unsupported", {"spec.behavior": {"scaleUp": {"selectPolicy": "x"}}},
            f'{_UP}.selectPolicy: Unsupported value: "x": supported values: "Disabled", "Max", "Min"'),
    _broken(f"{_R}.policies[].type/unsupported", {"spec.behavior": {"scaleUp": {"policies": [{**_ALL, "type": "x"}]}}},
            f'{_UP}.policies[0].type: Unsupported value: "x": supported values: "Percent", "Pods"'),
    _broken(f"{_R}.policies[].value/invalid", {"spec.behavior": {"scaleUp": {"policies": [{**_ALL, "value": 0}]}}},
            f"{_UP}.policies[0].value: Invalid value: 0: must be greater than zero"),
    _broken(f"{_R}.policies[].periodSeconds/invalid/positive",
            {"spec.behavior": {"scaleUp": {"policies": [{**_ALL, "periodSeconds": 0}]}}},
            f"{_UP}.policies[0].periodSeconds: Invalid value: 0: must be greater than zero"),
    _broken(f"{_R}.policies[].periodSeconds/invalid/long",
            {"spec.behavior": {"scaleUp": {"policies": [{**_ALL, "periodSeconds": 1801}]}}},
            f"{_UP}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"),
    _broken(f"{_R}.tolerance/invalid", {"spec.behavior": {"scaleUp": {"tolerance": "-1"}}},
            f'{_UP}.tolerance: Invalid value: "-1": must be greater than or equal to 0'),
    *(BrokenStep(f"{_H}status.{key}/invalid", KIND, {f"status.{key}": -1},
                 f"status.{key}: Invalid value: -1: {NEGATIVE}", subresource="status")
      for key in ("currentReplicas", "desiredReplicas")),
)  # fmt: skip
