"""Whether a pod may be evicted now, and what the eviction costs its disruption budget.

The order of questions is part of the contract: pods that are no longer, or not yet, of use to anyone go
without asking a budget; then the budgets are counted; then comes the pod's own health; the budget's last.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vacate.api.objects import Obj, dig, name_of, terminating
from vacate.api.options import DeleteOptions
from vacate.api.times import format_time
from vacate.embedded.controllers.disruption.budget import allowed_condition
from vacate.errors import ApiError, Conflict
from vacate.kube import evictionerrors as refusals
from vacate.kube.conditions import condition_object, set_condition, with_pod_condition
from vacate.kube.eviction import budget_to_spend, bypasses_budgets
from vacate.kube.podend import DISRUPTION_TARGET


@dataclass(frozen=True, slots=True)
class Eviction:
    """Yes: delete the pod with these options, after writing this budget where there is one to spend from."""

    options: DeleteOptions
    budget: Obj | None = None
    spared: str = ""  # the budget that an unready pod did not have to spend from

    def explain(self, error: ApiError, asked: DeleteOptions) -> ApiError:
        """The answer to the client when the deletion fails.

        An unready pod goes only as long as it is unready. A conflict may mean that it has changed, so the
        client is sent round again, unless it named a resourceVersion itself.
        """
        if isinstance(error, Conflict) and self.spared and asked.resource_version is None:
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


def spend(budget: Obj, pod_name: str, now: dt.datetime) -> Obj:
    """The budget after one more disruption; the input stays as it is."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status.get("disruptionsAllowed", 0) - 1
    if status["disruptionsAllowed"] == 0:
        disallowed = allowed_condition(0, status.get("observedGeneration", 0))
        new = {**condition_object(disallowed), "lastTransitionTime": format_time(now)}
        status["conditions"] = set_condition(status.get("conditions") or (), new)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: format_time(now)}
    return {**budget, "status": status}


def mark_for_eviction(pod: Obj, now: dt.datetime) -> Obj:
    """The pod with the condition that tells others why it goes."""
    return with_pod_condition(
        pod, DISRUPTION_TARGET, now, reason="EvictionByEvictionAPI", message="Eviction API: evicting"
    )


def _pinned(pod: Obj, options: DeleteOptions) -> DeleteOptions:
    """The deletion holds only for the state that was decided about."""
    return replace(options, resource_version=dig(pod, "metadata", "resourceVersion"))


def _pinned_if_unstarted(pod: Obj, options: DeleteOptions) -> DeleteOptions:
    """A pending pod may start at any moment and then counts; what has ended stays ended."""
    unstarted = dig(pod, "status", "phase") == "Pending" and not terminating(pod)
    if unstarted and options.resource_version is None:
        return _pinned(pod, options)
    return options
