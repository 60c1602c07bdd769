"""What holds a pod that is to be evicted, and what would help."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from vacate.api.text import plain
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import ADMITTED, EvictionRequest
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import AUTOMATIC, MANUAL, Blocker
from vacate.api.workloads import REPLACING
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import assigned, shown_stage
from vacate.kube.workloads import Workload
from vacate.maintenance.blockerrecords import blocker, cut, node_blocker
from vacate.maintenance.interceptorblockers import explain_command, failed_turn, response_expected, silent
from vacate.maintenance.pods import Verdict
from vacate.maintenance.turns import Turns
from vacate.views.budgets import allowance_of, budget_remedies, covering, never_allows, opt_in, unprepared_by
from vacate.views.model import Remedy
from vacate.views.phrases import clock, command_line, counted, listed
from vacate.views.refusals import Refusal, refusal_of

REPLACEMENT_EXPECTED = dt.timedelta(seconds=15)
"""A replacement that has no node, or cannot be created, after so long is reported."""
_NOT_CREATED = "FailedCreate"
"""The reason that a Deployment gives where its pods cannot be created: a quota, a webhook."""

TERMINATION_OVERDUE = dt.timedelta(minutes=1)
"""A pod that is there so long after the end of its grace period is reported."""


def from_verdict(pod: Pod, verdict: Verdict) -> Blocker:
    """A pod that may not be evicted."""
    return blocker(pod, verdict.kind, verdict.message, [Remedy(verdict.remedy)])


def from_error(pod: Pod, message: str) -> Blocker:
    """A pod whose eviction could not even be requested."""
    text = f"its eviction could not be requested: {plain(message, 600)}"
    return _refused_by(pod, "RequestRefused", text, refusal_of(message))


def from_write(pod: Pod, message: str) -> Blocker:
    """A pod whose eviction is requested, and about which Vacate may not write."""
    text = f"what Vacate writes for its eviction is refused: {plain(message, 600)}"
    return _refused_by(pod, "WriteRefused", text, refusal_of(message))


def from_deletion(pod: Pod, message: str) -> Blocker:
    """A pod that is to be deleted, and whose deletion was refused."""
    text = f"it could not be deleted: {plain(message, 600)}"
    return _refused_by(pod, "DeletionRefused", text, refusal_of(message))


def _refused_by(pod: Pod, kind: str, text: str, by: Refusal) -> Blocker:
    return blocker(pod, kind, text, [Remedy(by.text, by.command)], by.name, sentence=by.remedy)


NOWHERE_TO_GO = "NowhereToGo"
"""The kind of what does not hold a drain, but leaves a replacement Pending."""


def from_room(pod: Pod, why: str) -> Blocker:
    """A pod whose replacement has nowhere to go, in the words of the scheduler."""
    text = f"no other node would take its replacement: {plain(why, 600)}"
    remedy = "add a node, free resources or uncordon one, or the replacement stays Pending"
    return blocker(pod, NOWHERE_TO_GO, text, [Remedy(remedy)])


def from_absent(pod: Pod, name: str) -> Blocker:
    """A pod that names an interceptor which has never answered."""
    text = f"interceptor {name} has never answered: its turn would last a heartbeat deadline"
    remedy = f"make sure that {name} runs; see: vacate interceptors -A"
    ways = [Remedy(f"make sure that {name} runs", "vacate interceptors -A")]
    return blocker(pod, "Interceptor", text, ways, name, sentence=remedy, resolution=AUTOMATIC)


def from_unready(node: Node) -> Blocker | None:
    """A node whose pods do not end; None for one that reports."""
    found = condition(node.status.conditions, "Ready")
    if found is None or found.status == "True":
        return None
    name = node.metadata.name
    return node_blocker(
        name,
        "NodeNotReady",
        "the node is not ready: its kubelet does not end pods",
        [
            Remedy("bring the node back", command_line("kubectl", "describe", f"node/{name}")),
            Remedy(
                "delete the Node object if the machine is permanently lost",
                command_line("vacate", "delete", "node", name),
            ),
        ],
        sentence="bring the node back, or delete the Node object if the machine is permanently lost",
        since=found.last_transition_time,
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
    by = refusal_of(message)
    text = f"{_NODE_REFUSALS[kind]}: {plain(message, 600)}"
    return node_blocker(node, kind, text, [Remedy(by.text, by.command)], by.name, sentence=by.remedy)


def from_withdrawal(pod: str, message: str) -> Blocker:
    """A pod, given as namespace/name, that is to stay, and whose request could not be withdrawn."""
    (namespace, _, own), by = pod.partition("/"), refusal_of(message)
    text = f"the request of its eviction could not be withdrawn: {plain(message, 600)}"
    made = node_blocker(
        "", "WithdrawalRefused", text, [Remedy(by.text, by.command)], by.name, sentence=by.remedy
    )
    return replace(made, namespace=namespace, pod=own)


def from_turn(turns: Turns, drained: int) -> Blocker:
    """A node that waits for nodes of other maintenances."""
    if turns.by is None:
        return node_blocker(
            turns.held,
            "Turn",
            f"waits for its turn: {counted(drained, 'node')} of other NodeMaintenances "
            f"{'is' if drained == 1 else 'are'} drained now, as many as the manager allows",
            [
                Remedy("wait until one of them is drained", "kubectl get nodemaintenances"),
                Remedy("raise --max-draining-nodes of the manager"),
            ],
            resolution=AUTOMATIC,
        )
    other, node = turns.by.maintenance, turns.by.node.metadata
    value = node.labels.get(turns.key, "none")
    look = command_line("kubectl", "get", "nodemaintenance", other, "-o", "yaml")
    return node_blocker(
        turns.held,
        "Turn",
        f"waits for its turn: NodeMaintenance {other} drains node {node.name}, whose {turns.key} is {value}",
        [Remedy("wait until that node is drained, or see what holds it", look)],
        other,
        resolution=AUTOMATIC,
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
    since = f" since {clock(meta.deletion_timestamp)}" if meta.deletion_timestamp is not None else ""
    text = f"its {kind} is over and deleted, and is held by {held}{since}; "
    look = command_line("kubectl", "get", request.kind.plural, meta.name, "-n", meta.namespace, "-o", "yaml")
    ways = [Remedy("ask the owner of these finalizers to remove them", look)]
    remedy = f"{ways[0].phrase}; the drain goes on without it"
    began = meta.deletion_timestamp
    if refused is None:
        text += "the pod is evicted without it"
        return blocker(
            pod, "RequestPinned", text, ways, meta.name, sentence=remedy, resolution=AUTOMATIC, since=began
        )
    found = covering(budgets, pod.metadata.namespace, pod.metadata.labels)
    text += f"the eviction without it was refused: {plain(refused, 500)}"
    if len(found) != 1:
        return blocker(pod, "RequestPinned", text, ways, meta.name, sentence=remedy, since=began)
    by_budget = from_budgets(pod, found)
    return replace(by_budget, kind="RequestPinned", name=meta.name, message=cut(text), since=began)


def from_refusal(
    pod: Pod,
    request: EvictionRequest,
    budgets: Sequence[PodDisruptionBudget],
    unscheduled: Sequence[Pod],
    workload: Workload | None,
) -> Blocker:
    """A pod whose eviction was refused."""
    meta = pod.metadata
    found = covering(budgets, meta.namespace, meta.labels)
    why = plain(request.status.message, 600) or "the eviction was refused"
    by = refusal_of(why)
    if by.name:  # a webhook, a policy or a missing right, whatever budgets allow
        return _refused_by(pod, "EvictionRefused", why, by)
    if not found:
        text = f"look at pod {meta.name} and the webhooks on evictions"
        return blocker(pod, "EvictionRefused", why, [Remedy(text, explain_command(pod))], sentence=text)
    return from_budgets(pod, found, request, unscheduled, workload)


RefusalBlocker = Callable[
    [Pod, EvictionRequest, Sequence[PodDisruptionBudget], Sequence[Pod], Workload | None], Blocker
]
"""`from_refusal`, or what remembers its answers."""


def blocking(
    pod: Pod,
    request: EvictionRequest | None,
    budgets: Sequence[PodDisruptionBudget],
    now: dt.datetime,
    unscheduled: Callable[[str], Sequence[Pod]] = lambda _: (),
    workload: Callable[[Pod], Workload | None] = lambda _: None,
    refusal: RefusalBlocker = from_refusal,
) -> Blocker | None:
    """What holds a pod whose eviction is requested, or that is terminating; None while it moves on.

    The budgets are those that select it, and perhaps others; only where one refuses are the pods without a
    node, and the workload of the pod, asked for.
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
            [
                Remedy(
                    f"make sure that the webhook of Vacate runs, then delete the {request.kind.kind}",
                    "kubectl get pods -A -l app.kubernetes.io/component=webhook",
                )
            ],
            since=admitted.last_transition_time,
        )
    stage = shown_stage(request)
    if stage is Stage.INTERCEPTING:
        return (
            failed_turn(pod, request)
            or silent(pod, request, now)
            or _unplaced(pod, request, now, unscheduled)
        )
    failed = request.status.pod_eviction_status
    if stage in (Stage.EVICTING, Stage.BLOCKED) and failed is not None and failed.failed_api_eviction_counter:
        return refusal(pod, request, budgets, unscheduled(pod.metadata.namespace), workload(pod))
    return None


