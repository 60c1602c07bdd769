"""What holds a pod that is to be evicted, and what would help."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from vacate.api.text import plain
from vacate.api.times import after
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import ADMITTED, EvictionRequest
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import MAX_MESSAGE, Blocker
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import assigned, has_responded, shown_stage
from vacate.maintenance.pods import Verdict
from vacate.maintenance.turns import Turns
from vacate.views.budgets import allowance_of, covering, never_allows, opt_in, unprepared_by
from vacate.views.phrases import counted, listed
from vacate.views.refusals import refusal_of

RESPONSE_EXPECTED = dt.timedelta(minutes=1)
"""An interceptor that has not responded for so long is reported: most often none of that name runs."""

REPLACEMENT_EXPECTED = dt.timedelta(seconds=15)
"""A replacement that has no node, or cannot be created, after so long is reported."""
_REPLACING = (DEPLOYMENT_INTERCEPTOR, AUTOSCALER_INTERCEPTOR)
_NOT_CREATED = "FailedCreate"
"""The reason that a Deployment gives where its pods cannot be created: a quota, a webhook."""

TERMINATION_OVERDUE = dt.timedelta(minutes=1)
"""A pod that is there so long after the end of its grace period is reported."""


def from_verdict(pod: Pod, verdict: Verdict) -> Blocker:
    """A pod that may not be evicted."""
    return blocker(pod, verdict.kind, verdict.message, verdict.remedy)


def from_error(pod: Pod, message: str) -> Blocker:
    """A pod whose eviction could not even be requested."""
    name, remedy = refusal_of(message)
    text = f"its eviction could not be requested: {plain(message, 600)}"
    return blocker(pod, "RequestRefused", text, remedy, name)


def from_deletion(pod: Pod, message: str) -> Blocker:
    """A pod that is to be deleted, and whose deletion was refused."""
    name, remedy = refusal_of(message)
    return blocker(pod, "DeletionRefused", f"it could not be deleted: {plain(message, 600)}", remedy, name)


def from_room(pod: Pod, why: str) -> Blocker:
    """A pod whose replacement has nowhere to go, in the words of the scheduler."""
    text = f"no other node would take its replacement: {plain(why, 600)}"
    remedy = "add a node, free resources or uncordon one, or the replacement stays Pending"
    return blocker(pod, "NowhereToGo", text, remedy)


def from_absent(pod: Pod, name: str) -> Blocker:
    """A pod that names an interceptor which has never answered."""
    text = f"interceptor {name} has never answered: its turn would last a heartbeat deadline"
    remedy = f"make sure that {name} runs; see: vacate interceptors -A"
    return blocker(pod, "Interceptor", text, remedy, name)


def from_unready(node: Node) -> Blocker | None:
    """A node whose pods do not end; None for one that reports."""
    found = condition(node.status.conditions, "Ready")
    if found is None or found.status == "True":
        return None
    return Blocker(
        node=node.metadata.name,
        kind="NodeNotReady",
        message="the node is not ready: its kubelet does not end pods",
        remedy="bring the node back, or delete the Node object if the machine is permanently lost",
    )


CORDON_REFUSED, RELEASE_REFUSED, CONDITIONS_REFUSED = "CordonRefused", "ReleaseRefused", "ConditionsRefused"
_NODE_REFUSALS = {
    CORDON_REFUSED: "the node could not be cordoned",
    RELEASE_REFUSED: "the node could not be released",
    CONDITIONS_REFUSED: "the conditions of the node could not be written",
}

RETRIED_REFUSALS = (*_NODE_REFUSALS, "RequestRefused", "DeletionRefused", "WithdrawalRefused")
"""Kinds of blockers that the controller of NodeMaintenances meets itself, and tries again when asked."""


def from_node(kind: str, node: str, message: str) -> Blocker:
    """A node that could not be changed. Without its cordon nothing is done to its pods."""
    name, remedy = refusal_of(message)
    text = f"{_NODE_REFUSALS[kind]}: {plain(message, 600)}"
    return Blocker(node=node, kind=kind, name=name, message=_cut(text), remedy=_cut(remedy))


def from_withdrawal(pod: str, message: str) -> Blocker:
    """A pod, given as namespace/name, that is to stay, and whose request could not be withdrawn."""
    (namespace, _, own), (name, remedy) = pod.partition("/"), refusal_of(message)
    text = f"the request of its eviction could not be withdrawn: {plain(message, 600)}"
    return Blocker(
        namespace=namespace,
        pod=own,
        kind="WithdrawalRefused",
        name=name,
        message=_cut(text),
        remedy=_cut(remedy),
    )


def from_turn(turns: Turns, drained: int) -> Blocker:
    """A node that waits for nodes of other maintenances."""
    if turns.by is None:
        return Blocker(
            node=turns.held,
            kind="Turn",
            message=f"waits for its turn: {counted(drained, 'node')} of other NodeMaintenances "
            f"{'is' if drained == 1 else 'are'} drained now, as many as the manager allows",
            remedy="wait until one of them is drained: kubectl get nodemaintenances; or raise "
            "--max-draining-nodes of the manager",
        )
    other, node = turns.by.maintenance, turns.by.node.metadata
    value = node.labels.get(turns.key, "none")
    return Blocker(
        node=turns.held,
        kind="Turn",
        name=other,
        message=_cut(
            f"waits for its turn: NodeMaintenance {other} drains node {node.name}, "
            f"whose {turns.key} is {value}"
        ),
        remedy=f"wait until that node is drained, or see what holds it: kubectl get nodemaintenance {other} "
        "-o yaml",
    )


def from_pin(
    pod: Pod, request: EvictionRequest, refused: str | None, budgets: Sequence[PodDisruptionBudget]
) -> Blocker:
    """A pod whose request is over and cannot be replaced: what holds it, since when, and what happens."""
    kind, meta = request.kind.kind, request.metadata
    held = (
        f"finalizers {listed([plain(one, 100) for one in meta.finalizers[:5]])}"
        if meta.finalizers
        else ("something that it does not name")
    )
    since = f" since {_clock(meta.deletion_timestamp)}" if meta.deletion_timestamp is not None else ""
    text = f"its {kind} is over and deleted, and is held by {held}{since}; "
    remedy = f"ask the owner of these finalizers to remove them: kubectl get {request.kind.plural} "
    remedy += f"{meta.name} -n {meta.namespace} -o yaml; the drain goes on without it"
    if refused is None:
        return blocker(pod, "RequestPinned", f"{text}the pod is evicted without it", remedy, meta.name)
    found = covering(budgets, pod.metadata.namespace, pod.metadata.labels)
    if len(found) == 1:
        remedy = budget_remedy(pod, found[0])
    text += f"the eviction without it was refused: {plain(refused, 500)}"
    return blocker(pod, "RequestPinned", text, remedy, meta.name)


def blocking(
    pod: Pod,
    request: EvictionRequest | None,
    budgets: Sequence[PodDisruptionBudget],
    now: dt.datetime,
    unscheduled: Callable[[str], Sequence[Pod]] = lambda _: (),
) -> Blocker | None:
    """What holds a pod whose eviction is requested, or that is terminating; None while it moves on.

    The budgets are those of its namespace; only where one refuses are the pods without a node asked for.
    """
    if pod.terminating:
        return _overdue(pod, now)
    if request is None or request.complete:
        return None
    admitted = condition(request.status.conditions, ADMITTED)
    if admitted is not None and admitted.status == "False":
        return blocker(
            pod,
            "NotAdmitted",
            f"its {request.kind.kind} is not processed: {plain(admitted.message, 600)}",
            f"make sure that the webhook of Vacate runs, then delete the {request.kind.kind}",
        )
    stage = shown_stage(request)
    if stage is Stage.INTERCEPTING:
        return _silent(pod, request, now) or _unplaced(pod, request, now, unscheduled)
    failed = request.status.pod_eviction_status
    if stage in (Stage.EVICTING, Stage.BLOCKED) and failed is not None and failed.failed_api_eviction_counter:
        return _refused(pod, request, budgets, unscheduled(pod.metadata.namespace))
    return None


def blocker(pod: Pod, kind: str, message: str, remedy: str, name: str = "") -> Blocker:
    """A blocker of a pod, within the limits of the schema."""
    meta = pod.metadata
    return Blocker(
        node=pod.spec.node_name,
        namespace=meta.namespace,
        pod=meta.name,
        kind=kind,
        name=name[:317],
        message=_cut(message),
        remedy=_cut(remedy),
    )


def _overdue(pod: Pod, now: dt.datetime) -> Blocker | None:
    ends = pod.metadata.deletion_timestamp
    if ends is None or now - ends < TERMINATION_OVERDUE:
        return None
    late = f"the pod should have ended at {_clock(ends)}"
    if pod.metadata.finalizers:
        names = listed([plain(one, 100) for one in pod.metadata.finalizers[:5]])
        return blocker(
            pod, "Terminating", f"{late} and is held by finalizers: {names}",
            "ask the owner of these finalizers to remove them",
        )  # fmt: skip
    return blocker(
        pod, "Terminating", f"{late}, and its node has not reported its end",
        f"look at the kubelet of node {pod.spec.node_name}",
    )  # fmt: skip


def _silent(pod: Pod, request: EvictionRequest, now: dt.datetime) -> Blocker | None:
    began, active = assigned(request), request.status.active_interceptor_name
    since = began.last_transition_time if began else None
    if not active or since is None or has_responded(request) or now - since < RESPONSE_EXPECTED:
        return None
    ends = after(since, request.spec.heartbeat_deadline)
    until, terms = _clock(ends), dialect_of(request).terms
    return blocker(
        pod,
        terms.interceptor.capitalize(),
        f"{terms.interceptor} {active} has not responded; it times out at {until}",
        f"make sure that {active} runs and may update {request.kind.kind}s",
        active,
    )


def _unplaced(
    pod: Pod, request: EvictionRequest, now: dt.datetime, unscheduled: Callable[[str], Sequence[Pod]]
) -> Blocker | None:
    """A pod whose replacement is waited for, and has no node or cannot be created."""
    began, active, owner = assigned(request), request.status.active_interceptor_name, pod.metadata.controller
    since = began.last_transition_time if began else None
    if active not in _REPLACING or since is None or owner is None or now - since < REPLACEMENT_EXPECTED:
        return None
    message = plain(request.status.message, 600)
    awaited = [
        one.metadata.name
        for one in unscheduled(pod.metadata.namespace)
        if one.metadata.controller is not None and one.metadata.controller.uid == owner.uid
    ]
    if awaited:
        remedy = (
            f"make room for {_first_of(awaited)}: add a node that fits, or let another one take pods again"
        )
    elif _NOT_CREATED in message:
        remedy = refusal_of(message).remedy
    else:
        return None
    return blocker(pod, "Replacement", message, remedy, active)


def _refused(
    pod: Pod, request: EvictionRequest, budgets: Sequence[PodDisruptionBudget], unscheduled: Sequence[Pod]
) -> Blocker:
    meta = pod.metadata
    found = covering(budgets, meta.namespace, meta.labels)
    why = plain(request.status.message, 600) or "the eviction was refused"
    by = refusal_of(why)
    if by.name:  # a webhook, a policy or a missing right, whatever budgets allow
        return blocker(pod, "EvictionRefused", why, by.remedy, by.name)
    if not found:
        return blocker(pod, "EvictionRefused", why, f"look at pod {meta.name} and the webhooks on evictions")
    return from_budgets(pod, found, request, unscheduled)


def from_budgets(
    pod: Pod,
    found: Sequence[PodDisruptionBudget],
    request: EvictionRequest | None = None,
    unscheduled: Sequence[Pod] = (),
) -> Blocker:
    """A pod whose eviction the budgets that select it refuse; of the pods without a node theirs count."""
    meta, names = pod.metadata, [one.metadata.name for one in found]
    if len(found) > 1:
        return blocker(
            pod,
            "DisruptionBudget",
            f"several disruption budgets select the pod, which the eviction API refuses: {listed(names)}",
            "change their selectors so that only one of them selects the pod",
            ",".join(names),
        )
    awaited = [
        one.metadata.name for one in unscheduled if covering(found, meta.namespace, one.metadata.labels)
    ]
    message, remedy = allowance_of(found[0]), budget_remedy(pod, found[0], awaited, request)
    if request is not None and (turn := unprepared_by(pod, request)) is not None:
        message, remedy = f"{message} {turn[0]}", f"{turn[1]}; or {remedy}"
    return blocker(pod, "DisruptionBudget", message, remedy, names[0])


def budget_remedy(
    pod: Pod,
    budget: PodDisruptionBudget,
    unscheduled: Sequence[str] = (),
    request: EvictionRequest | None = None,
) -> str:
    """What would let the pod go that a budget holds, some of whose pods may have no node."""
    status, name = budget.status, budget.metadata.name
    if budget.spec.min_available is None and budget.spec.max_unavailable is None:
        return (
            f"disruption budget {name} says neither minAvailable nor maxUnavailable, and so never allows an "
            "eviction: set one of them"
        )
    if never_allows(budget):
        count = status.expected_pods
        pods = "its only pod" if count == 1 else f"all of its {count} pods"
        way = opt_in(pod, budget, request)
        first = f"{way[0]}: {way[1]}; or " if way else ""
        return (
            f"disruption budget {name} needs {pods} healthy and never allows an eviction: {first}"
            "add replicas or lower what it demands"
        )
    if status.current_healthy > status.desired_healthy:
        # The API server debits a budget at once; its controller counts again when the pod is gone.
        return f"wait until evictions of other pods of disruption budget {name} have ended and are counted"
    if unscheduled:
        return (
            f"wait until {_first_of(unscheduled)} of disruption budget {name}, not scheduled yet, "
            f"{'is' if len(unscheduled) == 1 else 'are'} healthy; if only drained nodes fit, add a node that "
            "does, or lower what the budget demands"
        )
    return f"wait until more pods of disruption budget {name} are healthy, or add replicas"


def _first_of(pods: Sequence[str]) -> str:
    more = len(pods) - 1
    return f"pod {pods[0]}" if not more else f"pod {pods[0]} and {more} more"


def next_report(pod: Pod, request: EvictionRequest | None) -> dt.datetime | None:
    """When a pod that moves on now has to be reported, unless something changes before."""
    if pod.terminating:
        ends = pod.metadata.deletion_timestamp
        return None if ends is None else ends + TERMINATION_OVERDUE
    began = None if request is None or request.complete else assigned(request)
    if request is None or began is None or began.last_transition_time is None:
        return None
    if request.status.active_interceptor_name in _REPLACING:
        return began.last_transition_time + REPLACEMENT_EXPECTED
    return None if has_responded(request) else began.last_transition_time + RESPONSE_EXPECTED


def _clock(moment: dt.datetime) -> str:
    """A moment, so that the sentence does not change by itself."""
    return moment.astimezone(dt.UTC).strftime("%H:%M:%S UTC")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
