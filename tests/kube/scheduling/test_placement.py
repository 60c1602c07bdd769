"""Who waits for a place, what pods ask for, and properties over random clusters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from support.placement import cluster
from support.workload_objects import ago, make_node, make_pod
from vacate.kube.scheduling.placement import NoFit, Placed, awaits_scheduling, place
from vacate.kube.scheduling.requests import assumed_requests, pod_requests

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("pod", "waits"),
    [
        ({}, True),
        ({"node": "n1"}, False),
        ({"spec": {"schedulerName": "mine"}}, False),
        ({"spec": {"schedulingGates": [{"name": "hold"}]}}, False),
        ({"deletionTimestamp": ago()}, False),
        ({"phase": "Failed"}, False),
    ],
)
def test_only_open_pods_of_this_scheduler_wait(pod: dict[str, Any], waits: bool) -> None:
    assert awaits_scheduling(make_pod(**pod)) is waits


def container(cpu: str, *, sidecar: bool = False) -> dict[str, Any]:
    return {
        "name": "c",
        "resources": {"requests": {"cpu": cpu}},
        "restartPolicy": "Always" if sidecar else "",
    }


REQUESTS = [
    ({"containers": [container("1"), container("250m")]}, 1250),
    ({"containers": [container("1")], "initContainers": [container("3"), container("2")]}, 3000),
    ({"containers": [container("2")], "initContainers": [container("1")]}, 2000),
    (
        {"containers": [container("1")], "initContainers": [container("1", sidecar=True), container("3")]},
        4000,
    ),
    (
        {"containers": [container("1")], "initContainers": [container("3"), container("1", sidecar=True)]},
        3000,
    ),
    ({"containers": [container("1")], "overhead": {"cpu": "100m"}}, 1100),
    (
        {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}},
        4000,
    ),
    ({"containers": [container("1.5")]}, 1500),
    ({"containers": [container("0.0001")]}, 1),
]


@pytest.mark.parametrize(("spec", "milli"), REQUESTS)
def test_requests_are_the_most_that_a_pod_needs_at_once(spec: dict[str, Any], milli: int) -> None:
    assert pod_requests(make_pod(spec=spec))["cpu"] == milli


def test_a_pod_that_asks_for_nothing_is_assumed_to_take_a_little() -> None:
    assert pod_requests(make_pod()) == {}
    assert assumed_requests(make_pod()) == {"cpu": 100, "memory": 200 * 2**20}


def test_promises_count_and_can_be_taken_back() -> None:
    view = cluster([make_node(cpu="1")])
    first = make_pod("a", cpu="1")
    view.set_pod(first, "n1")
    assert isinstance(place(make_pod("b", cpu="1"), view), NoFit)
    view.set_pod(make_pod("a", cpu="1", node="n1"))
    assert view.nodes["n1"].requested["cpu"] == 1000
    view.remove_pod("uid-a")
    assert place(make_pod("b", cpu="1"), view) == Placed("n1")


def test_a_removed_node_keeps_the_sums_of_its_pods_for_its_return() -> None:
    view = cluster([make_node(cpu="1")], [make_pod("a", cpu="1", node="n1")])
    view.remove_node("n1")
    assert place(make_pod("b"), view) == NoFit("no nodes available to schedule pods")
    view.set_node(make_node(cpu="1"))
    assert isinstance(place(make_pod("b", cpu="1"), view), NoFit)
    view.remove_pod("uid-a")
    view.remove_node("n1")
    assert view.nodes == {}


@settings(max_examples=examples(60), deadline=None)
@given(
    nodes=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 6)), min_size=1, max_size=5),
    pods=st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=25),
)
def test_no_node_is_ever_overcommitted(nodes: list[tuple[int, int]], pods: list[tuple[int, bool]]) -> None:
    view = cluster([make_node(f"n{i}", cpu=str(cpu), pods=str(room)) for i, (cpu, room) in enumerate(nodes)])
    for index, (cpu, replica) in enumerate(pods):
        pod = make_pod(f"p{index}", cpu=str(cpu), owner="rs" if replica else "")
        where = place(pod, view)
        free = [
            n.allocatable["cpu"] - n.requested.get("cpu", 0)
            for n in view.known_nodes()
            if len(n.tenants) < n.allocatable["pods"]
        ]
        assert isinstance(where, Placed) == any(room >= cpu * 1000 for room in free)
        if isinstance(where, Placed):
            view.set_pod(pod, where.node)
    for node in view.known_nodes():
        assert node.requested.get("cpu", 0) <= node.allocatable["cpu"]
        assert len(node.tenants) <= node.allocatable["pods"]


@settings(max_examples=examples(40), deadline=None)
@given(
    zones=st.integers(0, 3),
    per_zone=st.integers(1, 4),
    replicas=st.integers(1, 40),
    cpu=st.sampled_from(["", "10m"]),
)
def test_replicas_on_equal_nodes_stay_within_a_skew_of_one(
    zones: int, per_zone: int, replicas: int, cpu: str
) -> None:
    names = [(f"z{z}" if zones else "", f"n{z}-{n}") for z in range(zones or 1) for n in range(per_zone)]
    view = cluster([make_node(name, zone=zone, cpu="64", memory="256Gi") for zone, name in names])
    for index in range(replicas):
        pod = make_pod(f"p{index}", owner="rs", **({"cpu": cpu} if cpu else {}))
        where = place(pod, view)
        assert isinstance(where, Placed)
        view.set_pod(pod, where.node)
        counts = [len(node.tenants) for node in view.known_nodes()]
        assert max(counts) - min(counts) <= 1
