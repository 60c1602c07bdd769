"""Marks pods that are to go first, by the lowest deletion cost, and takes that back."""

from __future__ import annotations

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.client import Client
from vacate.errors import Conflict, NotFound
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.surge import LOWEST_COST, MARKED


class PodMarks:
    """Writes marks. The cost that the user had set is kept beside it, to be restored."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set(self, pod: Pod) -> None:
        """Mark the pod, and return when the server has it."""
        annotations = pod.metadata.annotations
        if annotations.get(DELETION_COST) == LOWEST_COST:
            return
        marked = {DELETION_COST: LOWEST_COST, MARKED: annotations.get(DELETION_COST, "")}
        await self._annotate(pod, marked)

    async def take_back(self, pod: Pod) -> None:
        """Restore the user's cost, while the mark is ours still."""
        annotations = pod.metadata.annotations
        if MARKED not in annotations or pod.terminating:
            return
        change: Obj = {MARKED: None}
        if annotations.get(DELETION_COST) == LOWEST_COST:
            change[DELETION_COST] = annotations[MARKED] or None
        try:
            await self._annotate(pod, change)
        except (Conflict, NotFound):
            return  # it has changed or gone; the informer will bring what is new

    async def _annotate(self, pod: Pod, annotations: Obj) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid, "annotations": annotations}}
        await self._client.patch(PODS, meta.name, patch, meta.namespace)
