"""Which node a policy fences now, and why the others have to wait. In doubt nothing is fenced."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from vacate.api.selectors.labels import EVERYTHING, Selector, selector_of
from vacate.api.times import after, format_time
from vacate.api.types import Node, Pod, condition
from vacate.api.types.fencingpolicy import (
    AWAITING_APPROVAL,
    CONTRADICTED,
    FAILED,
    HELD,
    MANUAL,
    PODS_WAIT,
    UNREACHABLE,
    FencingPolicy,
    NodeFencing,
)
from vacate.eviction.records.reader import DAEMON_SET, MIRROR
from vacate.fencing.annotations import BEGUN, REQUESTED, approves, carried_out_until
from vacate.fencing.limits import FencingLimits, check_limits
from vacate.kube.nodes import is_marked_off, readiness

MAX_PAUSE = 900.0
"""Most seconds between two attempts to fence a node."""


@dataclass(frozen=True, slots=True)
class FencingInputs:
    """What a decision looks at besides the policy."""

    nodes: Sequence[Node]
    pods_on: Callable[[str], Sequence[Pod]]
    budget_spent: Callable[[Pod], bool]
    under_way: Collection[str] = ()  # nodes that any policy is fencing
    heard: Collection[str] | None = None  # nodes that were seen to report just now; None: not looked at yet
    # By the UID of a node, since when it has been seen to be unreachable. The times in its conditions are of
    # another clock, which may be wrong by hours.
    seen: Mapping[str, dt.datetime] = field(default_factory=dict)
    # Pods elsewhere that wait for an exclusive volume which a node has.
    pods_awaiting: Callable[[str], Sequence[Pod]] = lambda _: ()


@dataclass(slots=True)
class Decision:
    """What the status says about nodes of which nothing is under way, and what comes next."""

    rows: list[NodeFencing] = field(default_factory=list)
    start: NodeFencing | None = None  # the node to fence now
    look: bool = False  # a fence is due, but it must be seen first who reports
    until: dt.datetime | None = None  # when to decide again

    def wake(self, at: dt.datetime) -> None:
        """Decide again at that time, unless sooner."""
        self.until = at if self.until is None else min(self.until, at)


def decide(policy: FencingPolicy, around: FencingInputs, now: dt.datetime) -> Decision:
    """At most one node is started at a time: each start changes what the next may do."""
    made = Decision()
    known = {row.name: row for row in policy.status.nodes}
    due: list[tuple[tuple[int, int, dt.datetime, str], Node, NodeFencing]] = []
    for node in sorted(_meant(policy, around.nodes), key=lambda one: one.metadata.name):
        before = known.get(node.metadata.name)
        if before is not None and before.under_way and not _again(before, now, made):
            continue
        if readiness(node) != "Unknown" or is_marked_off(node):
            continue
        pods = waiting_pods(policy, node.metadata.name, around)
        row = _look_at(policy, node, before, pods, around, now, made)
        if row.phase == HELD:
            priority = max((pod.spec.priority or 0 for pod in pods), default=0)
            # One agent that always fails must not keep the others from being called.
            due.append(((-priority, row.attempts, row.since or now, row.name), node, row))
        else:
            made.rows.append(row)
    first = [(node, row) for _, node, row in sorted(due, key=lambda one: one[0])]
    _choose(policy, first, around, now, made)
    made.rows.sort(key=lambda row: row.name)
    return made


def waiting_pods(policy: FencingPolicy, node: str, around: FencingInputs) -> list[Pod]:
    """The pods that are a reason to fence a node: of the node itself, or those that wait for its volumes."""
    least, only_deleted = policy.spec.min_pod_priority, policy.spec.when == PODS_WAIT
    there = [pod for pod in around.pods_on(node) if pod.terminating or not only_deleted]
    return [pod for pod in (*there, *around.pods_awaiting(node)) if _counts(pod, least)]


def limits_of(policy: FencingPolicy) -> FencingLimits:
    """What the policy allows."""
    return FencingLimits(policy.spec.min_healthy, policy.spec.max_fenced)


def _meant(policy: FencingPolicy, nodes: Sequence[Node]) -> list[Node]:
    selector = _selector(policy)
    return [node for node in nodes if selector.matches(node.metadata.labels)]


def selects(policy: FencingPolicy, node: Node) -> bool:
    """Whether the policy is about this node."""
    return _selector(policy).matches(node.metadata.labels)


def is_approved(node: Node) -> bool:
    """Whether a person has approved the fence of the present outage."""
    return approves(node, lost_since(node))


def lost_since(node: Node) -> dt.datetime | None:
    """Since when its condition Ready is as it is, by the clock that dates conditions."""
    ready = condition(node.status.conditions, "Ready")
    return ready.last_transition_time if ready else None


def latest_loss(nodes: Sequence[Node]) -> dt.datetime | None:
    """When the last of the nodes that are unreachable was lost."""
    lost = (lost_since(one) for one in nodes if readiness(one) == "Unknown")
    return max((moment for moment in lost if moment is not None), default=None)


def _selector(policy: FencingPolicy) -> Selector:
    wanted = policy.spec.node_selector
    return EVERYTHING if wanted is None else selector_of(msgspec.to_builtins(wanted))


def _counts(pod: Pod, least: int | None) -> bool:
    owner = pod.metadata.controller
    if pod.terminal or MIRROR in pod.metadata.annotations or (owner is not None and owner.kind == DAEMON_SET):
        return False
    return least is None or (pod.spec.priority or 0) >= least


def _again(before: NodeFencing, now: dt.datetime, made: Decision) -> bool:
    """Whether a fence that failed is tried again now."""
    if before.phase != FAILED:
        return False
    # A time that lies farther ahead than any pause was not written by a controller.
    if before.retry_time is not None and now < before.retry_time <= after(now, MAX_PAUSE):
        made.wake(before.retry_time)
        return False
    return True


def _look_at(
    policy: FencingPolicy,
    node: Node,
    before: NodeFencing | None,
    pods: Sequence[Pod],
    around: FencingInputs,
    now: dt.datetime,
    made: Decision,
) -> NodeFencing:
    """The row of an unreachable node; Held means that it is due, and that the limits decide."""
    since = lost_since(node) or now
    attempts = before.attempts if before is not None and before.phase == FAILED else 0
    name = node.metadata.name

    def row(phase: str, message: str) -> NodeFencing:
        return NodeFencing(
            name=name, uid=node.metadata.uid, phase=phase, since=since, pods_waiting=len(pods),
            attempts=attempts, message=message,
        )  # fmt: skip

    if not attempts and REQUESTED not in node.metadata.annotations:
        if not pods:
            return row(UNREACHABLE, f"node {name} is unreachable; no pod waits for it to be fenced")
        seen = around.seen.get(node.metadata.uid, now)
        at = after(seen, _wait_seconds(policy, pods, around))
        if at > now:
            made.wake(at)
            return row(UNREACHABLE, f"node {name} is unreachable, and is fenced at {format_time(at)}")
    if policy.spec.approval == MANUAL and not is_approved(node):
        return row(
            AWAITING_APPROVAL,
            f"node {name} is unreachable; a person must approve the fence: vacate fence {name} --approve",
        )
    return row(HELD, "")


def _wait_seconds(policy: FencingPolicy, pods: Sequence[Pod], around: FencingInputs) -> float:
    shorter, usual = policy.spec.budget_spent_seconds, policy.spec.unreachable_seconds
    if shorter is not None and any(map(around.budget_spent, pods)):
        return float(min(shorter, usual))
    return float(usual)


def _choose(
    policy: FencingPolicy,
    due: Sequence[tuple[Node, NodeFencing]],
    around: FencingInputs,
    now: dt.datetime,
    made: Decision,
) -> None:
    """Start the first that may; the others say what holds them."""
    for node, row in due:
        why = _held(policy, node, around, now, made)
        if not why and around.heard is None:
            made.look = True
            known = next((one for one in policy.status.nodes if one.name == row.name), row)
            if known.phase == HELD:
                made.rows.append(replace(row, message=known.message))  # what the last look came to
                continue
            why = "it is being checked which nodes report"
        elif not why and made.start is None:
            made.start = row
            continue
        made.rows.append(_with_message(row, why or "another node is fenced first"))


def _held(policy: FencingPolicy, node: Node, around: FencingInputs, now: dt.datetime, made: Decision) -> str:
    contradicted = next((one for one in policy.status.nodes if one.phase == CONTRADICTED), None)
    if contradicted is not None:
        return (
            f"the agent of this policy was wrong about node {contradicted.name}; nothing is fenced until a "
            f"person has looked: vacate fence {contradicted.name} --undo"
        )
    name = node.metadata.name
    mine = any(row.name == name and row.phase == FAILED for row in policy.status.nodes)
    if not mine and (until := carried_out_until(node, now)) is not None:
        made.wake(until)
        begun = node.metadata.annotations.get(BEGUN, "")
        return f"node {name} is being fenced by {begun}, which ends at {format_time(until)} at the latest"
    if around.heard is not None and name in around.heard:
        return f"node {name} has just reported"
    heard = frozenset(one.metadata.name for one in around.nodes) if around.heard is None else around.heard
    return check_limits(around.nodes, name, limits_of(policy), heard=heard, under_way=around.under_way)


def _with_message(row: NodeFencing, message: str) -> NodeFencing:
    return replace(row, message=f"held: {message}"[:1024])
