"""Cases of pods: restarts, mounts, volumes, label keys, delivery of termination reasons."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import Broken, Cases, Done
from embedded.registry.given import context
from vacate.api.kinds import PODS

_C = "spec.containers[0]."
_CS = "Pod/spec.containers[]."
_VOLUMES = {
    "spec.volumes": [
        {"name": "v", "emptyDir": {}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "c"}},
    ]
}


def _bad(rule: str, key: str, value: Any, field_error: str, **more: Any) -> Broken:
    return Broken(f"Pod/spec.{rule}", PODS, {f"spec.{key}": value, **more}, f"spec.{field_error}")


def _in_container(rule: str, changes: dict[str, Any], field_error: str) -> Broken:
    placed = {key if key.startswith("spec.") else f"{_C}{key}": value for key, value in changes.items()}
    return Broken(f"{_CS}{rule}", PODS, {**_VOLUMES, **placed}, f"{_C}{field_error}")


OTHERS: Cases = (
    _bad("overhead.limits[]/invalid", "overhead", {"cpu": "-1"},
         'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    Done("Pod/spec.schedulingGroup/dropped", PODS, {"spec.schedulingGroup": {"podGroupName": "a"}}, "spec.schedulingGroup", None),
)  # fmt: skip

RESTARTS: Cases = (
    _in_container("restartPolicy/unsupported", {"restartPolicy": "x"}, 'restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"'),
)  # fmt: skip

MOUNTS: Cases = (
    _in_container("volumeMounts[].subPathExpr/invalid", {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "a", "subPathExpr": "b"}]},
                  'volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'),
    _in_container("volumeMounts.subPathExpr/invalid", {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPathExpr": "/b"}]},
                  'volumeMounts.subPathExpr: Invalid value: "/b": must be a relative path'),
)  # fmt: skip

_TERMS = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_TERM = {"topologyKey": "z", "labelSelector": {}}
LABEL_KEYS: Cases = (
    Done("Pod/spec.topologySpreadConstraints[].labelSelector/set", PODS,
         {"metadata.labels": {"app": "web"}, f"spec.{_TERMS}": [{**_TERM, "mismatchLabelKeys": ["app", "no"]}]},
         f"spec.{_TERMS}[0].labelSelector", {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
)  # fmt: skip

_HOOK = "lifecycle.preStop"
_EXEC, _HTTP = {"exec": {"command": ["true"]}}, {"httpGet": {"path": "/", "port": 80}}
_DELIVERED = {"env": "REASON"}


def _delivery(rule: str, action: dict[str, Any], delivery: dict[str, Any], field_error: str) -> Broken:
    hook = {f"{_C}{_HOOK}": {**action, "reasonDelivery": delivery}}
    return Broken(
        f"{_CS}{_HOOK}.reasonDelivery{rule}", PODS, hook, f"{_C}{_HOOK}.reasonDelivery{field_error}"
    )


def _given(delivery: Any, ctx: Any = None) -> Done:
    hook = {f"{_C}{_HOOK}": {**_EXEC, "reasonDelivery": _DELIVERED}}
    return Done(
        f"{_CS}{_HOOK}.reasonDelivery/dropped", PODS, hook, f"{_C}{_HOOK}.reasonDelivery", delivery, ctx
    )


REASONS: Cases = (
    _given(_DELIVERED),
    _given(None, context(gates="PodTerminationReason")),
    _delivery(".header/forbidden", _EXEC, {"header": "Reason"}, ".header: Forbidden: may only be set for a hook with `httpGet`"),
    _delivery(".env/forbidden", _HTTP, {"env": "REASON"}, ".env: Forbidden: may only be set for a hook with `exec`"),
    _delivery(".env/forbidden", {"sleep": {"seconds": 1}}, {"env": "REASON"}, ".env: Forbidden: may only be set for a hook with `exec`"),
    _delivery("/invalid", _EXEC, {"env": "REASON", "header": "Reason"},
              ': Invalid value: {"env":"REASON","header":"Reason"}: may not specify both `env` and `header`'),
    _delivery(".env/invalid", _EXEC, {"env": "A=B"},
              '.env: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than \'=\''),
    _delivery("/required", _EXEC, {}, ": Required value: must specify `env` or `header`; leave it out for the default"),
    _delivery(".header/invalid", _HTTP, {"header": "A: b\r\nC"},
              ".header: Invalid value: \"A: b\\r\\nC\": must be the name of an HTTP header: letters, digits and !#$%&'*+-.^_`|~"),
    _delivery(".header/invalid", _HTTP, {"header": "content-LENGTH"},
              '.header: Invalid value: "content-LENGTH": must not be a header by which HTTP delimits or routes messages; choose another name'),
)  # fmt: skip

_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def _from(rule: str, source: dict[str, Any], field_error: str) -> Broken:
    return Broken(
        f"Pod/spec.volumes[].{rule}",
        PODS,
        {"spec.volumes": [{"name": "v", **source}]},
        f"spec.volumes[0].{field_error}",
    )


SOURCES: Cases = (
    _from("emptyDir.sizeLimit/forbidden", {"emptyDir": {"sizeLimit": "-1"}}, "emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"),
    _from("secret.defaultMode/invalid", {"secret": {"secretName": "s", "defaultMode": 512}}, f"secret.defaultMode: Invalid value: 512: {_MODE}"),
    _from("secret.items[].path/required", {"secret": {"secretName": "s", "items": [{"key": "k"}]}}, "secret.items[0].path: Required value"),
)  # fmt: skip

CASES: Cases = (*REASONS, *SOURCES, *LABEL_KEYS, *OTHERS, *RESTARTS, *MOUNTS)
