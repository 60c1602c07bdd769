"""Which misplaced pods are evicted now: limits, room elsewhere, and what holds for every cluster."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.objects import node, pod, spread, taint
from support.effort import examples
from vacate.api.types import Node, Pod
from vacate.descheduling.plan import DeschedulingPlan, Limits, plan_descheduling
from vacate.descheduling.violations import Scope

pytestmark = pytest.mark.unit

TAINTED, FREE = node("a", taints=[taint()]), node("b")
WIDE = Limits(100, 100, 100)


def states(plan: DeschedulingPlan) -> dict[str, str]:
    return {one.violation.pod.metadata.name: one.state for one in plan.decisions}


def requested(plan: DeschedulingPlan) -> list[str]:
    return [one.violation.pod.metadata.name for one in plan.request]


@pytest.mark.parametrize(
    ("limits", "now"),
    [
        (WIDE, ["u", "v", "w", "x", "y"]),
        (Limits(1, 100, 100), ["u", "x"]),
        (Limits(100, 1, 100), ["u", "w"]),
        (Limits(100, 100, 3), ["u", "v", "w"]),
        (Limits(2, 1, 100), ["u", "w"]),
    ],
)
def test_limits(limits: Limits, now: list[str]) -> None:
    other = node("c", taints=[taint()])
    pods = [
        pod("u", "a", namespace="n1"), pod("v", "a", namespace="n1"), pod("w", "a", namespace="n2"),
        pod("x", "c", namespace="n2"), pod("y", "c", namespace="n2"),
    ]  # fmt: skip
    plan = plan_descheduling(Scope(), limits, [TAINTED, FREE, other], pods, {})
    assert requested(plan) == now
    assert {name for name, state in states(plan).items() if state == "Waiting"} == set("uvwxy") - set(now)


def test_requests_of_others_and_terminating_pods_count() -> None:
    going = pod("going", "a", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    plan = plan_descheduling(Scope(), Limits(1, 100, 100), [TAINTED, FREE], [going, pod("x", "a")], {})
    assert states(plan) == {"x": "Waiting"}
    assert "the limit is reached: 1 pod of node a being evicted" in plan.decisions[0].message
    plan = plan_descheduling(
        Scope(), Limits(1, 100, 100), [TAINTED, FREE], [pod("w", "a"), pod("x", "a")], {"shop-w": False}
    )
    assert (states(plan), requested(plan)) == ({"w": "Requested", "x": "Waiting"}, [])


def test_a_pod_that_no_other_node_takes_stays() -> None:
    pods = [pod("big", "a", cpu="3"), pod("huge", "a", cpu="3")]
    plan = plan_descheduling(Scope(), WIDE, [TAINTED, FREE], pods, {})
    assert states(plan) == {"big": "Requested", "huge": "NowhereToGo"}
    assert "no node would take it: 0/2 nodes are available: 1 Insufficient cpu" in plan.decisions[1].message


def test_no_eviction_for_a_zone_that_cannot_take_the_pod() -> None:
    """The emptiest zone is cordoned: moving a pod would not even the zones out."""
    nodes = [node("a", zone="a"), node("b", zone="b", unschedulable=True)]
    pods = [pod(f"x{number}", "a", topologySpreadConstraints=spread()) for number in range(3)]
    plan = plan_descheduling(Scope(), WIDE, nodes, pods, {})
    assert requested(plan) == []
    assert set(states(plan).values()) == {"NowhereToGo"}


def _node(number: int, zone: str, tainted: bool, cordoned: bool, disk: str) -> Node:
    taints = [taint()] if tainted else []
    return node(
        f"n{number}", zone=zone, cpu="1", labels={"disk": disk}, unschedulable=cordoned, taints=taints
    )


def _pod(number: int, on: int, space: str, ssd: bool, even: bool, cpu: str) -> Pod:
    selector = {"disk": "ssd"} if ssd else {}
    constraints = spread() if even else []
    return pod(
        f"p{number}", f"n{on}", namespace=space, cpu=cpu, nodeSelector=selector,
        topologySpreadConstraints=constraints,
    )  # fmt: skip


_DISKS, _SPACES, _CPUS = st.sampled_from(["ssd", "hdd"]), st.sampled_from(["one", "two"]), ["100m", "600m"]
NODES = st.lists(
    st.builds(_node, st.integers(0, 5), st.sampled_from("ab"), st.booleans(), st.booleans(), _DISKS),
    max_size=6,
    unique_by=lambda one: one.metadata.name,
)
PODS = st.lists(
    st.builds(
        _pod,
        st.integers(0, 12),
        st.integers(0, 6),
        _SPACES,
        st.booleans(),
        st.booleans(),
        st.sampled_from(_CPUS),
    ),
    max_size=14,
    unique_by=lambda one: one.metadata.uid,
)
LIMITS = st.builds(Limits, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))


@settings(max_examples=examples(150), deadline=None)
@given(NODES, PODS, LIMITS, st.randoms(use_true_random=False), st.integers(0, 3))
def test_every_cluster(
    nodes: list[Node], pods: list[Pod], limits: Limits, chance: Random, asked: int
) -> None:
    already = {one.metadata.uid: True for one in pods[:asked]}
    plan = plan_descheduling(Scope(), limits, nodes, pods, already)
    new = [one.violation.pod for one in plan.request]
    assert {one.metadata.uid for one in new}.isdisjoint(already)
    assert {one.metadata.uid for one in new} <= plan.misplaced
    # Limits hold for new evictions and those under way together; what is over a limit already adds nothing.
    going = [one for one in pods if one.metadata.uid in already]
    for key, most in (("node", limits.per_node), ("namespace", limits.per_namespace), ("all", limits.total)):
        before = Counter(_group(one, key) for one in going)
        after = Counter(_group(one, key) for one in [*going, *new])
        assert all(count <= max(most, before[name]) for name, count in after.items())
    # The order in which nodes and pods are listed does not matter.
    shuffled, mixed = list(pods), list(nodes)
    chance.shuffle(shuffled)
    chance.shuffle(mixed)
    again = plan_descheduling(Scope(), limits, mixed, shuffled, already)
    assert [(one.violation.rule, one.state) for one in again.decisions] == [
        (one.violation.rule, one.state) for one in plan.decisions
    ]
    assert [one.violation.pod for one in again.request] == new


def _group(one: Pod, key: str) -> str:
    return {"node": one.spec.node_name, "namespace": one.metadata.namespace, "all": ""}[key]
