"""What Go writes of an object whether or not it was given."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import (
    CLUSTERROLES,
    CONFIGMAPS,
    DEPLOYMENTS,
    LEASES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    ROLES,
    Kind,
)
from vacate.embedded import schema
from vacate.embedded.registry.kinds import SERVED_KINDS

pytestmark = pytest.mark.unit
Obj = dict[str, Any]
NODE_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
    "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
EMPTY_NODE_STATUS: Obj = {
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    "nodeInfo": dict.fromkeys(NODE_INFO, ""),
}
COUNTS = dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)


@pytest.mark.parametrize(
    ("kind", "given", "complete"),
    [
        (CONFIGMAPS, {}, {"metadata": {}}),
        (LEASES, {}, {"metadata": {}, "spec": {}}),
        (ROLES, {}, {"metadata": {}, "rules": None}),
        (CLUSTERROLES, {"rules": [{}]}, {"metadata": {}, "rules": [{"verbs": None}]}),
        (NODES, {}, {"metadata": {}, "spec": {}, "status": EMPTY_NODE_STATUS}),
        (PODDISRUPTIONBUDGETS, {}, {"metadata": {}, "spec": {}, "status": COUNTS}),
        (
            PODS,
            {"status": {"conditions": [{"type": "Ready"}], "phase": "Pending"}},
            {
                "metadata": {},
                "spec": {"containers": None},
                "status": {
                    "conditions": [
                        {"type": "Ready", "status": "", "lastProbeTime": None, "lastTransitionTime": None}
                    ],
                    "phase": "Pending",
                },
            },
        ),
        (
            DEPLOYMENTS,
            {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}},
            {
                "metadata": {},
                "spec": {
                    "selector": None,
                    "strategy": {},
                    "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}},
                },
                "status": {},
            },
        ),
    ],
)
def test_what_is_always_there(kind: Kind, given: Obj, complete: Obj) -> None:
    schema.complete(kind, given)
    assert given == complete


def test_pointers_stay_away() -> None:
    pod: Obj = {"spec": {"affinity": {}, "containers": [{"name": "c", "securityContext": {}}]}}
    schema.complete(PODS, pod)
    assert pod["spec"] == {
        "affinity": {},
        "containers": [{"name": "c", "resources": {}, "securityContext": {}}],
    }


@given(st.sampled_from([kind for kind in SERVED_KINDS if kind.stored]))
def test_twice_is_once(kind: Kind) -> None:
    obj: Obj = {}
    schema.complete(kind, obj)
    before = copy.deepcopy(obj)
    schema.complete(kind, obj)
    assert obj == before
    assert schema.settle(kind, copy.deepcopy(obj)) == []
