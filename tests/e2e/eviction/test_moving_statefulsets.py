"""Members of a StatefulSet are evicted in order, with the embedded and with the real controller."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace, is_ready
from vacate.api.kinds import EVICTIONREQUESTS, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.options import WatchOptions
from vacate.api.workloads import OPT_IN
from vacate.testing import statefulset


async def ready_statefulset(place: EvictionNamespace, replicas: int, **parts: Any) -> list[Obj]:
    """A StatefulSet whose members are ready and registered, the lowest ordinal first."""
    made = statefulset(
        "db",
        namespace=place.namespace,
        replicas=replicas,
        metadata={"annotations": {OPT_IN: "true"}},
        **parts,
    )
    await place.client.create(STATEFULSETS, made, place.namespace)

    async def registered() -> list[Obj]:
        found = (await place.client.list(PODS, place.namespace)).items
        notes = [one["metadata"].get("annotations") or {} for one in found if is_ready(one)]
        done = len(found) == replicas == sum("vacate.dev/registered" in one for one in notes)
        return sorted(found, key=lambda one: str(one["metadata"]["name"])) if done else []

    return await place.until(registered, "all members are ready and registered")


@contextlib.asynccontextmanager
async def following(place: EvictionNamespace) -> AsyncIterator[tuple[list[str], list[int]]]:
    """The names of pods whose deletion begins, in order, and how many were healthy after each change."""
    listing = await place.client.list(PODS, place.namespace)
    known = {one["metadata"]["uid"]: one for one in listing.items}
    going: dict[str, str] = {}
    order: list[str] = []
    counts: list[int] = []

    async def follow() -> None:
        async with contextlib.aclosing(
            place.client.watch(PODS, place.namespace, WatchOptions(resource_version=listing.resource_version))
        ) as watch:
            async for event in watch:
                assert event.object is not None
                meta = event.object["metadata"]
                known.pop(meta["uid"], None)
                if event.type != "DELETED":
                    known[meta["uid"]] = event.object
                if meta.get("deletionTimestamp") and meta["uid"] not in going:
                    going[meta["uid"]] = meta["name"]
                    order.append(meta["name"])
                healthy = [
                    one
                    for one in known.values()
                    if is_ready(one) and not one["metadata"].get("deletionTimestamp")
                ]
                counts.append(len(healthy))

    task = asyncio.create_task(follow())
    try:
        yield order, counts
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def whole(place: EvictionNamespace, old: list[Obj], replaced: int) -> None:
    """All members are ready again, so many of them new."""
    before = {one["metadata"]["uid"] for one in old}

    async def look() -> bool:
        found = (await place.client.list(PODS, place.namespace)).items
        ready = [one for one in found if is_ready(one) and not one["metadata"].get("deletionTimestamp")]
        new = [one for one in ready if one["metadata"]["uid"] not in before]
        return len(found) == len(ready) == len(old) and len(new) == replaced

    await place.until(look, "all members are ready again")


@pytest.mark.thorough
@pytest.mark.both_dialects
async def test_members_go_one_by_one_from_the_highest_ordinal_down(place: EvictionNamespace) -> None:
    old = await ready_statefulset(place, 3)
    async with following(place) as (order, counts):
        for one in old:
            await place.ask(one)
        await whole(place, old, 3)
    assert order == ["db-2", "db-1", "db-0"]
    assert min(counts) == 2


async def test_a_cancelled_request_leaves_its_member_alone(place: EvictionNamespace) -> None:
    old = await ready_statefulset(place, 2)
    async with following(place) as (order, counts):
        requests = [await place.ask(one) for one in old]
        await place.client.delete(EVICTIONREQUESTS, requests[1].metadata.name, place.namespace)
        await whole(place, old, 1)
    assert order == ["db-0"]
    assert min(counts) == 1


async def test_on_delete_is_declined_and_left_to_the_budget(place: EvictionNamespace) -> None:
    old = await ready_statefulset(place, 1, spec={"updateStrategy": {"type": "OnDelete"}})
    request = await place.ask(old[0])

    async def declined() -> str:
        found = await place.client.get(EVICTIONREQUESTS, request.metadata.name, place.namespace)
        conditions = found.get("status", {}).get("conditions", [])
        wanted = "statefulset.apps.k8s.io/Declined"
        return next((str(one["message"]) for one in conditions if one["type"] == wanted), "")

    assert "OnDelete leaves deletions to people" in await place.until(declined, "the turn is declined")
    await whole(place, old, 1)
