"""What still runs here of pods that the API server no longer has.

A node that is ready is believed to remove pods only after their processes. It is not true of a pod that
somebody removed while this node was cut off or its agent was away. So the node compares, with a list that is
read for this, before it says that it is ready.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import PODS
from vacate.api.options import ListOptions
from vacate.client.client import Client
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.podworker import PodWorker

_NAMED = 3


class Orphans:
    """Compares what runs with the pods of the API server."""

    def __init__(self, client: Client, pods: PodReconciler, node: str) -> None:
        self._client = client
        self._pods = pods
        self._selector = f"spec.nodeName={node}"

    async def find(self) -> list[PodWorker]:
        """The pods that run here and are gone from the API server, or have come back under another UID.

        A cache does not do: after a partition it may not know yet what was removed. A pod that is held was
        bound to this node before the list is read, so that it has ended for good where the list lacks it.
        """
        running = [one for one in self._pods.held.values() if one.progress.busy]
        if not running:
            return []
        listing = await self._client.list(PODS, options=ListOptions(field_selector=self._selector))
        there = {one["metadata"]["uid"] for one in listing.items}
        return [one for one in running if one.uid not in there and one.progress.busy]

    def end(self, found: Sequence[PodWorker]) -> None:
        """Kill them. May be repeated: one that was being started runs by then."""
        for held in found:
            self._pods.kill(held)


def why_not_ready(found: Sequence[PodWorker]) -> str:
    """The message of the condition Ready, for as long as something is left; empty where nothing is."""
    if not found:
        return ""
    names = sorted(str(one.key) for one in found)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        "processes of pods that were removed from the API server while this node was away have not ended: "
        f"{', '.join(names[:_NAMED])}{more}"
    )
