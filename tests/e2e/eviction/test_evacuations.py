"""What only the Evacuation API has, on both API servers: finalizers of instigators, and the other API."""

from __future__ import annotations

import asyncio

import pytest

from support.evictions.namespace import KEEPS, EvictionNamespace, reason
from vacate.api.kinds import EVACUATIONS, PODS
from vacate.errors import ApiError, Forbidden, Invalid, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.registration import PREFIXES
from vacate.sdk import EvictionContext, Interceptor, Requester

BACKUP = "backup.example.com"


@pytest.fixture
def dialect() -> Dialect:
    return EVACUATION


async def test_the_controller_removes_instigators_and_no_other_finalizers(place: EvictionNamespace) -> None:
    pod = await place.pod("web", BACKUP)
    await place.ask(pod, "drain.example.com", "sort.example.com")
    await place.until_active(pod, BACKUP)
    await place.client.delete(PODS, "web", place.namespace)
    await place.gone(pod)
    over = await place.until_request(pod, lambda one: one.metadata.deletion_timestamp, "it is deleted")
    assert over.metadata.finalizers == [KEEPS]
    assert reason(over, "Complete") == "PodDeleted"
    await place.release()

    async def removed() -> bool:
        return not await place.requests()

    await place.until(removed, "the Evacuation is gone")


async def test_the_last_instigator_cancels_and_the_object_goes(place: EvictionNamespace) -> None:
    pod = await place.pod("web", BACKUP)
    first, second = place.requester(), place.requester("sort.example.com")
    await first.request("web")
    joined = await second.request("web")
    prefix = f"{EVACUATIONS.group}/instigator_"
    assert joined.metadata.finalizers == [f"{prefix}drain.example.com", f"{prefix}sort.example.com"]
    await place.until_active(pod, BACKUP)
    assert await first.withdraw("web")
    assert not (await place.request(pod)).complete
    assert await second.withdraw("web")

    async def removed() -> bool:
        return not await place.requests()

    await place.until(removed, "the Evacuation is gone")
    await place.stays(pod)


async def test_forbid_outlasts_the_instigators_until_the_pod_is_removed(place: EvictionNamespace) -> None:
    pod = await place.pod("web", BACKUP)
    done = asyncio.Event()

    async def migrate(eviction: EvictionContext) -> None:
        await eviction.report("Migrating", cancellation="Forbid")
        await done.wait()

    apis = ("evacuation",)
    async with place.serving(Interceptor(BACKUP, migrate, namespace=place.namespace, apis=apis)):
        await place.requester().request("web")
        held = await place.until_request(pod, lambda one: one.forbids_cancellation, "it forbids cancellation")
        name = held.metadata.name
        await place.client.patch(EVACUATIONS, name, {"metadata": {"finalizers": []}}, place.namespace)
        with pytest.raises(ApiError, match="evacuationCancellationPolicy is Forbid"):
            await place.client.delete(EVACUATIONS, name, place.namespace)
        assert not (await place.request(pod)).complete
        done.set()
        await place.gone(pod)

    async def removed() -> bool:
        return not await place.requests()

    await place.until(removed, "the Evacuation is gone")


async def test_the_second_api_for_a_pod_is_refused_with_the_name_of_the_first(
    place: EvictionNamespace,
) -> None:
    both = {f"{PREFIXES[0]}/priority_{BACKUP}": "10"}  # a pod may carry registrations of both
    for name in ("old", "new"):
        await place.pod(name, BACKUP, annotations=both)
    later = Requester(place.client, "sort.example.com", namespace=place.namespace, dialect=EVICTION_REQUEST)
    evacuation = await place.requester().request("old")
    with pytest.raises(Forbidden, match=f'requested by Evacuation "{evacuation.metadata.name}" already'):
        await later.request("old")
    request = await later.request("new")
    with pytest.raises(Forbidden, match=f'requested by EvictionRequest "{request.metadata.name}" already'):
        await place.requester().request("new")
    with pytest.raises(NotFound):
        await place.client.get(EVACUATIONS, f"{request.metadata.name}-new", place.namespace)


async def test_malformed_annotations_of_evacuators_are_refused_with_the_pod(place: EvictionNamespace) -> None:
    prefix = f"{EVACUATIONS.group}/priority_"
    wrong = {
        "range": {f"{prefix}a.example.com": "100001"},
        "two controllers": {f"{prefix}{name}.example.com": "10000/controller" for name in "ab"},
        "controller": {f"{prefix}a.example.com": "9999/controller"},
        "others": {f"{prefix}a.example.com": "10000"},
        "too many": {f"{prefix}e{n}.example.com": str(n) for n in range(100)},
        "hash alone": {f"{EVACUATIONS.group}/hash_7bb77f87dc": "long.example.com"},
    }
    for number, some in enumerate(wrong.values()):
        with pytest.raises(Invalid, match=r"metadata\.annotations"):
            await place.pod(f"wrong-{number}", annotations=some)
    hashed = {
        f"{prefix}7bb77f87dc": "11000/knowledgeable-app-specific",
        f"{EVACUATIONS.group}/hash_7bb77f87dc": "sensitive-workload-operator.tom-and-jerry-company.com",
    }
    pod = await place.pod("hashed", annotations=hashed)
    request = await place.ask(pod)
    assert [one.name for one in request.spec.interceptors] == list(hashed.values())[1:]
