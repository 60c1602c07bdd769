"""Events of the disruption controller."""

from __future__ import annotations

from vacate.api.events import WARNING, EventNote, regarding
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.embedded.controllers.disruption.budget import BudgetEvent


def about(budget: PodDisruptionBudget, event: BudgetEvent) -> EventNote:
    """A decision's event as a note about the budget, or about the pod that it names."""
    subject = regarding(PODS, event.pod) if event.pod else regarding(PODDISRUPTIONBUDGETS, budget)
    return EventNote(subject, event.type, event.reason, event.message)


def several_budgets(pod: Pod, chosen: str) -> EventNote:
    """Evictions of the pod will be refused."""
    meta = pod.metadata
    message = (
        f'Pod "{meta.namespace}"/"{meta.name}" matches multiple PodDisruptionBudgets.  '
        f'Chose "{chosen}" arbitrarily.'
    )
    return EventNote(regarding(PODS, pod), WARNING, "MultiplePodDisruptionBudgets", message)
