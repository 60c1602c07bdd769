"""Why a pod of a lost node is still there: which node has not confirmed its end, and what is safe to do."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from vacate.api.types import Node, condition
from vacate.api.types.core import Pod
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.kube.nodes import OUT_OF_SERVICE, readiness
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import ago, command_line


def is_overdue(pod: Pod, now: dt.datetime) -> bool:
    """Whether the node should have confirmed the end of the pod by now."""
    ends = pod.metadata.deletion_timestamp
    return ends is not None and ends < now and bool(pod.spec.node_name) and not pod.terminal


def with_overdue(
    explanation: Explanation,
    pod: Pod,
    node: Node | None,
    now: dt.datetime,
    program: str,
    policies: Sequence[FencingPolicy] | None = None,
) -> Explanation:
    """The explanation with what is known about the node of an overdue pod; None for a node that is gone.

    `policies` are the FencingPolicies of the cluster, None where they are not known.
    """
    awaited, remedies = _node(pod, node, now, program)
    if node is not None and readiness(node) != "True" and policies is not None:
        awaited = (*awaited, *fencing_sentences(pod.spec.node_name, policies))
    # The sentence on the grace period in general stands here with its cause.
    kept = tuple(one for one in explanation.awaited if not one.startswith("Waiting for the pod's grace"))
    return replace(explanation, awaited=(*kept, *awaited), remedies=(*explanation.remedies, *remedies))


def is_cut_off(pod: Pod, node: Node | None) -> bool:
    """Whether nobody knows if the pod runs: it is bound, has not ended, and its node does not report."""
    return node is not None and readiness(node) == "Unknown" and not pod.terminal


def with_lost_node(
    explanation: Explanation,
    pod: Pod,
    node: Node,
    now: dt.datetime,
    program: str,
    policies: Sequence[FencingPolicy] | None = None,
) -> Explanation:
    """The explanation of a pod that is not overdue yet, with what its silent node means for it."""
    name = pod.spec.node_name
    if any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return replace(
            explanation, awaited=(*explanation.awaited, f"Node {name} is out of service: it is fenced.")
        )
    ready = condition(node.status.conditions, "Ready")
    silent = ready.last_transition_time if ready and ready.last_transition_time else now
    why = (
        f"Node {name} was last ready {ago(silent, now)}: it is off, or cut off with the pod still "
        "running. An eviction or deletion is begun, and stays incomplete until the node confirms it, is "
        "fenced, or is gone for good."
    )
    fencing = fencing_sentences(name, policies) if policies is not None else ()
    bring, fence, *_ = _safe(pod, program)
    return replace(
        explanation,
        awaited=(*explanation.awaited, why, *fencing),
        remedies=(*explanation.remedies, bring, fence),
    )


def fencing_sentences(node: str, policies: Sequence[FencingPolicy]) -> tuple[str, ...]:
    """Which policy acts on the node, how far it has come, and when it acts next."""
    sentences = [
        f"FencingPolicy {policy.metadata.name} ({row.phase}): {row.message or 'nothing more is known'}."
        for policy in policies
        for row in policy.status.nodes
        if row.name == node
    ]
    return tuple(sentences) or (f"No FencingPolicy acts on node {node}: nothing switches it off by itself.",)


def _node(
    pod: Pod, node: Node | None, now: dt.datetime, program: str
) -> tuple[tuple[str, ...], tuple[Remedy, ...]]:
    name = pod.spec.node_name
    if node is None:
        return (f"Node {name} no longer exists: pod GC removes the pod within about a minute.",), ()
    since = f"The grace period ended {ago(pod.metadata.deletion_timestamp or now, now)}"
    waits = f"{since}, and node {name} has not confirmed that the pod's processes have ended."
    if readiness(node) == "True":
        why = f"Node {name} is ready: it is still terminating the processes, or its agent is stuck."
        return (waits, why), (
            Remedy(f"Look at the kubelet's log on {name}; a second copy could run beside it."),
        )
    if any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return (waits, f"Node {name} is out of service: pod GC removes the pod shortly."), ()
    ready = condition(node.status.conditions, "Ready")
    silent = ready.last_transition_time if ready and ready.last_transition_time else now
    why = (
        f"Node {name} was last ready {ago(silent, now)}: it is off, or cut off with the processes "
        "still running. The pod stays until that is known, so that no second copy starts."
    )
    return (waits, why), _safe(pod, program)


def _safe(pod: Pod, program: str) -> tuple[Remedy, ...]:
    node, meta = pod.spec.node_name, pod.metadata
    fence = command_line(program, "fence", f"node/{node}", "--agent", "AGENT", "--options", "FILE")
    force = command_line(program, "delete", f"pod/{meta.name}", "-n", meta.namespace, "--force", "--confirm")
    return (
        Remedy(f"Bring node {node} back: it then terminates the pod itself. This is always safe."),
        Remedy("Or switch the machine off for certain, which releases its pods.", fence),
        Remedy(
            "Or, only if the machine is gone for good, delete its Node object.",
            command_line(program, "delete", "node", node),
        ),
        Remedy("Or, only if you know that the processes are gone, remove the pod by force.", force),
    )
