"""Cases of what may change in a pod, by its author and by its node."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import BrokenStep, Cases, DoneByStep
from embedded.registry.cases_metadata import KEY, SUBDOMAIN
from embedded.registry.given import GONE
from vacate.api.kinds import PODS
from vacate.embedded.registry.core.pods.update import FORBIDDEN

_P = "Pod/spec."
_MIRROR = "metadata.annotations[kubernetes.io/config.mirror]"
_GATES = {"spec.schedulingGates": [{"name": "a.b/c"}]}
_TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
_NARROW: dict[str, Any] = {**_GATES, _TERMS: [{"matchExpressions": [_SSD]}]}
_ENDED = {"name": "web", "state": {"terminated": {"exitCode": 0}}}
_RUNS = {"name": "web", "state": {"running": {}}}
_NO_RETURN = "Forbidden: may not be transitioned to non-terminated state"
_KEPT = "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"

BY_AUTHOR: Cases = (
    DoneByStep(f"{_P}priority/kept", PODS, {"spec.priority": GONE}, "spec.priority", 0),
    DoneByStep(f"{_P}priority/kept", PODS, {"spec.preemptionPolicy": GONE}, "spec.preemptionPolicy",
               "PreemptLowerPriority"),
    DoneByStep("Pod/metadata.generation/set", PODS, {"spec.containers[0].image": "web:2"},
               "metadata.generation", 2),
    DoneByStep("Pod/metadata.generation/set", PODS, {"metadata.labels": {"a": "b"}}, "metadata.generation", 1),
    DoneByStep("Pod/metadata.generation/set", PODS, {"metadata.generation": 9}, "metadata.generation", 1),
    DoneByStep("Pod/status/kept", PODS, {"status.phase": "Running"}, "status.phase", "Pending"),
    BrokenStep(f"Pod/{_MIRROR}/forbidden", PODS, {_MIRROR: "x"},
               f"{_MIRROR}: Forbidden: may not add mirror pod annotation"),
    BrokenStep(f"Pod/{_MIRROR}/forbidden", PODS, {_MIRROR: "y"},
               f"{_MIRROR}: Forbidden: may not remove or update mirror pod annotation", {_MIRROR: "x"}),
    BrokenStep(f"{_P}containers/forbidden", PODS, {"spec.containers[1]": {"name": "b", "image": "b"}},
               "spec.containers: Forbidden: pod updates may not add or remove containers"),
    BrokenStep(f"{_P}containers[].image/required/update", PODS, {"spec.containers[0].image": ""},
               "spec.containers[0].image: Required value"),
    BrokenStep(f"{_P}activeDeadlineSeconds/invalid/range", PODS, {"spec.activeDeadlineSeconds": -1},
               "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive"),
    BrokenStep(f"{_P}activeDeadlineSeconds/invalid/longer", PODS, {"spec.activeDeadlineSeconds": 10},
               "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value",
               {"spec.activeDeadlineSeconds": 5}),
    BrokenStep(f"{_P}activeDeadlineSeconds/invalid/unset", PODS, {"spec.activeDeadlineSeconds": GONE},
               "spec.activeDeadlineSeconds: Invalid value: null:"
               " must not update from a positive integer to nil value", {"spec.activeDeadlineSeconds": 5}),
    BrokenStep(f"{_P}tolerations/forbidden", PODS, {"spec.tolerations[2].value": "c"}, _KEPT,
               {"spec.tolerations[2]": {"key": "a", "value": "b"}}),
    BrokenStep(f"{_P}schedulingGates[].name/forbidden", PODS, {"spec.schedulingGates": [{"name": "x.y/z"}]},
               "spec.schedulingGates[0].name: Forbidden:"
               " only deletion is allowed, but found new scheduling gate 'x.y/z'", _GATES),
    BrokenStep(f"{_P}nodeSelector/invalid/gated", PODS, {"spec.nodeSelector": {"b": "c"}},
               'spec.nodeSelector: Invalid value: {"b":"c"}:'
               " only additions to spec.nodeSelector are allowed (no mutations or deletions)",
               {**_GATES, "spec.nodeSelector": {"a": "b"}}),
    BrokenStep(f"Pod/{_TERMS}/invalid", PODS, {_TERMS: [{"matchExpressions": [_SSD]}, {}]},
               f'{_TERMS}: Invalid value: [{{"matchExpressions":[{{"key":"disk","operator":"In",'
               '"values":["ssd"]}]},{}]:'
               " no additions/deletions to non-empty NodeSelectorTerms list are allowed", _NARROW),
    BrokenStep(f"Pod/{_TERMS}[]/invalid", PODS, {_TERMS: [{}]},
               f"{_TERMS}[0]: Invalid value: {{}}:"
               " only additions are allowed (no mutations or deletions)", _NARROW),
    BrokenStep(f"{_P[:-1]}/forbidden", PODS, {"spec.nodeName": "node-1"}, f"spec: Forbidden: {FORBIDDEN}"),
    BrokenStep(f"{_P[:-1]}/forbidden", PODS, {"spec.terminationGracePeriodSeconds": 5}, f"spec: Forbidden: {FORBIDDEN}"),
)  # fmt: skip


def _status(rule: str, step: dict[str, Any], path: str, value: Any, before: dict[str, Any]) -> DoneByStep:
    return DoneByStep(f"Pod/{rule}", PODS, step, path, value, before, "status")


def _bad(
    rule: str, step: dict[str, Any], field_error: str, before: dict[str, Any] | None = None
) -> BrokenStep:
    return BrokenStep(f"Pod/status.{rule}", PODS, step, field_error, before or {}, "status")


BY_NODE: Cases = (
    _status("spec/kept", {"spec.containers[0].image": "web:2"}, "spec.containers[0].image", "web:1", {}),
    _status("metadata.ownerReferences/kept", {"metadata.ownerReferences": [{}]}, "metadata.ownerReferences",
            None, {}),
    _status("status.qosClass/kept", {"status.qosClass": GONE}, "status.qosClass", "BestEffort", {}),
    _status("status.observedGeneration/kept", {"status.observedGeneration": GONE}, "status.observedGeneration",
            3, {"status.observedGeneration": 3}),
    _status("status.observedGeneration/kept", {"status.conditions": [{"type": "Ready", "status": "True"}]},
            "status.conditions[0].observedGeneration", 3,
            {"status.conditions": [{"type": "Ready", "status": "False", "observedGeneration": 3}]}),
    _bad("conditions[].observedGeneration/invalid",
         {"status.conditions": [{"type": "Ready", "observedGeneration": -1}]},
         "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"),
    _bad("conditions[].Type/invalid", {"status.conditions": [{"type": "-"}]},
         f'status.conditions[0].Type: Invalid value: "-": {KEY}'),
    _bad("nominatedNodeName/invalid", {"status.nominatedNodeName": "A"},
         f'status.nominatedNodeName: Invalid value: "A": {SUBDOMAIN}'),
    _bad("nominatedNodeName/forbidden", {"status.nominatedNodeName": "a"},
         "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
         {"spec.nodeName": "node-1"}),
    _bad("observedGeneration/invalid", {"status.observedGeneration": -1},
         "status.observedGeneration: Invalid value: -1: must be a non-negative integer"),
    _bad("podIPs[]/invalid", {"status.podIPs": [{"ip": "x"}]},
         'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'),
    _bad("qosClass/invalid", {"status.qosClass": "Guaranteed"},
         'status.qosClass: Invalid value: "Guaranteed": field is immutable'),
    _bad("containerStatuses[].state/forbidden", {"status.containerStatuses": [_RUNS]},
         f"status.containerStatuses[0].state: {_NO_RETURN}",
         {"spec.restartPolicy": "OnFailure", "status.containerStatuses": [_ENDED]}),
    _bad("initContainerStatuses[].state/forbidden", {"status.initContainerStatuses": [_RUNS]},
         f"status.initContainerStatuses[0].state: {_NO_RETURN}",
         {"spec.restartPolicy": "Never", "status.initContainerStatuses": [_ENDED]}),
)  # fmt: skip

CASES: Cases = (*BY_AUTHOR, *BY_NODE)
