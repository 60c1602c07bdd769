"""Handlers that end the pod themselves."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.objects import dig
from vacate.sdk import EvictionContext, EvictionRefused, Interceptor
from vacate.testing import SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


def test_evicting_ends_the_pod_and_the_turn_without_another_write() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def evicts(context: EvictionContext) -> None:
            await context.evict(grace_period_seconds=1800)
            await context.report("not written any more")
            await context.clock.sleep(900)  # there may still be something to do

        await cluster.program(Interceptor(BACKUP, evicts))
        await cluster.pod(
            "web",
            BACKUP,
            CACHE,
            metadata={"annotations": {"sim.vacate.dev/stop-seconds": "1200"}},
            spec={"terminationGracePeriodSeconds": 1800},
        )
        requester = cluster.requester()
        request = await requester.request("web", deadline_seconds=600)
        await cluster.until(lambda: "deletionTimestamp" in cluster.find_pod("web")["metadata"])
        await cluster.clock.sleep(30)
        after = cluster.request.metadata.resource_version
        beat = cluster.request.status.heartbeat_time
        await cluster.clock.sleep(900)
        kept = cluster.request
        assert (kept.metadata.resource_version, kept.status.heartbeat_time) == (after, beat)
        assert not kept.status.active_interceptor_completed
        assert kept.status.active_interceptor_name == BACKUP
        assert (await requester.wait(request)).pod_ended
        (event,) = cluster.events("PodEvicted")
        assert event["message"] == f"{BACKUP} has evicted pod web."

    simulate(body)


@pytest.mark.thorough
def test_a_budget_is_respected_and_its_refusal_reported() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def evicts(context: EvictionContext) -> None:
            await context.evict()

        await cluster.program(Interceptor(BACKUP, evicts))
        await cluster.pod("web", BACKUP)
        await cluster.budget("web")
        requester = cluster.requester()
        request = await requester.request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(3600)
        assert "refused" in cluster.request.status.message
        assert "disruption budget" in cluster.request.status.message
        assert cluster.request.status.active_interceptor_name == BACKUP
        assert cluster.request.status.pod_eviction_status is None  # the counter is the controller's
        assert cluster.events("EvictionRefused")
        await cluster.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        began = cluster.clock.monotonic()
        assert (await requester.wait(request)).pod_ended
        assert cluster.clock.monotonic() - began < 70

    simulate(body)


def test_giving_up_on_a_budget_after_a_while() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        caught: list[str] = []

        async def evicts(context: EvictionContext) -> None:
            try:
                await context.evict(give_up_after=dt.timedelta(minutes=2))
            except EvictionRefused as error:
                caught.append(str(error))

        await cluster.program(Interceptor(BACKUP, evicts))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.budget("web")
        await cluster.requester().request("web")
        await cluster.until_active(CACHE)
        (why,) = caught
        assert "Cannot evict pod" in why

    simulate(body)


def test_deleting_goes_past_the_budget_and_says_why() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def deletes(context: EvictionContext) -> None:
            await context.delete(reason="its data has moved already")

        await cluster.program(Interceptor(BACKUP, deletes))
        await cluster.pod("web", BACKUP)
        await cluster.budget("web")
        requester = cluster.requester()
        request = await requester.request("web")
        assert (await requester.wait(request)).pod_ended
        (event,) = cluster.events("PodDeleted")
        assert event["message"] == f"{BACKUP} has deleted pod web: its data has moved already"

    simulate(body)


def test_nobody_is_evicted_whom_nobody_wants_gone() -> None:
    """The name goes in the moment before the eviction, and the controller is away."""

    async def body(cluster: SimulatedCluster) -> None:
        requester = cluster.requester()

        async def evicts(context: EvictionContext) -> None:
            await cluster.world.evictions.crash()
            await requester.withdraw("web")
            await context.evict()

        await cluster.program(Interceptor(BACKUP, evicts))
        await cluster.pod("web", BACKUP)
        await requester.request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(30)
        assert "deletionTimestamp" not in cluster.find_pod("web")["metadata"]
        await cluster.world.evictions.start()
        await cluster.until_complete()
        assert not any(
            dig(one, "status", "activeInterceptorCompleted") for one in cluster.states(EVICTIONREQUESTS)
        )

    simulate(body)
