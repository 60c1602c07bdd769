"""Handlers that end the pod themselves."""

from __future__ import annotations

import datetime as dt

import pytest

from support.simulated.sdk import SdkCluster, in_sdk_cluster, writes
from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.objects import dig
from vacate.sdk import EvictionContext, EvictionRefused, Interceptor

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


def test_evicting_ends_the_pod_and_the_turn_without_another_write() -> None:
    async def body(stage: SdkCluster) -> None:
        async def evicts(context: EvictionContext) -> None:
            await context.evict(grace_period_seconds=1800)
            await context.report("not written any more")
            await context.clock.sleep(900)  # there may still be something to do

        await stage.program(Interceptor(BACKUP, evicts))
        await stage.pod(
            "web",
            CACHE,
            BACKUP,
            metadata={"annotations": {"sim.vacate.dev/stop-seconds": "1200"}},
            spec={"terminationGracePeriodSeconds": 1800},
        )
        requester = stage.requester()
        request = await requester.request("web", deadline_seconds=600)
        await stage.until(lambda: "deletionTimestamp" in stage.find_pod("web")["metadata"])
        await stage.clock.sleep(30)
        after = stage.request.metadata.resource_version
        beat = stage.request.status.heartbeat_time
        await stage.clock.sleep(900)
        assert (stage.request.metadata.resource_version, stage.request.status.heartbeat_time) == (after, beat)
        assert not stage.request.status.active_interceptor_completed
        assert stage.request.status.active_interceptor_name == BACKUP
        assert (await requester.wait(request)).pod_ended
        (event,) = stage.events("PodEvicted")
        assert event["message"] == f"{BACKUP} has evicted pod web."

    in_sdk_cluster(body)


def test_a_budget_is_respected_and_its_refusal_told() -> None:
    async def body(stage: SdkCluster) -> None:
        async def evicts(context: EvictionContext) -> None:
            await context.evict()

        await stage.program(Interceptor(BACKUP, evicts))
        await stage.pod("web", BACKUP)
        await stage.budget("web")
        requester = stage.requester()
        request = await requester.request("web", deadline_seconds=600)
        await stage.until_active(BACKUP)
        await stage.clock.sleep(3600)
        assert "refused" in stage.request.status.message
        assert "disruption budget" in stage.request.status.message
        assert stage.request.status.active_interceptor_name == BACKUP
        assert stage.request.status.pod_eviction_status is None  # the counter is the controller's
        assert stage.events("EvictionRefused")
        await stage.world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        began = stage.clock.monotonic()
        assert (await requester.wait(request)).pod_ended
        assert stage.clock.monotonic() - began < 70

    in_sdk_cluster(body)


def test_giving_up_on_a_budget_after_a_while() -> None:
    async def body(stage: SdkCluster) -> None:
        caught: list[str] = []

        async def evicts(context: EvictionContext) -> None:
            try:
                await context.evict(give_up_after=dt.timedelta(minutes=2))
            except EvictionRefused as error:
                caught.append(str(error))

        await stage.program(Interceptor(BACKUP, evicts))
        await stage.pod("web", CACHE, BACKUP)
        await stage.budget("web")
        await stage.requester().request("web")
        await stage.until_active(CACHE)
        (why,) = caught
        assert "Cannot evict pod" in why

    in_sdk_cluster(body)


def test_deleting_goes_past_the_budget_and_says_why() -> None:
    async def body(stage: SdkCluster) -> None:
        async def deletes(context: EvictionContext) -> None:
            await context.delete(reason="its data has moved already")

        await stage.program(Interceptor(BACKUP, deletes))
        await stage.pod("web", BACKUP)
        await stage.budget("web")
        requester = stage.requester()
        request = await requester.request("web")
        assert (await requester.wait(request)).pod_ended
        (event,) = stage.events("PodDeleted")
        assert event["message"] == f"{BACKUP} has deleted pod web: its data has moved already"

    in_sdk_cluster(body)


def test_nobody_is_evicted_whom_nobody_wants_gone() -> None:
    """The name goes in the moment before the eviction, and the controller is away."""

    async def body(stage: SdkCluster) -> None:
        requester = stage.requester()

        async def evicts(context: EvictionContext) -> None:
            await stage.world.evictions.crash()
            await requester.withdraw("web")
            await context.evict()

        await stage.program(Interceptor(BACKUP, evicts))
        await stage.pod("web", BACKUP)
        await requester.request("web")
        await stage.until_active(BACKUP)
        await stage.clock.sleep(30)
        assert "deletionTimestamp" not in stage.find_pod("web")["metadata"]
        await stage.world.evictions.start()
        await stage.until_complete()
        assert not any(
            dig(one, "status", "activeInterceptorCompleted")
            for one in writes(stage.world, EVICTIONREQUESTS.resource)
        )

    in_sdk_cluster(body)
