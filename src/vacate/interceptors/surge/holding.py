"""What would keep a pod whose replacement does not come: whether giving the surge up would gain anything."""

from __future__ import annotations

from collections.abc import Collection

from vacate.api.kinds import PODDISRUPTIONBUDGETS
from vacate.api.types import Deployment, Pod, PodDisruptionBudget
from vacate.api.workloads import DELETE_PREPARED, SURGE_INTERCEPTORS
from vacate.cache.indexes import SELECTING, budgets_of
from vacate.kube.budgets import holding
from vacate.kube.surge import SurgeRecord
from vacate.runtime.dependencies import Dependencies
from vacate.views.phrases import listed


class Holding:
    """Reads budgets, which are watched: one that opens ends the wait at once."""

    def __init__(self, deps: Dependencies) -> None:
        self._budgets = deps.informers.informer(
            PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING
        ).reader

    def why(
        self,
        pod: Pod,
        deployment: Deployment,
        record: SurgeRecord | None,
        interceptors: Collection[str],
        *,
        again: bool,
    ) -> str:
        """Why the pod would stay without a replacement; empty where it would not, or others are to be asked.

        Other interceptors get their first turn in any case, and another one where the owner lets pods go past
        budgets that are prepared.
        """
        others = set(interceptors) - {*SURGE_INTERCEPTORS}
        if others and (not again or deployment.metadata.annotations.get(DELETE_PREPARED) == "true"):
            return ""
        surplus = len(record.pods) if record is not None else 0
        selecting = budgets_of(self._budgets, pod.metadata.namespace, pod.metadata.labels)
        found = holding(selecting, pod.metadata.labels, surplus)
        names = listed([one.metadata.name for one in found])
        if len(found) > 1:
            return f"the disruption budgets {names} select the pod, and a pod with several is never evicted"
        return f"disruption budget {names} would refuse the eviction" if found else ""
