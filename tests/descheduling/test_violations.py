"""Which pods stand where they should not."""

from __future__ import annotations

from typing import Any

import pytest

from descheduling.objects import OWNER, node, pod, spread, taint
from vacate.api.selectors.labels import parse_selector
from vacate.api.types import Node, Pod
from vacate.descheduling.violations import Scope, violations

pytestmark = pytest.mark.unit

GPU = node("a", taints=[taint()])
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
            ]
        }
    }
}


def found(on: list[Node], there: list[Pod], **scope: Any) -> list[tuple[str, str]]:
    return [(one.pod.metadata.name, one.rule) for one in violations(Scope(**scope), on, there)]


@pytest.mark.parametrize(
    ("nodes", "one", "rules"),
    [
        pytest.param([node("a")], pod("x", "a"), [], id="nothing wrong"),
        pytest.param([GPU], pod("x", "a"), ["NodeTaints"], id="NoSchedule"),
        pytest.param(
            [node("a", taints=[taint(effect="NoExecute")])], pod("x", "a"), ["NodeTaints"], id="NoExecute"
        ),
        pytest.param(
            [node("a", taints=[taint(effect="PreferNoSchedule")])], pod("x", "a"), [], id="PreferNoSchedule"
        ),
        pytest.param(
            [GPU], pod("x", "a", tolerations=[{"key": "gpu", "operator": "Exists"}]), [], id="tolerated"
        ),
        pytest.param(
            [node("a", taints=[taint("node.kubernetes.io/memory-pressure")])], pod("x", "a"), [],
            id="the state of a node",
        ),
        pytest.param(
            [node("a")], pod("x", "a", nodeSelector={"disk": "ssd"}), ["NodeAffinity"], id="node selector"
        ),
        pytest.param([node("a")], pod("x", "a", affinity=AFFINITY), ["NodeAffinity"], id="required affinity"),
        pytest.param(
            [node("a", labels={"disk": "ssd"})], pod("x", "a", affinity=AFFINITY), [], id="affinity holds"
        ),
        pytest.param(
            [GPU], pod("x", "a", nodeSelector={"disk": "ssd"}), ["NodeTaints"], id="both, counted once"
        ),
        pytest.param([node("a", unschedulable=True, taints=[taint()])], pod("x", "a"), [], id="cordoned"),
        pytest.param([], pod("x", "a"), [], id="the node is gone"),
        pytest.param([GPU], pod("x", "a", owner=None), [], id="nothing re-creates it"),
        pytest.param([GPU], pod("x", "a", owner={**OWNER, "kind": "DaemonSet"}), [], id="DaemonSet"),
        pytest.param(
            [GPU], pod("x", "a", meta={"annotations": {"kubernetes.io/config.mirror": "x"}}), [], id="static"
        ),
        pytest.param(
            [GPU], pod("x", "a", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}), [], id="terminating"
        ),
        pytest.param([GPU], pod("x", "a", volumes=[{"name": "v", "emptyDir": {}}]), [], id="local data"),
        pytest.param([GPU], pod("x", "a", namespace="kube-system"), [], id="kube-system"),
    ],
)  # fmt: skip
def test_one_pod(nodes: list[Node], one: Pod, rules: list[str]) -> None:
    assert found(nodes, [one]) == [("x", rule) for rule in rules]


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ({}, ["x", "y"]),
        ({"rules": ("NodeAffinity",)}, []),
        ({"namespaces": frozenset({"bank"})}, ["y"]),
        ({"namespaces": frozenset({"kube-system"})}, ["z"]),
        ({"pods": parse_selector("app=db")}, []),
        ({"nodes": parse_selector("pool=spot")}, []),
        ({"local_data": True}, ["w", "x", "y"]),
    ],
)
def test_scope(scope: dict[str, Any], names: list[str]) -> None:
    pods = [
        pod("x", "a"), pod("y", "a", namespace="bank"), pod("z", "a", namespace="kube-system"),
        pod("w", "a", volumes=[{"name": "v", "emptyDir": {}}]),
    ]  # fmt: skip
    assert sorted(name for name, _ in found([GPU], pods, **scope)) == names


ZONES = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("c1", zone="c")]


def spread_pods(counts: dict[str, int], **more: Any) -> list[Pod]:
    constraints = spread(**more)
    return [
        pod(f"{on}-{number}", on, topologySpreadConstraints=constraints)
        for on, count in counts.items()
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("counts", "more", "moved"),
    [
        pytest.param({"a1": 1, "b1": 1, "c1": 1}, {}, [], id="even"),
        pytest.param({"a1": 1, "a2": 1, "b1": 1, "c1": 1}, {}, [], id="within the skew"),
        pytest.param({"a1": 2, "a2": 1, "b1": 1, "c1": 1}, {}, ["a1-0"], id="one too many"),
        pytest.param({"a1": 2, "a2": 2, "b1": 1, "c1": 1}, {}, ["a1-0", "a1-1"], id="two too many"),
        pytest.param({"a1": 6}, {}, ["a1-0", "a1-1", "a1-2", "a1-3"], id="all in one zone"),
        pytest.param({"a1": 6}, {"max_skew": 5}, ["a1-0"], id="a wider skew"),
        pytest.param({"a1": 6}, {"whenUnsatisfiable": "ScheduleAnyway"}, [], id="a soft constraint"),
        pytest.param({"a1": 6}, {"key": "rack"}, [], id="no node has the label"),
        pytest.param(
            {"a1": 6}, {"labelSelector": {"matchLabels": {"app": "db"}}}, [], id="it does not count itself"
        ),
    ],
)
def test_topology_spread(counts: dict[str, int], more: dict[str, Any], moved: list[str]) -> None:
    assert found(ZONES, spread_pods(counts, **more)) == [(name, "TopologySpread") for name in moved]


def test_a_pod_whose_eviction_is_requested_is_the_one_that_moves() -> None:
    pods = spread_pods({"a1": 3, "b1": 1, "c1": 1})
    (one,) = violations(Scope(), ZONES, pods, {"shop-a1-2"})
    assert one.pod.metadata.name == "a1-2"
    assert one.message == (
        "3 pods in topology.kubernetes.io/zone=a, 2 more than in the emptiest domain; maxSkew is 1"
    )
