"""Which of several lost nodes is fenced, and after how long."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types import Node, Pod
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.client.codec import codec_for
from vacate.fencing.decision import FencingInputs, decide

pytestmark = pytest.mark.unit

LOST_AT = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
DELETED = "2026-03-01T12:00:30Z"


def node(name: str, ready: str = "Unknown") -> Node:
    ready_since = {"type": "Ready", "status": ready, "lastTransitionTime": "2026-03-01T12:00:00Z"}
    return codec_for(Node).convert(
        {"metadata": {"name": name, "uid": f"u-{name}"}, "status": {"conditions": [ready_since]}}
    )


def pod(name: str, where: str, priority: int | None = None) -> Pod:
    spec: Obj = {"nodeName": where} if priority is None else {"nodeName": where, "priority": priority}
    return codec_for(Pod).convert({"metadata": {"name": name, "deletionTimestamp": DELETED}, "spec": spec})


def policy(**spec: Any) -> FencingPolicy:
    given = {"agent": {"http": {"url": "https://bmc.example"}}, **spec}
    return codec_for(FencingPolicy).convert({"metadata": {"name": "rack"}, "spec": given})


def environment(lost: Sequence[str], *pods: Pod, spent: Sequence[str] = ()) -> FencingInputs:
    """Lost nodes among three that are well."""
    well = ["w1", "w2", "w3"]
    return FencingInputs(
        [*map(node, lost), *(node(name, "True") for name in well)],
        lambda name: [one for one in pods if one.spec.node_name == name],
        lambda one: one.metadata.name in spent,
        heard=well,
        seen={f"u-{name}": LOST_AT for name in lost},
    )


@pytest.mark.parametrize(("priorities", "first"), [
    ((None, 1000, None), "b"), ((None, None, 1), "c"), ((-5, None, -1), "b"), ((7, 7, 7), "a"),
])  # fmt: skip
def test_the_node_whose_pods_matter_most_is_fenced_first(
    priorities: tuple[int | None, ...], first: str
) -> None:
    pods = [pod(f"p-{name}", name, one) for name, one in zip("abc", priorities, strict=True)]
    pods += [pod(f"low-{name}", name, -1000) for name in "abc"]  # the highest of a node counts
    given = policy(minHealthy=1, maxFenced=3)
    made = decide(given, environment("abc", *pods), LOST_AT + dt.timedelta(minutes=5))
    assert made.start is not None
    assert made.start.name == first
    assert {row.message for row in made.rows} == {"held: another node is fenced first"}


def test_a_node_whose_fence_has_failed_lets_others_go_first() -> None:
    """It is tried again after a pause that ends before all nodes have had their turn."""
    later = LOST_AT + dt.timedelta(minutes=5)
    row = {"name": "a", "uid": "u-a", "phase": "Failed", "attempts": 1}
    given = codec_for(FencingPolicy).convert(
        {**msgspec.to_builtins(policy(minHealthy=1, maxFenced=3)), "status": {"nodes": [row]}}
    )
    made = decide(given, environment("abc", *(pod(f"p-{one}", one, 0) for one in "abc")), later)
    assert made.start is not None
    assert made.start.name == "b"


DAEMON = {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "u-d", "controller": True}]}
STATIC = {"annotations": {"kubernetes.io/config.mirror": "x"}}


@pytest.mark.parametrize(("metadata", "phase", "reasons"), [
    ({}, "Running", {"Always"}),
    ({"deletionTimestamp": DELETED}, "Running", {"Always", "PodsWait"}),
    ({"deletionTimestamp": DELETED}, "Succeeded", set()),
    ({"deletionTimestamp": DELETED, **DAEMON}, "Running", set()),
    ({"deletionTimestamp": DELETED, **STATIC}, "Running", set()),
])  # fmt: skip
def test_which_pods_are_a_reason_to_fence(metadata: Obj, phase: str, reasons: set[str]) -> None:
    found = codec_for(Pod).convert(
        {"metadata": {"name": "p", **metadata}, "spec": {"nodeName": "a"}, "status": {"phase": phase}}
    )
    around, later = environment("a", found), LOST_AT + dt.timedelta(hours=1)
    fenced = {when for when in ("Always", "PodsWait") if decide(policy(when=when), around, later).start}
    assert fenced == reasons


@pytest.mark.parametrize(("waiting", "spent", "seconds"), [
    (None, ["db"], 300), (30, [], 300), (30, ["db"], 30), (30, ["other"], 300), (900, ["db"], 300),
])  # fmt: skip
def test_a_node_is_fenced_sooner_where_a_budget_is_spent(
    waiting: int | None, spent: list[str], seconds: int
) -> None:
    given = policy(unreachableSeconds=300, budgetSpentSeconds=waiting)
    around = environment("a", pod("db", "a"), pod("web", "a"), spent=spent)
    due = LOST_AT + dt.timedelta(seconds=seconds)
    early = decide(given, around, due - dt.timedelta(seconds=1))
    assert (early.start, early.until) == (None, due)
    late = decide(given, around, due)
    assert late.start is not None