def _overdue(pod: Pod, now: dt.datetime) -> Blocker | None:
    ends, meta = pod.metadata.deletion_timestamp, pod.metadata
    if ends is None or now - ends < TERMINATION_OVERDUE:
        return None
    late = f"the pod should have ended at {clock(ends)}"
    if meta.finalizers:
        names = listed([plain(one, 100) for one in meta.finalizers[:5]])
        look = command_line("kubectl", "get", "pod", meta.name, "-n", meta.namespace, "-o", "yaml")
        return blocker(
            pod, "Terminating", f"{late} and is held by finalizers: {names}",
            [Remedy("ask the owner of these finalizers to remove them", look)],
            plain(meta.finalizers[0], 317), since=ends,
        )  # fmt: skip
    node = pod.spec.node_name
    return blocker(
        pod, "Terminating", f"{late}, and its node has not reported its end",
        [Remedy(f"look at the kubelet of node {node}", command_line("kubectl", "describe", f"node/{node}"))],
        since=ends,
    )  # fmt: skip


def _unplaced(
    pod: Pod, request: EvictionRequest, now: dt.datetime, unscheduled: Callable[[str], Sequence[Pod]]
) -> Blocker | None:
    """A pod whose replacement is waited for, and has no node or cannot be created."""
    began, active, owner = assigned(request), request.status.active_interceptor_name, pod.metadata.controller
    since = began.last_transition_time if began else None
    if active not in REPLACING or since is None or owner is None or now - since < REPLACEMENT_EXPECTED:
        return None
    message = plain(request.status.message, 600)
    awaited = [
        one.metadata.name
        for one in unscheduled(pod.metadata.namespace)
        if one.metadata.controller is not None and one.metadata.controller.uid == owner.uid
    ]
    if awaited:
        text = f"make room for {_first_of(awaited)}: add a node that fits, or let another one take pods again"
        look = command_line("kubectl", "describe", "pod", awaited[0], "-n", pod.metadata.namespace)
        return blocker(pod, "Replacement", message, [Remedy(text, look)], active, sentence=text, since=since)
    if _NOT_CREATED in message:
        return _refused_by(pod, "Replacement", message, refusal_of(message)._replace(name=active))
    return None


