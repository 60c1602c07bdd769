"""Whether a pod may be evicted now, and what the eviction costs its disruption budget.

The order of questions is part of the contract: pods that are no longer, or not yet, of use to anyone go
without asking a budget; then the budgets are counted; then comes the pod's own health; the budget's last.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vacate.api.labels import selector_of
from vacate.api.objects import Obj, dig, name_of
from vacate.api.times import format_time
from vacate.decide import evictionrefusals as refusals
from vacate.decide.budget import allowed_condition
from vacate.decide.budgetpatch import condition_dict
from vacate.decide.conditions import set_condition, with_pod_condition
from vacate.decide.deleteoptions import DeleteOptions
from vacate.decide.deletion import terminating
from vacate.errors import ApiError, Conflict

MAX_DISRUPTED_PODS = 2000
"""More approved evictions than this, unseen by the disruption controller, and the next ones must wait."""

_BYPASSING_PHASES = ("Pending", "Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Eviction:
    """Yes: delete the pod with these options, after writing this budget where there is one to spend from."""

    options: DeleteOptions
    budget: Obj | None = None
    spared: str = ""  # the budget that an unready pod did not have to spend from

    def explain(self, error: ApiError, asked: DeleteOptions) -> ApiError:
        """What the client is told when the deletion fails.

        An unready pod goes only as long as it is unready. A conflict may mean that it has changed, so the
        client is sent round again, unless it named a resourceVersion itself.
        """
        if isinstance(error, Conflict) and self.spared and asked.preconditions.resource_version is None:
            return refusals.still_processed(self.spared)
        return error


def merge_dry_run(asked: tuple[str, ...], options: DeleteOptions | None) -> DeleteOptions:
    """The options with the query's dry run; where both have one they must agree."""
    if options is None:
        return DeleteOptions(dry_run=asked)
    if not options.dry_run:
        return replace(options, dry_run=asked)
    if asked and asked != options.dry_run:
        raise refusals.different_dry_runs(asked, options.dry_run)
    return options


def bypasses_budgets(pod: Obj) -> bool:
    """Whether nobody's budget is touched: the pod has not started, has ended, or is going anyway."""
    return dig(pod, "status", "phase") in _BYPASSING_PHASES or terminating(pod)


def selects(budget: Obj, pod: Obj) -> bool:
    """Whether the budget covers the pod; one with a broken selector, or none, covers nothing."""
    try:
        selector = selector_of(dig(budget, "spec", "selector"))
    except ApiError:
        return False
    return selector.matches(dig(pod, "metadata", "labels") or {})


def decide_eviction(pod: Obj, budgets: Sequence[Obj], options: DeleteOptions, now: dt.datetime) -> Eviction:
    """How the eviction goes on, given the budgets that cover the pod; raises the refusal if it does not."""
    if bypasses_budgets(pod):
        return Eviction(_pinned_if_unstarted(pod, options))
    found = budget_to_spend(pod, budgets)
    if found is None:
        return Eviction(options)
    if not found.spends:
        return Eviction(_pinned(pod, options), spared=name_of(found.budget))
    return Eviction(options, None if options.is_dry_run else spend(found.budget, name_of(pod), now))


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
    if not ready(pod) and _tolerates_unready(budget):
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


def spend(budget: Obj, pod_name: str, now: dt.datetime) -> Obj:
    """The budget after one more disruption; the input stays as it is."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status.get("disruptionsAllowed", 0) - 1
    if status["disruptionsAllowed"] == 0:
        said = allowed_condition(0, status.get("observedGeneration", 0))
        new = {**condition_dict(said), "lastTransitionTime": format_time(now)}
        status["conditions"] = set_condition(status.get("conditions") or (), new)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: format_time(now)}
    return {**budget, "status": status}


def mark_for_eviction(pod: Obj, now: dt.datetime) -> Obj:
    """The pod with the condition that tells others why it goes."""
    return with_pod_condition(
        pod, "DisruptionTarget", now, reason="EvictionByEvictionAPI", message="Eviction API: evicting"
    )


def ready(pod: Obj) -> bool:
    """Whether the Ready condition is True."""
    conditions = dig(pod, "status", "conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _tolerates_unready(budget: Obj) -> bool:
    """Whether an unready pod may go without spending: always, or while the others are healthy enough."""
    if dig(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = int(status.get("desiredHealthy", 0))
    return desired > 0 and int(status.get("currentHealthy", 0)) >= desired


def _pinned(pod: Obj, options: DeleteOptions) -> DeleteOptions:
    """The deletion holds only for the state that was decided about."""
    version = dig(pod, "metadata", "resourceVersion")
    return replace(options, preconditions=replace(options.preconditions, resource_version=version))


def _pinned_if_unstarted(pod: Obj, options: DeleteOptions) -> DeleteOptions:
    """A pending pod may start at any moment and then counts; what has ended stays ended."""
    unstarted = dig(pod, "status", "phase") == "Pending" and not terminating(pod)
    if unstarted and options.preconditions.resource_version is None:
        return _pinned(pod, options)
    return options
