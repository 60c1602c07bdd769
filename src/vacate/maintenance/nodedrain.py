"""The drain of one node: which of its pods are requested, deleted or held, and how far it is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.text import plain
from vacate.api.times import after
from vacate.api.types import Node, Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import (
    AUTOMATIC,
    BLOCKED,
    DELETE,
    DRAINED,
    DRAINING,
    PRIORITY,
    Blocker,
    NodeMaintenance,
    NodeProgress,
)
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.pins import PIN_AFTER, pinned_since
from vacate.eviction.records.reader import has_responded, recorded_stage, shown_stage
from vacate.maintenance.blockerrecords import node_blocker
from vacate.maintenance.blockers import (
    blocking,
    from_deletion,
    from_error,
    from_pin,
    from_unready,
    from_verdict,
    from_write,
    next_report,
)
from vacate.maintenance.claims import claims_of
from vacate.maintenance.model import MaintenanceInputs, MaintenancePlan
from vacate.maintenance.names import requester_of
from vacate.maintenance.pods import Treatment, Verdict, assess_pod, in_wave, selector_from
from vacate.maintenance.progress import counted, estimate, percent_of, steady
from vacate.views.model import Remedy
from vacate.views.phrases import counted as counted_words

TIER_DELAY = dt.timedelta(seconds=10)
"""A pod that was blocked for so long does not hold the pods of higher priority any more."""


def drain_node(
    maintenance: NodeMaintenance,
    row: NodeProgress,
    node: Node,
    around: MaintenanceInputs,
    plan: MaintenancePlan,
    now: dt.datetime,
) -> NodeProgress:
    """The next row of a node whose turn has come; what is done about its pods goes into the plan."""
    spec = maintenance.spec
    selector = selector_from(spec.pods.selector)
    assessed = [(pod, assess_pod(pod, spec.pods, selector)) for pod in around.pods(node.metadata.name)]
    staying = [verdict for _, verdict in assessed if verdict.treatment is Treatment.STAY]
    holding = [(pod, verdict) for pod, verdict in assessed if verdict.treatment is Treatment.HOLD]
    going = [one for one in assessed if one[1].treatment in (Treatment.EVICT, Treatment.EVICT_LAST)]
    found = [from_verdict(pod, verdict) for pod, verdict in holding]
    unready = from_unready(node)
    deadline = _deadline_of(row, spec.deadline_seconds)
    overdue = deadline is not None and now >= deadline
    claimed = maintenance.metadata.name in claims_of(node).by and node.spec.unschedulable
    requests = {pod.metadata.uid: around.request(pod) for pod, _ in going}
    held = {
        uid: one
        for pod, _ in going
        if (one := _held(maintenance, pod, requests[uid := pod.metadata.uid], around, plan, now))
    }
    stuck = {uid for uid, one in held.items() if one.since is not None and now - one.since >= TIER_DELAY}
    wave = {pod.metadata.uid for pod in in_wave(going, spec.order, stuck)}
    if spec.order == PRIORITY and len(wave) < len(going):
        for one in held.values():
            plan.wake(None if one.since is None else one.since + TIER_DELAY)
    estimates: list[dt.datetime] = []
    for pod, verdict in going:
        uid, request = pod.metadata.uid, requests[pod.metadata.uid]
        plan.wanted.add(uid)
        if claimed and not holding and uid in wave and not pod.terminating:
            _leave(maintenance, pod, verdict, request, plan, now)
        if overdue and spec.on_deadline == DELETE and claimed and not pod.terminating:
            plan.delete.append(pod)
            plan.overdue.add(uid)
        if request is not None and request.status.expected_interceptor_finish_time is not None:
            estimates.append(request.status.expected_interceptor_finish_time)
    found += held.values()
    if going and unready is not None:
        found.append(unready)
    left = len(going) + len(holding)
    if overdue and left:
        found.append(_deadline(node, spec.on_deadline, left, deadline))
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
    forced = around.forced.get(row.name, ())
    return NodeProgress(
        name=row.name,
        uid=row.uid,
        phase=phase,
        pods_total=total,
        pods_evicted=gone,
        pods_ignored=len(staying),
        pods_forced=row.pods_forced + len(forced),
        forced_pods=[*row.forced_pods, *forced],
        percent=percent_of(gone, total),
        start_time=row.start_time,
        deadline_time=deadline,
        estimated_finish_time=steady(row.estimated_finish_time, finish, now),
        drained_time=(row.drained_time or now.replace(microsecond=0)) if phase == DRAINED else None,
        message=_node_message(phase, left, len(found), staying, waiting=len(going) - len(wave))
        + _at_work([(pod, requests[uid]) for pod, _ in going if (uid := pod.metadata.uid) not in held]),
    )


def _held(
    maintenance: NodeMaintenance,
    pod: Pod,
    request: EvictionRequest | None,
    around: MaintenanceInputs,
    plan: MaintenancePlan,
    now: dt.datetime,
) -> Blocker | None:
    """What holds a pod that is to be evicted; None while it moves on."""
    uid, budgets = pod.metadata.uid, () if pod.terminating else around.budgets(pod)
    held = blocking(pod, request, budgets, now, around.unscheduled, around.workload, around.refusal)
    if held is None:
        plan.wake(next_report(pod, request))
    if pod.terminating:
        return None if held is None else around.dated(held, now)
    if refused := around.unwritten(pod):  # what the request says is not the newest
        return around.dated(from_write(pod, refused), now)
    if held is None and request is not None and _pinned_since(maintenance, request) is not None:
        held = from_pin(pod, request, around.unevicted.get(uid), budgets)
    elif held is None and uid in around.refused and _lacks(maintenance, request):
        held = from_error(pod, around.refused[uid])
    if uid in around.undeleted:  # whatever else holds it: the deletion would go past that
        held = from_deletion(pod, around.undeleted[uid])
    return None if held is None else around.dated(held, now)


def _lacks(maintenance: NodeMaintenance, request: EvictionRequest | None) -> bool:
    """Whether the pod has no open request, or one that the maintenance has yet to join."""
    return (
        request is None
        or request.complete
        or not (dialect_of(request).fixes_requesters(request) or _is_on(maintenance, request))
    )


def _leave(
    maintenance: NodeMaintenance,
    pod: Pod,
    verdict: Verdict,
    request: EvictionRequest | None,
    plan: MaintenancePlan,
    now: dt.datetime,
) -> None:
    """Request the eviction; delete a DaemonSet pod, which is not evicted, once its interceptors are done.

    A request that is over and deleted, and that something holds, counts as none: no other can be made under
    its name, so that the pod is evicted without one.
    """
    if (since := _pinned_since(maintenance, request)) is not None:
        plan.wake(after(since, PIN_AFTER))
        if now >= after(since, PIN_AFTER):
            if verdict.treatment is Treatment.EVICT_LAST:
                plan.delete.append(pod)
                plan.pinned.add(pod.metadata.uid)
            else:
                plan.evict.append(pod)
        return
    asked = request is not None and not request.complete
    if _lacks(maintenance, request):
        plan.request.append(pod)
    last = verdict.treatment is Treatment.EVICT_LAST
    if last and asked and request is not None and recorded_stage(request) is Stage.BLOCKED:
        plan.delete.append(pod)


def _pinned_since(maintenance: NodeMaintenance, request: EvictionRequest | None) -> dt.datetime | None:
    """Since when others hold a request that is over; a name of our own that holds it is taken out first."""
    if request is not None and dialect_of(request).requesters_hold and _is_on(maintenance, request):
        return None
    return pinned_since(request)


def _is_on(maintenance: NodeMaintenance, request: EvictionRequest) -> bool:
    """Whether the maintenance is one of the requesters."""
    own = requester_of(maintenance.metadata.name, dialect_of(request))
    return any(one.name == own for one in request.spec.requesters)


def _deadline_of(row: NodeProgress, seconds: int | None) -> dt.datetime | None:
    if seconds is None or row.start_time is None:
        return None
    return after(row.start_time, seconds)


def _deadline(node: Node, action: str, left: int, since: dt.datetime | None) -> Blocker:
    pods = counted_words(left, "pod")
    name = node.metadata.name
    if action == DELETE:
        message, way = f"the deadline has passed; {pods} left, deleted now", Remedy("wait for them to end")
        return node_blocker(name, "DeadlinePassed", message, [way], resolution=AUTOMATIC, since=since)
    message = f"the deadline has passed with {pods} left"
    way = Remedy("remove what blocks them, raise deadlineSeconds, or set onDeadline: Delete")
    return node_blocker(name, "DeadlinePassed", message, [way], since=since)


def _at_work(pods: Sequence[tuple[Pod, EvictionRequest | None]]) -> str:
    """What the first active interceptor that has responded says: it may itself wait for something."""
    for pod, request in pods:
        if pod.terminating or request is None or request.complete or not has_responded(request):
            continue
        name, text = request.status.active_interceptor_name, plain(request.status.message, 300)
        if name and text and shown_stage(request) is Stage.INTERCEPTING:
            term = dialect_of(request).terms.interceptor
            return f"; pod {pod.metadata.namespace}/{pod.metadata.name} waits for {term} {name}: {text}"
    return ""


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