def from_budgets(
    pod: Pod,
    found: Sequence[PodDisruptionBudget],
    request: EvictionRequest | None = None,
    unscheduled: Sequence[Pod] = (),
    workload: Workload | None = None,
) -> Blocker:
    """A pod whose eviction the budgets that select it refuse; of the pods without a node theirs count."""
    meta, names = pod.metadata, [one.metadata.name for one in found]
    if len(found) > 1:
        text = "change their selectors so that only one of them selects the pod"
        look = command_line("kubectl", "describe", "pdb", *names, "-n", meta.namespace)
        return blocker(
            pod,
            "DisruptionBudget",
            f"several disruption budgets select the pod, which the eviction API refuses: {listed(names)}",
            [Remedy(text, look)],
            ",".join(names),
            sentence=text,
        )
    awaited = [
        one.metadata.name for one in unscheduled if covering(found, meta.namespace, one.metadata.labels)
    ]
    message, remedies = allowance_of(found[0]), budget_remedies(pod, found[0], request, workload)
    remedy = budget_remedy(pod, found[0], awaited, request, workload)
    if request is not None:
        ended, again = unprepared_by(pod, request, workload)
        message = f"{message} {ended}".rstrip()
        if again is not None:
            remedies = [again, *remedies]
            remedy = f"{again.phrase}; or {remedy}"
    return blocker(
        pod,
        "DisruptionBudget",
        message,
        remedies,
        names[0],
        sentence=remedy,
        resolution=MANUAL if _is_never(found[0]) else AUTOMATIC,
    )


def _is_never(budget: PodDisruptionBudget) -> bool:
    return _demands_nothing(budget) or never_allows(budget)


def _demands_nothing(budget: PodDisruptionBudget) -> bool:
    return budget.spec.min_available is None and budget.spec.max_unavailable is None


def budget_remedy(
    pod: Pod,
    budget: PodDisruptionBudget,
    unscheduled: Sequence[str] = (),
    request: EvictionRequest | None = None,
    workload: Workload | None = None,
) -> str:
    """What would let the pod go that a budget holds, some of whose pods may have no node."""
    status, name = budget.status, budget.metadata.name
    if _demands_nothing(budget):
        return (
            f"disruption budget {name} says neither minAvailable nor maxUnavailable, and so never allows an "
            "eviction: set one of them"
        )
    if never_allows(budget):
        count = status.expected_pods
        pods = "its only pod" if count == 1 else f"all of its {count} pods"
        way = opt_in(pod, budget, request, workload)
        first = f"{way.phrase}; or " if way else ""
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
    replaced = request.status.active_interceptor_name in REPLACING
    moments = [began.last_transition_time + REPLACEMENT_EXPECTED if replaced else None]
    moments.append(response_expected(request))
    return min((one for one in moments if one is not None), default=None)
