"""Marks pods that are to go first, by a low deletion cost, and takes that back."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.client import Client
from vacate.errors import Conflict, NotFound
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.patches import guarded
from vacate.kube.surge import CHOSEN_COST, LOWEST_COST, MARKED, OUR_COSTS, REQUESTED_COST, is_marked


class PodMarks:
    """Writes marks. The cost that the user had set is kept beside it, to be restored."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set(self, pod: Pod, cost: str = LOWEST_COST) -> None:
        """Mark the pod, and return when the server has it."""
        if is_marked(pod, cost):
            return
        annotations = pod.metadata.annotations
        kept = annotations[MARKED] if is_marked(pod, *OUR_COSTS) else annotations.get(DELETION_COST, "")
        await self._annotate(pod, {DELETION_COST: cost, MARKED: kept})

    async def follow(self, pods: Iterable[Pod], requested: Collection[str], chosen: Collection[str]) -> None:
        """Mark the pods under request, and restore the cost of those that no longer are.

        A cost that the user sets meanwhile stays. Pods that go by a change of the count are left alone.
        """
        for pod in pods:
            uid, ours = pod.metadata.uid, is_marked(pod, REQUESTED_COST, CHOSEN_COST)
            if uid not in requested:
                if ours:
                    await self.take_back(pod)
            elif ours or MARKED not in pod.metadata.annotations:
                with contextlib.suppress(Conflict, NotFound):
                    await self.set(pod, CHOSEN_COST if uid in chosen else REQUESTED_COST)

    async def spare(self, pods: Iterable[Pod], requested: Collection[str]) -> None:
        """Have these stay though an earlier change of the count was to remove them, and has not."""
        for pod in pods:
            if not is_marked(pod, LOWEST_COST):
                continue
            if pod.metadata.uid in requested:
                await self.set(pod, REQUESTED_COST)
            else:
                await self._restore(pod)

    async def take_back(self, pod: Pod) -> None:
        """Restore the user's cost, while the mark is ours still."""
        if MARKED not in pod.metadata.annotations or pod.terminating:
            return
        with contextlib.suppress(Conflict, NotFound):  # the informer will bring what is new
            await self._restore(pod)

    async def _restore(self, pod: Pod) -> None:
        change: Obj = {MARKED: None}
        if is_marked(pod, *OUR_COSTS):
            change[DELETION_COST] = pod.metadata.annotations[MARKED] or None
        await self._annotate(pod, change)

    async def _annotate(self, pod: Pod, annotations: Obj) -> None:
        meta = pod.metadata
        patch = guarded(meta, {"metadata": {"annotations": annotations}})
        await self._client.patch(PODS, meta.name, patch, meta.namespace)
