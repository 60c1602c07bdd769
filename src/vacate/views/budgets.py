"""What disruption budgets allow for one pod's eviction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import msgspec

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.policy import PodDisruptionBudget
from vacate.api.workloads import DELETE_PREPARED, DEPLOYMENT_INTERCEPTOR, OWN_RESPONDERS, SURGE_INTERCEPTORS
from vacate.errors import ApiError
from vacate.eviction.attempts import why_refused
from vacate.eviction.dialects.turn_conditions import is_prepared, unsuccessful_turns
from vacate.eviction.records.history import PastTurn, TurnResult
from vacate.kube.budgets import selects
from vacate.kube.eviction import check_eviction
from vacate.kube.workloads import Workload
from vacate.views.model import Remedy
from vacate.views.phrases import command_line, counted, listed
from vacate.views.replacing import deployment_name, interceptors_on, patch_command, start_first

_NAMED = re.compile(r"(?:The disruption budget |poddisruptionbudget\.policy \")([a-z0-9][a-z0-9.-]*)")


class Means(Enum):
    """How a pod goes."""

    EVICT = "Evict"
    REPLACE = "Replace"  # a replacement is started first
    DELETE_PREPARED = "DeletePrepared"  # past its own budget, as its owner allows


@dataclass(frozen=True, slots=True)
class Forecast:
    """How a pod would go past the budgets that refuse its eviction now; and why not by a replacement."""

    means: Means = Means.EVICT
    declined: str = ""
    workload: Workload | None = None  # as it was read for this

    def phrase(self, budgets: str) -> str:
        """What would happen, after the name of the pod."""
        match self.means:
            case Means.REPLACE:
                return "evicted once a replacement is available"
            case Means.DELETE_PREPARED:
                return f"deleted past disruption budget {budgets} once prepared"
            case Means.EVICT:
                return f"blocked by disruption budget {budgets}"

    @property
    def sentence(self) -> str:
        """How it goes although its budget refuses now; empty where it does not."""
        match self.means:
            case Means.REPLACE:
                return "A replacement would be started first, so that the pod can go."
            case Means.DELETE_PREPARED:
                return "The pod would be deleted past its budget once its interceptors have prepared it."
            case Means.EVICT:
                declined = self.declined
                return f"No replacement would be started first: {declined}." if declined else ""


def never_allows(budget: PodDisruptionBudget) -> bool:
    """Whether the budget needs every pod that it counts, so that waiting does not help."""
    return budget.status.expected_pods <= budget.status.desired_healthy


def budget_remedies(
    pod: Pod | None,
    budget: PodDisruptionBudget,
    request: EvictionRequest | None = None,
    workload: Workload | None = None,
) -> list[Remedy]:
    """What lets a pod go that a budget holds: what its workload can opt in to first, then what costs more.

    The workload is None where it was not read: then nothing is known that would keep it from an opt-in.
    """
    meta = budget.metadata
    look = Remedy(
        "see which pods the budget counts; more healthy pods allow more disruptions",
        command_line("kubectl", "describe", "pdb", meta.name, "-n", meta.namespace),
    )
    if not never_allows(budget):
        return [look]
    way = opt_in(pod, budget, request, workload) if pod is not None else None
    ways = [more_replicas(pod, budget, workload), one_at_a_time(budget)]
    if budget.status.expected_pods > 1 or (workload is not None and workload.is_recreated):
        ways.reverse()  # with several pods nothing is interrupted, and what is recreated always is
    return [one for one in (way, *ways, look) if one is not None]


def one_at_a_time(budget: PodDisruptionBudget) -> Remedy:
    """The change of a budget that lets one of its pods go, and the next when that one is replaced."""
    meta = budget.metadata
    only = budget.status.expected_pods <= 1
    text = "let its only pod be away until it is replaced" if only else "let one pod be away at a time"
    return Remedy(text, patch_command("pdb", meta.name, meta.namespace, {"spec": ONE_AT_A_TIME}))


ONE_AT_A_TIME = {"minAvailable": None, "maxUnavailable": 1}


def more_replicas(
    pod: Pod | None, budget: PodDisruptionBudget, workload: Workload | None = None
) -> Remedy | None:
    """One more replica than the budget demands; None where a number of its own, or no workload, says so."""
    found = scaled_workload(pod) if pod is not None else None
    if found is None or not isinstance(budget.spec.min_available, int):
        return None  # a percentage, and a number that may be away, demand as many more
    (kind, name), wanted, namespace = found, budget.status.desired_healthy + 1, budget.metadata.namespace
    command = command_line("kubectl", "scale", kind, name, f"--replicas={wanted}", "-n", namespace)
    if workload is not None and workload.autoscalers:
        scaler = workload.autoscaler
        if scaler is None:
            return None
        # A count would be set back.
        limits = {"minReplicas": wanted, "maxReplicas": max(wanted, scaler.spec.max_replicas)}
        command = patch_command("hpa", scaler.metadata.name, namespace, {"spec": limits})
    return Remedy("add a replica; the budget then has one to spare", command)


def scaled_workload(pod: Pod) -> tuple[str, str] | None:
    """Kind and name of the Deployment or StatefulSet of a pod."""
    owner = pod.metadata.controller
    if owner is not None and owner.kind == "StatefulSet":
        return "statefulset", owner.name
    name = deployment_name(pod)
    return ("deployment", name) if name else None


def opt_in(
    pod: Pod,
    budget: PodDisruptionBudget,
    request: EvictionRequest | None = None,
    workload: Workload | None = None,
) -> Remedy | None:
    """What the workload of a pod can opt in to, where its budget never allows an eviction.

    None for workloads that can do neither, for those that have opted in already, and for pods that their
    interceptors have not prepared: to let prepared pods go would change nothing.
    """
    owner, meta = pod.metadata.controller, pod.metadata
    if owner is None or not never_allows(budget):
        return None
    if request is not None and not request.kind.custom:  # the responders of a pod never change
        return None if workload is not None and workload.declines else restarted(pod)
    if (way := start_first(pod, workload)) is not None:
        return way
    prepared = request is None or is_prepared(request)
    found = scaled_workload(pod)
    cannot_start_first = owner.kind == "StatefulSet" or (workload is not None and workload.is_recreated)
    single = cannot_start_first and budget.status.expected_pods == 1
    if found is not None and single and interceptors_on(pod) - {*SURGE_INTERCEPTORS} and prepared:
        words = "annotate", *found, f"{DELETE_PREPARED}=true", "-n", meta.namespace
        command = command_line("kubectl", *words)
        return Remedy("let it be deleted once its interceptors have prepared it", command)
    return None


def restarted(pod: Pod) -> Remedy | None:
    """Have the Deployment create its pods again, elsewhere; None where that replaces no pod first.

    New pods list the responders of a workload that has opted in, and a rollout asks no budget.
    """
    name = deployment_name(pod)
    if not name or OWN_RESPONDERS[DEPLOYMENT_INTERCEPTOR] in {
        one.name for one in pod.spec.eviction_responders
    }:
        return None
    words = "rollout", "restart", f"deployment/{name}", "-n", pod.metadata.namespace
    return Remedy(
        "create its pods again; a rolling update does so before the old ones go",
        command_line("kubectl", *words),
    )


def unprepared_by(
    pod: Pod, request: EvictionRequest, workload: Workload | None = None
) -> tuple[str, Remedy | None]:
    """Which interceptors have not prepared a pod that a budget holds, and what helps; nothing where each has.

    No other turn helps where the workload itself is why no replacement was started.
    """
    turns, meta = unsuccessful_turns(request), pod.metadata
    ended = " ".join(map(_ended, turns))
    in_vain = SURGE_INTERCEPTORS if workload is not None and workload.declines else ()
    worth = [turn.interceptor for turn in turns if turn.interceptor not in in_vain]
    if not worth:
        return ended, None
    retry = command_line("vacate", "retry", meta.name, "-n", meta.namespace)
    text = f"remove what kept {listed(worth)} from preparing the pod, for another turn at once"
    return ended, Remedy(text, retry)


def _ended(turn: PastTurn) -> str:
    how = turn.result.value if turn.result in (TurnResult.DECLINED, TurnResult.FAILED) else "timed out"
    because = f": {turn.message.rstrip('.')}" if turn.message else ""
    return f"{turn.interceptor} {how}{because}."


def covering(
    budgets: Sequence[PodDisruptionBudget], namespace: str, labels: Mapping[str, str]
) -> tuple[PodDisruptionBudget, ...]:
    """The budgets that count a pod of these labels; one with a broken selector, or none, counts nothing."""
    own = [budget for budget in budgets if budget.metadata.namespace == namespace]
    return tuple(sorted((b for b in own if selects(b, labels)), key=lambda one: one.metadata.name))


def would_refuse(pod: Pod, budgets: Sequence[PodDisruptionBudget]) -> str:
    """Why the eviction API would refuse now, in its own words; empty where it would accept."""
    try:
        check_eviction(msgspec.to_builtins(pod), [msgspec.to_builtins(one) for one in budgets])
    except ApiError as refusal:
        return why_refused(refusal)
    return ""


def allowance_of(budget: PodDisruptionBudget) -> str:
    """What the budget allows, with its numbers."""
    status, name = budget.status, budget.metadata.name
    return (
        f"Disruption budget {name} needs {counted(status.desired_healthy, 'healthy pod')}, has "
        f"{status.current_healthy}, and allows {counted(status.disruptions_allowed, 'disruption')} now."
    )


def budgets_named_in(message: str) -> tuple[str, ...]:
    """The budgets that a refusal named, for users who may not read budgets."""
    return tuple(dict.fromkeys(name.rstrip(".") for name in _NAMED.findall(message)))
