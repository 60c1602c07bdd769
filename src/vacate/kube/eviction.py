"""Whether the eviction API would let a pod go now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.objects import Obj, dig, name_of, terminating
from vacate.api.selectors.labels import NOTHING, Selector, selector_of
from vacate.api.untyped import has_condition
from vacate.errors import ApiError
from vacate.kube import evictionerrors as refusals

MAX_DISRUPTED_PODS = 2000
"""More approved evictions than this, unseen by the disruption controller, and the next ones must wait."""


_BYPASSING_PHASES = ("Pending", "Succeeded", "Failed")


def bypasses_budgets(pod: Obj) -> bool:
    """Whether nobody's budget is touched: the pod has not started, has ended, or is going anyway."""
    return dig(pod, "status", "phase") in _BYPASSING_PHASES or terminating(pod)


def selects(budget: Obj, pod: Obj) -> bool:
    """Whether the budget covers the pod; one with a broken selector, or none, covers nothing."""
    return selector_of_budget(budget).matches(dig(pod, "metadata", "labels") or {})


def selector_of_budget(budget: Obj) -> Selector:
    """Which pods the budget covers."""
    try:
        return selector_of(dig(budget, "spec", "selector"))
    except ApiError:
        return NOTHING


@dataclass(frozen=True, slots=True)
class CoveringBudget:
    """The one budget that covers a pod, and whether its eviction spends from it: an unready pod's may not."""

    budget: Obj
    spends: bool


def check_eviction(pod: Obj, budgets: Sequence[Obj]) -> None:
    """Raise the refusal that the eviction API would answer now, given the budgets that cover the pod."""
    if not bypasses_budgets(pod):
        budget_to_spend(pod, budgets)


def budget_to_spend(pod: Obj, budgets: Sequence[Obj]) -> CoveringBudget | None:
    """The budget that a running pod's eviction is counted against; raises the refusal if it may not go."""
    if len(budgets) > 1:
        raise refusals.several_budgets()
    if not budgets:
        return None
    budget = budgets[0]
    if not has_condition(pod, "Ready") and _tolerates_unready(budget):
        return CoveringBudget(budget, spends=False)
    check_budget(budget)
    return CoveringBudget(budget, spends=True)


def check_budget(budget: Obj) -> None:
    """Raise the refusal that the budget's status calls for."""
    name, status = name_of(budget), budget.get("status") or {}
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < (dig(budget, "metadata", "generation") or 0):
        raise refusals.still_processed(name)
    if allowed < 0:
        raise refusals.negative_budget(name)
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED_PODS:
        raise refusals.too_many_unconfirmed(name)
    if allowed == 0:
        raise refusals.spent_budget(name, status)


def _tolerates_unready(budget: Obj) -> bool:
    """Whether an unready pod may go without spending: always, or while the others are healthy enough."""
    if dig(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = int(status.get("desiredHealthy", 0))
    return desired > 0 and int(status.get("currentHealthy", 0)) >= desired
