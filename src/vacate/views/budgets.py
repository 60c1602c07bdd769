"""What disruption budgets allow for one pod's eviction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from vacate.api.selectors.labels import selector_of
from vacate.api.types.core import Pod
from vacate.api.types.policy import PodDisruptionBudget
from vacate.errors import ApiError
from vacate.eviction.attempts import why_refused
from vacate.kube.eviction import check_eviction
from vacate.views.phrases import counted

_NAMED = re.compile(r"(?:The disruption budget |poddisruptionbudget\.policy \")([a-z0-9][a-z0-9.-]*)")


def covering(
    budgets: Sequence[PodDisruptionBudget], namespace: str, labels: Mapping[str, str]
) -> tuple[PodDisruptionBudget, ...]:
    """The budgets that count a pod of these labels; one with a broken selector, or none, counts nothing."""
    own = [budget for budget in budgets if budget.metadata.namespace == namespace]
    return tuple(sorted((b for b in own if _selects(b, labels)), key=lambda one: one.metadata.name))


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


def _selects(budget: PodDisruptionBudget, labels: Mapping[str, str]) -> bool:
    try:
        return selector_of(budget.spec.selector).matches(labels)
    except ApiError:
        return False
