"""What a maintenance does next: a value, from its spec and the present state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.times import after
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import (
    ALL_FIRST,
    BLOCKED,
    CORDON,
    CORDONED,
    DELETE,
    DRAINED,
    DRAINING,
    EVICT,
    NOT_FOUND,
    PENDING,
    PRIORITY,
    REPLACED,
    Blocker,
    NodeMaintenance,
    NodeProgress,
)
from vacate.eviction.dialects.evictionrequest.reader import recorded_stage
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import Stage
from vacate.maintenance.blockers import blocking, from_error, from_verdict, next_report
from vacate.maintenance.claims import claims_of
from vacate.maintenance.names import requester_of
from vacate.maintenance.pods import Treatment, Verdict, assess_pod, in_wave, selector_from
from vacate.maintenance.progress import counted, estimate, percent_of, plausible, steady
from vacate.maintenance.turns import Candidate, next_turns
from vacate.views.phrases import counted as counted_words

ACTIVE = (DRAINING, BLOCKED)
STARTED = (*ACTIVE, DRAINED)


@dataclass(frozen=True, slots=True)
class Environment:
    """What a maintenance can see."""

    nodes: Mapping[str, Node]  # those that it means, as far as they exist
    pods: Callable[[str], Sequence[Pod]]  # of a node
    request: Callable[[Pod], EvictionRequest | None]
    budgets: Callable[[str], Sequence[PodDisruptionBudget]]  # of a namespace
    refused: Mapping[str, str] = field(default_factory=dict)  # by pod UID: why a request was refused
    unscheduled: Callable[[str], Sequence[Pod]] = lambda _: ()  # pods of a namespace that have no node


@dataclass(slots=True)
class Plan:
    """What to do, and what to report."""

    now: dt.datetime
    rows: list[NodeProgress] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    cordon: list[Node] = field(default_factory=list)  # the nodes that must be claimed
    starts: list[str] = field(default_factory=list)  # nodes whose turn comes now: record this before acting
    request: list[Pod] = field(default_factory=list)
    delete: list[Pod] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)  # UIDs of the pods whose requests are to stay
    until: dt.datetime | None = None  # when to look again, though nothing changes

    def wake(self, moment: dt.datetime | None) -> None:
        """Look again at that moment, or earlier; what has passed already is no reason to."""
        if moment is not None and moment > self.now:
            self.until = moment if self.until is None else min(self.until, moment)


def meant_nodes(maintenance: NodeMaintenance, nodes: Sequence[Node]) -> list[str]:
    """The names of the nodes that a maintenance means, in the order of their turns."""
    spec = maintenance.spec
    if spec.nodes:
        return list(dict.fromkeys(spec.nodes))
    if spec.node_selector is None:
        return []
    selector = selector_from(spec.node_selector)
    if selector.everything:
        return []  # admission refuses it; should it be stored all the same, it means nothing
    return sorted(node.metadata.name for node in nodes if selector.matches(node.metadata.labels))


def plan_maintenance(
    maintenance: NodeMaintenance, names: Sequence[str], around: Environment, now: dt.datetime
) -> Plan:
    """The next steps of a maintenance that is not being deleted."""
    plan = Plan(now)
    created = maintenance.metadata.creation_timestamp
    before = {row.name: plausible(row, created, now) for row in maintenance.status.nodes}
    rows = {name: _present(before.get(name), name, around.nodes.get(name)) for name in names}
    spec = maintenance.spec
    drains = spec.stage != CORDON
    if drains and not _ready_to_start(maintenance, rows, around):
        first = f"{'the node is' if len(rows) == 1 else 'all nodes are'} cordoned first"
        rows = {
            name: _row(row, PENDING, message=first) if row.phase == PENDING else row
            for name, row in rows.items()
        }
    elif drains:
        plan.starts = _starts(maintenance, rows, around)
        for name in plan.starts:
            rows[name] = _started(rows[name], around.nodes[name], now)
    for name, row in rows.items():
        node = around.nodes.get(name)
        if node is None or row.phase == REPLACED:
            plan.rows.append(row)
            if node is None and not row.uid:
                plan.blockers.append(_unknown(name))
            continue
        if not drains or spec.cordon == ALL_FIRST or row.phase in STARTED:
            plan.cordon.append(node)
        if not drains:
            plan.rows.append(_row(row, CORDONED, message="the node takes no new pods"))
        elif row.phase in STARTED:
            plan.rows.append(_drain(maintenance, row, node, around, plan, now))
        else:
            plan.rows.append(row)
    return plan


def _present(row: NodeProgress | None, name: str, node: Node | None) -> NodeProgress:
    """The node's row as it was, corrected by whether the node is still the same."""
    row = row or NodeProgress(name=name)
    if node is None:
        gone = "the node was deleted" if row.uid else "there is no node of this name"
        return _row(row, NOT_FOUND, message=gone, drained=None)
    if row.uid and row.uid != node.metadata.uid:
        new = (
            "the node was replaced by a new one of the same name, which is not drained; to drain it, create "
            "a new NodeMaintenance"
        )
        return _row(row, REPLACED, message=new)
    if row.phase not in STARTED:
        return _row(row, PENDING, message="waits for its turn")
    return row


