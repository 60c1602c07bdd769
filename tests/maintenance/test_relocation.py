"""Whether the pods of a drained node find room elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vacate.api.types import Node, Pod
from vacate.maintenance.relocation import without_room

pytestmark = pytest.mark.unit

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}


def node(name: str, *, cpu: str = "2", labels: dict[str, str] | None = None, **spec: Any) -> Node:
    body = {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "110"}},
    }
    return msgspec.convert(body, Node)


def pod(
    name: str, on: str = "a", *, cpu: str = "1", owner: dict[str, Any] | None = OWNER, **spec: Any
) -> Pod:
    resources = {"requests": {"cpu": cpu}}
    containers = [{"name": "main", "image": "app:1", "resources": resources}]
    body = {
        "metadata": {
            "name": name, "namespace": "shop", "uid": name, "ownerReferences": [owner] if owner else [],
        },
        "spec": {"nodeName": on, "containers": containers, **spec},
    }  # fmt: skip
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    ("going", "nodes", "others", "why"),
    [
        pytest.param([pod("x")], [node("b")], [], {}, id="there is room"),
        pytest.param([pod("x")], [], [], {"x": "no nodes available to schedule pods"}, id="no other node"),
        pytest.param(
            [pod("x", cpu="3")], [node("b")], [],
            {"x": "0/1 nodes are available: 1 Insufficient cpu."}, id="more than any node has",
        ),
        pytest.param(
            [pod("x")], [node("b")], [pod("other", "b", cpu="1500m")],
            {"x": "0/1 nodes are available: 1 Insufficient cpu."}, id="taken by others",
        ),
        pytest.param(
            [pod("x"), pod("y"), pod("z")], [node("b")], [],
            {"z": "0/1 nodes are available: 1 Insufficient cpu."}, id="room for two of three",
        ),
        pytest.param(
            [pod("x")], [node("b", unschedulable=True)], [],
            {"x": "0/1 nodes are available: 1 node(s) were unschedulable."}, id="cordoned",
        ),
        pytest.param(
            [pod("x")], [node("b", taints=[{"key": "gpu", "effect": "NoSchedule"}])], [],
            {"x": "0/1 nodes are available: 1 node(s) had untolerated taint(s)."}, id="tainted",
        ),
        pytest.param(
            [pod("x", nodeSelector={"disk": "ssd"})], [node("b"), node("c", labels={"disk": "hdd"})], [],
            {"x": "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."},
            id="node selector",
        ),
        pytest.param([pod("x", cpu="3", owner=None)], [node("b")], [], {}, id="nothing re-creates it"),
        pytest.param(
            [pod("x", cpu="3", owner={**OWNER, "kind": "DaemonSet"})], [node("b")], [], {}, id="a DaemonSet's"
        ),
        pytest.param(
            [pod("x", cpu="3", schedulerName="other")], [node("b")], [], {}, id="another scheduler places it"
        ),
    ],
)  # fmt: skip
def test_who_finds_no_room(
    going: list[Pod], nodes: list[Node], others: list[Pod], why: dict[str, str]
) -> None:
    assert without_room(going, ["a"], [node("a"), *nodes], [*going, *others]) == why
