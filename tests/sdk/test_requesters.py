"""Requesters in a simulated cluster: ask, join, withdraw, wait, replace, keep requested."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from support.simulated.evictions import put_past_admission
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import encode
from vacate.api.options import DeleteOptions
from vacate.api.status import to_status
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.errors import ConfigError, Invalid, NotFound, TooManyRequests
from vacate.sdk import CompletionReason, EvictionContext, HeldByFinalizers, Interceptor, Requester
from vacate.testing import SimulatedCluster, simulate
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

BACKUP = "backup.example.com"
DRAIN, SORT = "drain.example.com", "sort.example.com"


async def an_hour(context: EvictionContext) -> None:
    await context.clock.sleep(3600)


def named(request: EvictionRequest) -> list[str]:
    return [one.name for one in request.spec.requesters]


def test_asking_creates_a_request_that_belongs_to_the_pod() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = await cluster.pod("web", BACKUP)
        request = await cluster.requester().request(
            "web", reason="the node is replaced", deadline_seconds=900
        )
        assert request.metadata.name == pod["metadata"]["uid"]
        assert request.metadata.annotations["vacate.dev/reason"] == "the node is replaced"
        assert request.metadata.labels["app"] == "web"
        (owner,) = request.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid) == ("Pod", "web", pod["metadata"]["uid"])
        assert not owner.block_owner_deletion
        assert not owner.controller
        assert request.spec.heartbeat_deadline_seconds == 900
        assert named(request) == [DRAIN]

    simulate(body)


def test_a_plain_eviction_vanishes_with_its_pod() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web")
        requester = cluster.requester()
        request = await requester.request("web")
        result = await requester.wait(request)
        assert (result.pod_ended, result.history) == (True, ())
        await cluster.until(lambda: not cluster.requests())
        again = await requester.wait("web")  # the pod of that name has left already
        assert again.pod_ended

    simulate(body)


@pytest.mark.thorough
def test_waiting_for_a_request_that_is_gone_with_its_pod_is_a_success() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web")
        requester = cluster.requester()
        request = await requester.request("web")
        await cluster.until(lambda: not cluster.find_pod("web"))
        await cluster.until(lambda: not cluster.requests())
        result = await requester.wait(request)
        assert (result.reason, result.pod_ended) == (CompletionReason.POD_DELETED, True)
        assert result.message == "The pod is deleted, and the request with it."

    simulate(body)


def test_a_forged_completion_is_not_taken_for_the_end_of_the_pod() -> None:
    """Written past admission, as by a server without it: a requester must wait while the pod runs."""

    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(Interceptor(BACKUP, an_hour))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        await requester.request("web")
        await cluster.until_active(BACKUP)
        name = cluster.request.metadata.name
        forged = await cluster.client.get(EVICTIONREQUESTS, name, "default")
        forged["status"]["conditions"].append(
            {
                "type": "Complete",
                "status": "True",
                "reason": "PodDeleted",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        )
        await put_past_admission(cluster.world, forged)
        result = await requester.wait("web")
        assert not result.pod_ended
        assert "is still there: the status was not written by Vacate's controller" in result.message
        assert cluster.find_pod("web")

    simulate(body)


def test_a_request_that_someone_deletes_is_a_cancellation() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web")
        waiting = asyncio.create_task(requester.wait(request))
        await cluster.clock.sleep(5)
        await cluster.client.delete(EVICTIONREQUESTS, request.metadata.name, "default")
        result = await waiting
        assert (result.reason, result.pod_ended) == (CompletionReason.CANCELLED, False)
        assert result.message == "The request was deleted while the pod stayed."

    simulate(body)


def test_a_request_deleted_while_the_pod_goes_is_awaited_with_the_pod() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        slow = {"annotations": {"sim.vacate.dev/stop-seconds": "20"}}
        await cluster.pod("web", metadata=slow)
        requester = cluster.requester()
        request = await requester.request("web")
        waiting = asyncio.create_task(requester.wait(request))
        await cluster.until(lambda: "deletionTimestamp" in cluster.find_pod("web")["metadata"])
        await cluster.client.delete(EVICTIONREQUESTS, request.metadata.name, "default")
        result = await waiting
        assert result.pod_ended
        assert not cluster.find_pod("web")

    simulate(body)


def test_waiting_not_for_ever() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web")
        with pytest.raises(TimeoutError):
            await requester.wait(request, timeout=dt.timedelta(seconds=30))

    simulate(body)


def test_two_join_and_each_withdraws_only_its_own_name() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        drain, sort = cluster.requester(DRAIN), cluster.requester(SORT)
        await drain.request("web")
        joined = await sort.request("web")
        assert named(joined) == [DRAIN, SORT]
        assert named(await sort.request("web")) == [DRAIN, SORT]  # once is enough
        assert await drain.withdraw("web")
        assert named(cluster.request) == [SORT]
        assert not await drain.withdraw("web")
        assert not cluster.request.complete
        assert await sort.withdraw("web")
        over = await cluster.until_complete()
        assert over.status.message == "The eviction request is cancelled."
        assert not await sort.withdraw("web")

    simulate(body)


def test_many_who_join_and_withdraw_at_once_lose_nobody(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requesters = [cluster.requester(f"r{number}.example.com") for number in range(12)]
        await asyncio.gather(*(one.request("web") for one in requesters))
        assert sorted(named(cluster.request)) == sorted(one.name for one in requesters)
        await asyncio.gather(*(one.withdraw("web") for one in requesters[1:]))
        assert named(cluster.request) == [requesters[0].name]
        assert not cluster.request.complete

    simulate(body, sim_seed)


def test_a_cancelled_request_is_replaced_for_a_live_pod() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        first = await requester.request("web")
        await requester.withdraw("web")
        await cluster.until_complete()
        second = await requester.request("web", reason="again")
        assert second.metadata.uid != first.metadata.uid
        assert not second.complete
        assert second.metadata.annotations["vacate.dev/reason"] == "again"

    simulate(body)


def test_the_finalizer_that_blocks_a_new_request_is_named() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web")
        hold = {"metadata": {"finalizers": ["audit.example.com/record"]}}
        await cluster.client.patch(EVICTIONREQUESTS, request.metadata.name, hold, "default")
        await requester.withdraw("web")
        await cluster.until_complete()
        with pytest.raises(HeldByFinalizers, match=r"audit\.example\.com/record") as held:
            await requester.request("web")
        assert held.value.finalizers == ("audit.example.com/record",)
        await cluster.pod("db", BACKUP, labels={"app": "db"})
        await cluster.budget("db")
        with pytest.raises(TooManyRequests):
            await requester.evict_past("db")
        asking = asyncio.create_task(requester.request("web"))
        await cluster.clock.sleep(5)
        free = {"metadata": {"finalizers": None}}
        await cluster.client.patch(EVICTIONREQUESTS, request.metadata.name, free, "default")
        assert (await asking).metadata.uid != request.metadata.uid
        await requester.evict_past("web", wait=True)
        with pytest.raises(NotFound):
            await cluster.client.get(PODS, "web", "default")

    simulate(body)


def test_a_pod_that_has_ended_needs_no_new_request() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        once = {"annotations": {"sim.vacate.dev/run-seconds": "30"}}
        await cluster.pod("web", BACKUP, spec={"restartPolicy": "Never"}, metadata=once)
        requester = cluster.requester()
        request = await requester.request("web")
        result = await requester.wait(request)
        assert result.reason is CompletionReason.POD_TERMINATED
        assert (await requester.request("web")).metadata.uid == request.metadata.uid

    simulate(body)


def test_a_sustained_request_is_restored_when_its_name_or_the_request_is_removed() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def works(context: EvictionContext) -> None:
            await context.clock.sleep(60)

        await cluster.program(Interceptor(BACKUP, works))
        await cluster.pod("web", BACKUP)
        requester, meddler = cluster.requester(), cluster.requester(SORT)
        client = cluster.client
        async with requester.keep_requested("web", reason="really") as context:
            await meddler.request("web")
            name = context.request.metadata.name
            await client.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": [{"name": SORT}]}}, "default")
            await cluster.until(lambda: DRAIN in named(cluster.request))
            await client.delete(EVICTIONREQUESTS, name, "default")
            await cluster.until(lambda: [named(one) for one in cluster.requests()] == [[DRAIN]])
            await client.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}, "default")
            result = await context.wait(timeout=dt.timedelta(hours=1))
            assert context.requested_again == 3
        # Its containers have terminated a moment before it is removed, and either ends the request.
        assert result.pod_ended
        await cluster.until(lambda: not cluster.find_pod("web"))

    simulate(body)


def test_a_sustained_request_backs_off_with_each_removal() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        async with requester.keep_requested("web") as context:
            for _ in range(200):
                await cluster.clock.sleep(1)
                for one in cluster.requests():
                    await cluster.client.delete(EVICTIONREQUESTS, one.metadata.name, "default")
            assert 4 <= context.requested_again <= 12

    simulate(body)


class Refusing:
    """A policy that denies what is created."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.refuses = False

    async def send(self, request: Request) -> Response:
        if self.refuses and request.method == "POST":
            return Response(422, encode(to_status(Invalid("ValidatingAdmissionPolicy denied it: not now"))))
        return await self._transport.send(request)

    async def aclose(self) -> None:
        """Nothing of its own."""