def _row(row: NodeProgress, phase: str, *, message: str, drained: dt.datetime | None = None) -> NodeProgress:
    return NodeProgress(
        name=row.name,
        uid=row.uid,
        phase=phase,
        pods_total=row.pods_total,
        pods_evicted=row.pods_evicted,
        percent=row.percent,
        drained_time=drained,
        message=message,
    )


def _started(row: NodeProgress, node: Node, now: dt.datetime) -> NodeProgress:
    begin = now.replace(microsecond=0)
    return NodeProgress(name=row.name, uid=node.metadata.uid, phase=DRAINING, start_time=begin)


def _deadline_of(row: NodeProgress, seconds: int | None) -> dt.datetime | None:
    if seconds is None or row.start_time is None:
        return None
    return after(row.start_time, seconds)


def _ready_to_start(
    maintenance: NodeMaintenance, rows: Mapping[str, NodeProgress], around: Environment
) -> bool:
    """Whether all nodes are cordoned that must be before one is drained."""
    return maintenance.spec.cordon != ALL_FIRST or all(
        node.spec.unschedulable and maintenance.metadata.name in claims_of(node).by
        for name, row in rows.items()
        if row.phase != REPLACED and (node := around.nodes.get(name)) is not None
    )


def _starts(maintenance: NodeMaintenance, rows: Mapping[str, NodeProgress], around: Environment) -> list[str]:
    spec = maintenance.spec
    there = {name: around.nodes[name] for name in rows if name in around.nodes}
    candidates = [
        Candidate(
            name,
            active=row.phase in ACTIVE and name in there,
            waiting=row.phase == PENDING and name in there,
            topology=there[name].metadata.labels.get(spec.topology_key, "") if name in there else "",
        )
        for name, row in rows.items()
    ]
    return next_turns(candidates, spec.max_nodes, by_topology=bool(spec.topology_key))


def _drain(
    maintenance: NodeMaintenance,
    row: NodeProgress,
    node: Node,
    around: Environment,
    plan: Plan,
    now: dt.datetime,
) -> NodeProgress:
    spec = maintenance.spec
    selector = selector_from(spec.pods.selector)
    assessed = [(pod, assess_pod(pod, spec.pods, selector)) for pod in around.pods(node.metadata.name)]
    staying = [verdict for _, verdict in assessed if verdict.treatment is Treatment.STAY]
    holding = [(pod, verdict) for pod, verdict in assessed if verdict.treatment is Treatment.HOLD]
    going = [one for one in assessed if one[1].treatment in (Treatment.EVICT, Treatment.EVICT_LAST)]
    found = [from_verdict(pod, verdict) for pod, verdict in holding]
    ready = _is_ready(node)
    deadline = _deadline_of(row, spec.deadline_seconds)
    overdue = deadline is not None and now >= deadline
    claimed = maintenance.metadata.name in claims_of(node).by and node.spec.unschedulable
    wave = {pod.metadata.uid for pod in in_wave(going, by_priority=spec.order == PRIORITY)}
    estimates: list[dt.datetime] = []
    for pod, verdict in going:
        uid, request = pod.metadata.uid, around.request(pod)
        plan.wanted.add(uid)
        if claimed and not holding and uid in wave and not pod.terminating:
            _leave(maintenance, pod, verdict, request, plan)
        if overdue and spec.on_deadline == DELETE and claimed and not pod.terminating:
            plan.delete.append(pod)
        if request is not None and request.status.expected_interceptor_finish_time is not None:
            estimates.append(request.status.expected_interceptor_finish_time)
        refused = around.refused.get(uid)
        held = blocking(pod, request, around.budgets(pod.metadata.namespace), now, around.unscheduled)
        if held is None:
            plan.wake(next_report(pod, request))
        if held is None and refused is not None and request is None:
            held = from_error(pod, refused)
        if held is not None:
            found.append(held)
    if going and not ready:
        found.append(
            Blocker(
                node=node.metadata.name,
                kind="NodeNotReady",
                message="the node is not ready: its kubelet does not end pods",
                remedy="bring the node back, or delete the Node object if the machine is permanently lost",
            )
        )
    left = len(going) + len(holding)
    if overdue and left:
        found.append(_deadline(node, spec.on_deadline, left))
    elif left:
        plan.wake(deadline)
    plan.blockers += found
    total, gone = counted(row, left)
    # Where something holds every pod that is left, the rate so far says nothing about them.
    moving = left > sum(bool(one.pod) for one in found)
    finish = estimate(now, row.start_time, gone if moving else 0, left, estimates)
    # Until the node is cordoned, pods may still come to it. Nor is its turn recorded and its end at once:
    # only what is left after the cordon counts, and the controller asks the API server for it.
    closed = row.phase == DRAINED or (claimed and row.name not in plan.starts)
    phase = BLOCKED if found else DRAINING if left or not closed else DRAINED
    return NodeProgress(
        name=row.name,
        uid=row.uid,
        phase=phase,
        pods_total=total,
        pods_evicted=gone,
        pods_ignored=len(staying),
        percent=percent_of(gone, total),
        start_time=row.start_time,
        deadline_time=deadline,
        estimated_finish_time=steady(row.estimated_finish_time, finish, now),
        drained_time=(row.drained_time or now.replace(microsecond=0)) if phase == DRAINED else None,
        message=_node_message(phase, left, len(found), staying, waiting=len(going) - len(wave)),
    )


