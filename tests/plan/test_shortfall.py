"""What pods without room would need, by resource and by zone."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.objects import Obj
from vacate.kube.scheduling.clusterview import ZONE
from vacate.plan.shortfall import Shortfall, shortfalls
from vacate.testing.builders import node, pod

pytestmark = pytest.mark.unit

FULL = "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, 2 Insufficient memory."


def nodes(**cordoned: Any) -> list[Obj]:
    return [
        node(f"node-{zone}", metadata={"labels": {ZONE: zone, "pool": zone}}, **cordoned)
        for zone in ("a", "b")
    ]


def wanting(requests: dict[str, str], **spec: Any) -> Obj:
    containers = [{"name": "main", "image": "app", "resources": {"requests": requests}}]
    return pod("web", spec={"containers": containers, **spec})


def test_what_is_insufficient_is_added_up_and_the_only_zone_is_named() -> None:
    in_b = wanting({"cpu": "6", "memory": "1Gi"}, nodeSelector={"pool": "b"})
    anywhere = wanting({"example.com/gpu": "2", "memory": "1Gi", "ephemeral-storage": "1Gi"})
    message = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
    )
    found = shortfalls([(in_b, message), (in_b, message), (anywhere, FULL)], nodes(), [], [])
    assert found == (
        Shortfall("", {"example.com/gpu": 2, "memory": 2**30}),
        Shortfall("b", {"cpu": 12.0}),
    )


def test_a_node_that_is_drained_is_of_its_zone_all_the_same() -> None:
    found = shortfalls([(wanting({"cpu": "1"}, nodeSelector={"pool": "b"}), FULL)],
                       nodes(spec={"unschedulable": True}), [], [])  # fmt: skip
    assert [one.zone for one in found] == ["b"]


def test_a_volume_names_the_zone() -> None:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    volume = {
        "metadata": {"name": "v"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
    }
    claim = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"volumeName": "v"}}
    mounted = wanting({"cpu": "1"}, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}])
    assert [one.zone for one in shortfalls([(mounted, FULL)], nodes(), [claim], [volume])] == ["a"]


def test_pods_that_only_keep_apart_need_nothing_more() -> None:
    message = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    assert shortfalls([(wanting({"cpu": "1"}), message)], nodes(), [], []) == ()
