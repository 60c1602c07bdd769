"""Placement: every rule with its message, and properties over random clusters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.workload_objects import ago, make_node, make_pod
from vacate.api.types import Node, Pod
from vacate.decide.placement.requests import assumed_requests, pod_requests
from vacate.decide.placement.view import ClusterView
from vacate.decide.scheduling import NoFit, Placed, awaits_scheduling, place

pytestmark = pytest.mark.unit

NO_EXECUTE = {"key": "k", "value": "v", "effect": "NoExecute"}
NO_SCHEDULE = {"key": "k", "value": "v", "effect": "NoSchedule"}


def cluster(nodes: list[Node], pods: list[Pod] | tuple[Pod, ...] = ()) -> ClusterView:
    view = ClusterView()
    for node in nodes:
        view.set_node(node)
    for pod in pods:
        view.set_pod(pod)
    return view


def port(number: int, **more: Any) -> dict[str, Any]:
    ports = [{"containerPort": 80, "hostPort": number, **more}]
    return {"containers": [{"name": "main", "ports": ports}]}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": rule}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def spread(key: str, *, skew: int = 1, **more: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def apart(which: str = "podAntiAffinity", key: str = "kubernetes.io/hostname", **more: Any) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}, **more}
    return {"affinity": {which: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}

REFUSED = [
    ("no nodes", [], [], {}, "no nodes available to schedule pods"),
    (
        "cordoned",
        [make_node(unschedulable=True)],
        [],
        {},
        "0/1 nodes are available: 1 node(s) were unschedulable.",
    ),
    (
        "tainted NoSchedule",
        [make_node(taints=[NO_SCHEDULE])],
        [],
        {},
        "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
    ),
    (
        "tainted NoExecute",
        [make_node(taints=[NO_EXECUTE])],
        [],
        {"spec": {"tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]}},
        "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
    ),
    (
        "toleration of another value",
        [make_node(taints=[NO_SCHEDULE])],
        [],
        {"spec": {"tolerations": [{"key": "k", "value": "w"}]}},
        "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
    ),
    (
        "node selector",
        [make_node(labels={"disk": "hdd"})],
        [],
        {"spec": {"nodeSelector": {"disk": "ssd"}}},
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    (
        "empty affinity term selects nothing",
        [make_node()],
        [],
        {"spec": required({})},
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    (
        "cpu",
        [make_node(cpu="1")],
        [make_pod("a", cpu="600m", node="n1")],
        {"cpu": "500m"},
        "0/1 nodes are available: 1 Insufficient cpu.",
    ),
    (
        "cpu and memory",
        [make_node(cpu="1", memory="1Gi")],
        [],
        {"cpu": "2", "memory": "2Gi"},
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.",
    ),
    (
        "a resource that the node does not have",
        [make_node()],
        [],
        {"spec": {"containers": [{"name": "m", "resources": {"requests": {"example.com/gpu": "1"}}}]}},
        "0/1 nodes are available: 1 Insufficient example.com/gpu.",
    ),
    (
        "pod count",
        [make_node(pods="1")],
        [make_pod("a", node="n1")],
        {},
        "0/1 nodes are available: 1 Too many pods.",
    ),
    (
        "a terminating pod still takes room",
        [make_node(pods="1")],
        [make_pod("a", node="n1", deletionTimestamp=ago())],
        {},
        "0/1 nodes are available: 1 Too many pods.",
    ),
    (
        "host port",
        [make_node()],
        [make_pod("a", node="n1", spec=port(80))],
        {"spec": port(80, hostIP="10.0.0.1")},
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    ),
    (
        "spread over hosts",
        [make_node("n1"), make_node("n2", unschedulable=True)],
        [make_pod("a", node="n1", labels=WEB)],
        {"labels": WEB, "spec": spread(HOST)},
        (
            "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
            "1 node(s) were unschedulable."
        ),
    ),
    (
        "spread key missing",
        [make_node()],
        [],
        {"labels": WEB, "spec": spread(ZONE)},
        (
            "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints "
            "(missing required label)."
        ),
    ),
    (
        "spread with too few domains",
        [make_node()],
        [make_pod("a", node="n1", labels=WEB)],
        {"labels": WEB, "spec": spread(HOST, minDomains=2)},
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.",
    ),
    (
        "anti-affinity",
        [make_node()],
        [make_pod("a", node="n1", labels=WEB)],
        {"spec": apart()},
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
    ),
    (
        "anti-affinity of a pod that is there",
        [make_node()],
        [make_pod("a", node="n1", spec=apart())],
        {"labels": WEB},
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
    ),
    (
        "affinity",
        [make_node()],
        [],
        {"spec": apart("podAffinity")},
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
    ),
    (
        "many reasons, sorted as text",
        [make_node("n1", unschedulable=True), make_node("n2", cpu="1"), make_node("n3", cpu="1")],
        [],
        {"cpu": "2"},
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.",
    ),
]


@pytest.mark.parametrize(
    ("nodes", "pods", "pod", "message"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_pod_without_a_place_gets_the_stock_message(
    nodes: list[Node], pods: list[Pod], pod: dict[str, Any], message: str
) -> None:
    assert place(make_pod("new", **pod), cluster(nodes, pods)) == NoFit(message)


PLACED = [
    ("any node", [make_node()], [], {}, "n1"),
    (
        "tolerated cordon",
        [make_node(unschedulable=True)],
        [],
        {"spec": {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}},
        "n1",
    ),
    (
        "tolerated by an empty key",
        [make_node(taints=[NO_EXECUTE])],
        [],
        {"spec": {"tolerations": [{"operator": "Exists"}]}},
        "n1",
    ),
    (
        "tolerated by value",
        [make_node(taints=[NO_SCHEDULE])],
        [],
        {"spec": {"tolerations": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}},
        "n1",
    ),
    (
        "soft taint only costs",
        [make_node("n1", taints=[NO_SCHEDULE | {"effect": "PreferNoSchedule"}]), make_node("n2")],
        [make_pod("a", node="n2", cpu="1")],
        {},
        "n2",
    ),
    (
        "soft taint on the only node",
        [make_node(taints=[NO_SCHEDULE | {"effect": "PreferNoSchedule"}])],
        [],
        {},
        "n1",
    ),
    (
        "node selector",
        [make_node("n1"), make_node("n2", labels={"disk": "ssd"})],
        [],
        {"spec": {"nodeSelector": {"disk": "ssd"}}},
        "n2",
    ),
    (
        "affinity In",
        [make_node("n1"), make_node("n2", labels={"disk": "ssd"})],
        [],
        {"spec": required(expression("disk", "In", "ssd", "nvme"))},
        "n2",
    ),
    (
        "affinity NotIn",
        [make_node("n1", labels={"disk": "hdd"}), make_node("n2")],
        [],
        {"spec": required(expression("disk", "NotIn", "hdd"))},
        "n2",
    ),
    (
        "affinity Exists",
        [make_node("n1"), make_node("n2", labels={"disk": ""})],
        [],
        {"spec": required(expression("disk", "Exists"))},
        "n2",
    ),
    (
        "affinity DoesNotExist",
        [make_node("n1", labels={"disk": ""}), make_node("n2")],
        [],
        {"spec": required(expression("disk", "DoesNotExist"))},
        "n2",
    ),
    (
        "affinity Gt",
        [make_node("n1", labels={"c": "4"}), make_node("n2", labels={"c": "8"})],
        [],
        {"spec": required(expression("c", "Gt", "4"))},
        "n2",
    ),
    (
        "affinity Lt",
        [make_node("n1", labels={"c": "x"}), make_node("n2", labels={"c": "3"})],
        [],
        {"spec": required(expression("c", "Lt", "4"))},
        "n2",
    ),
    (
        "affinity by name",
        [make_node("n1"), make_node("n2")],
        [],
        {"spec": required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})},
        "n2",
    ),
    (
        "terms are alternatives",
        [make_node("n1"), make_node("n2", labels={"b": "1"})],
        [],
        {"spec": required(expression("a", "Exists"), expression("b", "Exists"))},
        "n2",
    ),
    ("exactly full", [make_node(cpu="1")], [make_pod("a", cpu="600m", node="n1")], {"cpu": "400m"}, "n1"),
    (
        "a finished pod takes nothing",
        [make_node(pods="1", cpu="1")],
        [make_pod("a", cpu="1", node="n1", phase="Succeeded")],
        {"cpu": "1"},
        "n1",
    ),
    (
        "the same port on another address",
        [make_node()],
        [make_pod("a", node="n1", spec=port(80, hostIP="10.0.0.1"))],
        {"spec": port(80, hostIP="10.0.0.2")},
        "n1",
    ),
    (
        "the same port of another protocol",
        [make_node()],
        [make_pod("a", node="n1", spec=port(80))],
        {"spec": port(80, protocol="UDP")},
        "n1",
    ),
    (
        "more room",
        [make_node("n1"), make_node("n2")],
        [make_pod("a", cpu="1", node="n1")],
        {"cpu": "1"},
        "n2",
    ),
    (
        "preferred label",
        [make_node("n1"), make_node("n2", labels={"disk": "ssd"})],
        [],
        {
            "spec": {
                "affinity": {
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 10, "preference": expression("disk", "In", "ssd")}
                        ]
                    }
                }
            }
        },
        "n2",
    ),
    (
        "replicas spread over nodes",
        [make_node("n1"), make_node("n2")],
        [make_pod("a", node="n1", owner="rs"), make_pod("b", node="n2", cpu="200m")],
        {"owner": "rs"},
        "n2",
    ),
    (
        "replicas spread over zones",
        [make_node("n1", zone="a"), make_node("n2", zone="a"), make_node("n3", zone="b")],
        [make_pod("a", node="n1", owner="rs")],
        {"owner": "rs"},
        "n3",
    ),
    (
        "a leaving replica does not count",
        [make_node("n1"), make_node("n2")],
        [make_pod("a", node="n1", owner="rs", deletionTimestamp=ago()), make_pod("b", node="n2", owner="rs")],
        {"owner": "rs"},
        "n1",
    ),
    (
        "hard spread goes to the emptier zone",
        [make_node("n1", zone="a"), make_node("n2", zone="b", cpu="2")],
        [make_pod("a", node="n1", labels=WEB)],
        {"labels": WEB, "spec": spread(ZONE)},
        "n2",
    ),
    (
        "soft spread prefers the emptier zone",
        [make_node("n1", zone="a"), make_node("n2", zone="b")],
        [make_pod("a", node="n1", labels=WEB)],
        {"labels": WEB, "spec": spread(ZONE, whenUnsatisfiable="ScheduleAnyway")},
        "n2",
    ),
    (
        "spread does not count nodes that the pod cannot want",
        [make_node("n1"), make_node("n2", labels={"x": "y"})],
        [make_pod("a", node="n2", labels=WEB)],
        {"labels": WEB, "spec": spread(HOST) | {"nodeSelector": {"x": "y"}}},
        "n2",
    ),
    (
        "spread of one revision only",
        [make_node()],
        [make_pod("a", node="n1", labels=WEB | {"hash": "1"})],
        {"labels": WEB | {"hash": "2"}, "spec": spread(HOST, matchLabelKeys=["hash"], minDomains=2)},
        "n1",
    ),
    (
        "away from its like",
        [make_node("n1"), make_node("n2", cpu="1")],
        [make_pod("a", node="n1", labels=WEB)],
        {"labels": WEB, "spec": apart()},
        "n2",
    ),
    (
        "other namespaces do not matter",
        [make_node()],
        [make_pod("a", node="n1", labels=WEB, namespace="other")],
        {"labels": WEB, "spec": apart()},
        "n1",
    ),
    (
        "near its like",
        [make_node("n1"), make_node("n2")],
        [make_pod("a", node="n2", cpu="1", labels=WEB)],
        {"spec": apart("podAffinity")},
        "n2",
    ),
    ("the first of its like", [make_node("n1")], [], {"labels": WEB, "spec": apart("podAffinity")}, "n1"),
    ("ties go to the first name", [make_node("n2"), make_node("n1"), make_node("n3")], [], {}, "n1"),
]


@pytest.mark.parametrize(
    ("nodes", "pods", "pod", "node"), [row[1:] for row in PLACED], ids=[r[0] for r in PLACED]
)
def test_a_pod_goes_to_the_best_node_that_fits(
    nodes: list[Node], pods: list[Pod], pod: dict[str, Any], node: str
) -> None:
    assert place(make_pod("new", **pod), cluster(nodes, pods)) == Placed(node)


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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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
