"""Where a pod goes that has a place: every rule that filters or ranks."""

from __future__ import annotations

from typing import Any

import pytest

from support.placement import (
    HOST,
    NO_EXECUTE,
    NO_SCHEDULE,
    WEB,
    ZONE,
    apart,
    cluster,
    expression,
    port,
    required,
    spread,
)
from support.workload_objects import ago, make_node, make_pod
from vacate.api.types import Node, Pod
from vacate.kube.scheduling.placement import Placed, place

pytestmark = pytest.mark.unit

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