def _leave(
    maintenance: NodeMaintenance, pod: Pod, verdict: Verdict, request: EvictionRequest | None, plan: Plan
) -> None:
    """Request the eviction; delete a DaemonSet pod, which is not evicted, once its interceptors are done."""
    asked = request is not None and not request.complete
    if not asked or (
        request is not None
        and not dialect_of(request).fixes_requesters(request)
        and not _is_on(maintenance, request)
    ):
        plan.request.append(pod)
    last = verdict.treatment is Treatment.EVICT_LAST
    if last and asked and request is not None and recorded_stage(request) is Stage.BLOCKED:
        plan.delete.append(pod)


def _is_on(maintenance: NodeMaintenance, request: EvictionRequest) -> bool:
    """Whether the maintenance is one of the requesters."""
    own = requester_of(maintenance.metadata.name, dialect_of(request))
    return any(one.name == own for one in request.spec.requesters)


def _unknown(name: str) -> Blocker:
    return Blocker(
        node=name,
        kind="NodeNotFound",
        message="there is no node of this name",
        remedy="correct spec.nodes, or wait for the node to join",
    )


def _deadline(node: Node, action: str, left: int) -> Blocker:
    pods = counted_words(left, "pod")
    if action == DELETE:
        message, remedy = f"the deadline has passed; {pods} left, deleted now", "wait for them to end"
    else:
        message = f"the deadline has passed with {pods} left"
        remedy = "remove what blocks them, raise deadlineSeconds, or set onDeadline: Delete"
    return Blocker(node=node.metadata.name, kind="DeadlinePassed", message=message, remedy=remedy)


def _is_ready(node: Node) -> bool:
    found = condition(node.status.conditions, "Ready")
    return found is None or found.status == "True"


def _node_message(phase: str, left: int, held: int, staying: Sequence[Verdict], *, waiting: int) -> str:
    parts = []
    if phase == DRAINED:
        parts.append("the node is drained")
    elif phase == DRAINING and not left:
        parts.append("checking that no pod is left")
    else:
        parts.append(f"{counted_words(left, 'pod')} left")
    if held:
        parts.append(counted_words(held, "blocker"))
    if waiting > 0:
        parts.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} for pods of lower priority")
    stubborn = sum(1 for one in staying if one.kind == "ToleratesTaint")
    if stubborn:
        verbs = "tolerates the taint and stays" if stubborn == 1 else "tolerate the taint and stay"
        parts.append(f"{counted_words(stubborn, 'DaemonSet pod')} {verbs}")
    return ", ".join(parts)


def wants_taint(maintenance: NodeMaintenance) -> bool:
    """Whether DaemonSet pods must be kept off the nodes."""
    return maintenance.spec.stage != CORDON and maintenance.spec.pods.daemon_set_pods == EVICT
