"""Disruption budgets: their condition, and what they let go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vacate.api.selectors.labels import selector_of
from vacate.api.types import LabelSelector, PodDisruptionBudget
from vacate.errors import ApiError
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value

DISRUPTION_ALLOWED = "DisruptionAllowed"


SUFFICIENT_PODS = "SufficientPods"


INSUFFICIENT_PODS = "InsufficientPods"


SYNC_FAILED = "SyncFailed"


def desired_healthy(budget: PodDisruptionBudget, count: int) -> int:
    """How many of so many pods must be healthy, percentages rounded up; may raise InvalidIntOrPercent."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(count - scaled_value(spec.max_unavailable, count, round_up=True), 0)
    return scaled_value(spec.min_available or 0, count, round_up=True)


def allowed(budget: PodDisruptionBudget | None) -> int:
    """How many evictions the budget lets through now: none while its status is older than its spec."""
    if budget is None or budget.status.observed_generation < budget.metadata.generation:
        return 0
    return max(budget.status.disruptions_allowed, 0)


def lets_unready_go(budget: PodDisruptionBudget | None) -> bool:
    """Whether the budget lets pods go that are not ready, also where it allows no disruption.

    They do not count as one, while so many others are healthy as the budget demands, or by its policy.
    """
    if budget is None:
        return False
    enough = 0 < budget.status.desired_healthy <= budget.status.current_healthy
    return enough or budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"


def holding(
    budgets: Iterable[PodDisruptionBudget], labels: Mapping[str, str], surplus: int = 0
) -> list[PodDisruptionBudget]:
    """The budgets that refuse the eviction of a pod with these labels, also with so many pods fewer wanted.

    A surge that does not become available keeps a budget closed that would be open without it.
    """
    found = [one for one in budgets if selects(one, labels)]
    if len(found) == 1 and (allowed(found[0]) or _allowed_without(found[0], surplus)):
        return []
    return found  # where several cover a pod, its eviction is refused in any case


def selects(budget: PodDisruptionBudget, labels: Mapping[str, str]) -> bool:
    """Whether the budget is about a pod with these labels; a selector that cannot be read selects none."""
    written = budget.spec.selector
    if written is not None and _differs(written, labels):
        return False
    try:
        return selector_of(written).matches(labels)
    except ApiError:
        return False


def _differs(written: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a label shows at once that the selector does not match: of many budgets most are like that."""
    for key, value in written.match_labels.items():  # noqa: SIM110  a generator takes twice as long
        if labels.get(key) != value:
            return True
    return False


def _allowed_without(budget: PodDisruptionBudget, surplus: int) -> bool:
    status = budget.status
    if not surplus or status.observed_generation < budget.metadata.generation:
        return False
    try:
        desired = desired_healthy(budget, max(status.expected_pods - surplus, 0))
    except InvalidIntOrPercent:
        return False
    return status.expected_pods > surplus and status.current_healthy > desired
