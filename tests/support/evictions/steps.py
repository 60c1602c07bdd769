"""In which order the steps of a list happened, by what a cluster's objects looked like when."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from support.evictions.namespace import EvictionNamespace
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    NODES,
    PODS,
    REPLICASETS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.options import WatchOptions

FOLLOWED = (NODES, PODS, DEPLOYMENTS, REPLICASETS, HORIZONTALPODAUTOSCALERS, EVICTIONREQUESTS)
Test = Callable[[Obj], bool]
Moment = tuple[Kind, Test]
"""Since which version of which object a step has happened."""


class Steps:
    """Every version of the objects of a namespace, and of nodes."""

    def __init__(self) -> None:
        self._versions: dict[str, list[Obj]] = {kind.resource: [] for kind in FOLLOWED}

    async def follow(self, place: EvictionNamespace, kind: Kind, since: str) -> None:
        namespace = place.namespace if kind.namespaced else ""
        async with contextlib.aclosing(
            place.client.watch(kind, namespace, WatchOptions(resource_version=since))
        ) as watch:
            async for event in watch:
                if event.object is not None:
                    self._versions[kind.resource].append(event.object)

    def first(self, kind: Kind, test: Test, after: int = 0) -> int:
        """The revision of the first version, later than another, that passes; zero where none does."""
        for obj in self._versions[kind.resource]:
            if (revision := int(obj["metadata"]["resourceVersion"])) > after and test(obj):
                return revision
        return 0

    def order(self, moments: Mapping[str, Sequence[Moment]]) -> list[str]:
        """The steps by the revisions at which all that they say has happened; one that has not is missing.

        What a step says twice of the same kind happened one after the other.
        """
        found: dict[str, int] = {}
        for step, expected in moments.items():
            revisions: list[int] = []
            for kind, test in expected:
                revisions.append(self.first(kind, test, revisions[-1] if revisions else 0))
            if all(revisions):
                found[step] = revisions[-1]
        return sorted(found, key=lambda step: found[step])


@contextlib.asynccontextmanager
async def following(place: EvictionNamespace) -> AsyncIterator[Steps]:
    """Notes every change from now on."""
    steps, tasks = Steps(), []
    for kind in FOLLOWED:
        listing = await place.client.list(kind, place.namespace if kind.namespaced else "")
        tasks.append(asyncio.create_task(steps.follow(place, kind, listing.resource_version)))
    try:
        yield steps
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
