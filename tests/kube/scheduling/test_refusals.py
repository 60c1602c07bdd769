"""Pods without a place, and why, in the stock words."""

from __future__ import annotations

from typing import Any

import pytest

from support.placement import HOST, NO_EXECUTE, NO_SCHEDULE, WEB, ZONE, apart, cluster, port, required, spread
from support.workload_objects import ago, make_node, make_pod
from vacate.api.types import Node, Pod
from vacate.kube.scheduling.placement import NoFit, place

pytestmark = pytest.mark.unit

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