def test_a_sustained_request_is_made_again_when_it_is_no_longer_refused() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        transport = Refusing(cluster.client._transport)
        requester = Requester(Client(transport), DRAIN, clock=cluster.clock)
        async with requester.keep_requested("web", "default") as sustained:
            transport.refuses = True
            await cluster.client.delete(EVICTIONREQUESTS, cluster.request.metadata.name, "default")
            await cluster.until(lambda: "not now" in sustained.refused)
            await cluster.clock.sleep(120)
            transport.refuses = False
            await cluster.until(lambda: len(cluster.requests()) == 1, 16)
            assert named(cluster.request) == [DRAIN]
            await cluster.clock.sleep(1)  # for the answer
            assert sustained.refused == ""

    simulate(body)


def test_a_sustained_request_ends_with_the_block_and_stays() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        async with requester.keep_requested("web") as context:
            with pytest.raises(TimeoutError):
                await context.wait(timeout=dt.timedelta(seconds=10))
        assert named(cluster.request) == [DRAIN]
        assert await requester.withdraw("web")

    simulate(body)


def test_what_cannot_be_asked_for() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        with pytest.raises(ConfigError, match=r"requester 'No Such Name': a lowercase RFC 1123 subdomain"):
            Requester(cluster.client, "No Such Name")
        requester = cluster.requester()
        with pytest.raises(NotFound, match=r'pods "nobody" not found'):
            await requester.request("nobody")
        with pytest.raises(ConfigError, match="deadline_seconds must be at least 600, not 5"):
            await requester.request("web", deadline_seconds=5)
        with pytest.raises(ConfigError, match="deadline_seconds must be at most 86400, not 100000"):
            await requester.request("web", deadline_seconds=100_000)
        with pytest.raises(ConfigError, match="timeout must be a timedelta"):
            await requester.wait("web", timeout=5)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="a pod is given as its name, a Pod or an EvictionRequest"):
            await requester.request(7)  # type: ignore[arg-type]
        assert await requester.find("nobody") is None
        assert await requester.find("web") is None
        assert not await requester.withdraw("nobody")
        assert not await requester.withdraw("web")

    simulate(body)


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web")
        await cluster.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=0))
        await cluster.pod("web", BACKUP)
        assert (await requester.wait(request)).pod_ended
        with pytest.raises(NotFound, match="another pod has the name now"):
            await requester.request(request)
        assert cluster.find_pod("web")

    simulate(body)
