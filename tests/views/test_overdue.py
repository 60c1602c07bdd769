"""Why a terminating pod is still there, and what is safe."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.types import Node
from vacate.api.types.core import Pod
from vacate.api.types.fencingpolicy import FencingPolicy, FencingPolicyStatus, NodeFencing
from vacate.api.types.meta import ObjectMeta
from vacate.client.codec import codec_for
from vacate.views.model import Explanation
from vacate.views.overdue import is_cut_off, is_overdue, with_lost_node, with_overdue

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def a_pod(ends: str | None = "2026-03-01T11:50:00Z", phase: str = "Running", node: str = "n1") -> Pod:
    meta: dict[str, Any] = {"name": "db-0", "namespace": "d", "uid": "u"}
    if ends:
        meta["deletionTimestamp"] = ends
    return codec_for(Pod).convert({"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": phase}})


def a_node(ready: str, *, out: bool = False) -> Node:
    explanation = {"type": "Ready", "status": ready, "lastTransitionTime": "2026-03-01T11:30:00Z"}
    taints = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}] if out else []
    return codec_for(Node).convert(
        {"metadata": {"name": "n1"}, "spec": {"taints": taints}, "status": {"conditions": [explanation]}}
    )


def explained(node: Node | None, policies: list[FencingPolicy] | None = None) -> Explanation:
    before = Explanation("d", "db-0", "Pod db-0 is terminating.", awaited=("Waiting for the pod's grace …",))
    return with_overdue(before, a_pod(), node, NOW, "vacate", policies)


def test_the_policy_that_acts_on_the_node_is_named_with_when() -> None:
    row = NodeFencing(name="n1", phase="Unreachable", message="node n1 is fenced at 2026-03-01T12:05:00Z")
    other = NodeFencing(name="n2", phase="Failed", message="the agent hangs")
    status = FencingPolicyStatus(nodes=[row, other])
    policy = FencingPolicy(metadata=ObjectMeta(name="rack"), status=status)
    sentence = "FencingPolicy rack (Unreachable): node n1 is fenced at 2026-03-01T12:05:00Z."
    assert explained(a_node("Unknown"), [policy]).awaited[2:] == (sentence,)
    nobody = "No FencingPolicy acts on node n1: nothing switches it off by itself."
    assert explained(a_node("Unknown"), []).awaited[2:] == (nobody,)
    assert len(explained(a_node("True"), [policy]).awaited) == 2
    assert len(explained(a_node("Unknown")).awaited) == 2


def test_only_pods_whose_node_is_late_are_overdue() -> None:
    assert is_overdue(a_pod(), NOW)
    for other in (a_pod(None), a_pod("2026-03-01T12:00:10Z"), a_pod(phase="Failed"), a_pod(node="")):
        assert not is_overdue(other, NOW)


def test_a_silent_node_is_named_with_what_is_safe_in_this_order() -> None:
    explanation = explained(a_node("Unknown"))
    waits, why = explanation.awaited
    assert waits == (
        "The grace period ended 10m ago, and node n1 has not confirmed that the pod's processes have ended."
    )
    assert why.startswith("Node n1 was last ready 30m ago: it is off, or cut off")
    assert [one.command for one in explanation.remedies] == [
        "",
        "vacate fence node/n1 --agent AGENT --options FILE",
        "vacate delete node n1",
        "vacate delete pod/db-0 -n d --force --confirm",
    ]


def test_a_pod_of_a_silent_node_says_so_before_its_deletion_begins() -> None:
    pod, node = a_pod(None), a_node("Unknown")
    assert is_cut_off(pod, node)
    for other in (a_node("True"), a_node("False"), None):
        assert not is_cut_off(pod, other)
    assert not is_cut_off(a_pod(None, phase="Succeeded"), node)
    plain = Explanation("d", "db-0", "No eviction of pod db-0 is requested.")
    explanation = with_lost_node(plain, pod, node, NOW, "vacate", [])
    why, fencing = explanation.awaited
    assert why.startswith("Node n1 was last ready 30m ago: it is off, or cut off with the pod still")
    assert fencing.startswith("No FencingPolicy acts on node n1")
    assert "--force" not in str(explanation.remedies)
    out = with_lost_node(plain, pod, a_node("Unknown", out=True), NOW, "vacate", [])
    assert (out.awaited, out.remedies) == (("Node n1 is out of service: it is fenced.",), ())


def test_a_ready_node_is_no_reason_to_force() -> None:
    explanation = explained(a_node("True"))
    assert "Node n1 is ready" in explanation.awaited[1]
    assert not any("--force" in one.command or "fence" in one.command for one in explanation.remedies)


def test_nodes_that_are_gone_or_out_of_service_need_nothing_but_pod_gc() -> None:
    for node, state in ((None, "no longer exists"), (a_node("Unknown", out=True), "is out of service")):
        explanation = explained(node)
        assert state in explanation.awaited[-1]
        assert explanation.remedies == ()
