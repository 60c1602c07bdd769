"""The three cancellation examples of the design, step by step, with actors and requesters of the SDK."""

from __future__ import annotations

import asyncio

import pytest

from vacate.api.kinds import EVICTIONREQUESTS, NODES
from vacate.errors import Invalid
from vacate.eviction.records.history import TurnResult
from vacate.sdk import (
    Cancellation,
    CancellationForbidden,
    CompletionReason,
    EvictionContext,
    Finished,
    Interceptor,
    Requester,
    TurnEndReason,
)
from vacate.sdk.requesters.requests import withdrawn
from vacate.testing import SimulatedCluster, simulate

pytestmark = pytest.mark.sim

ACTOR_A, ACTOR_B = "actor-a.example.com", "actor-b.example.com"
DRAIN, SORT = "nodemaintenance.example.com", "descheduling.example.com"


class Actors:
    """B notifies users and waits until they are done; A deletes the pod."""

    def __init__(self, policy_of_b: Cancellation, policy_of_a: Cancellation) -> None:
        self.users_done = asyncio.Event()
        self.notifications: list[str] = []
        self._policy_of_a = policy_of_a
        self._policy_of_b = policy_of_b

    def interceptors(self) -> tuple[Interceptor, Interceptor]:
        return (
            Interceptor(ACTOR_A, self._delete, cancellation=self._policy_of_a),
            Interceptor(ACTOR_B, self._notify, cancellation=self._policy_of_b),
        )

    async def _notify(self, context: EvictionContext) -> Finished:
        self.notifications.append("there will be a disruption")
        await context.report("Users finish their work")
        try:
            await self.users_done.wait()
        except asyncio.CancelledError:
            if context.end_reason is TurnEndReason.CANCELLED:
                self.notifications.append("the disruption is cancelled")
            raise
        return context.finished("Ready to be deleted")

    async def _delete(self, context: EvictionContext) -> None:
        await context.delete(reason="all users are gone")


async def begin(cluster: SimulatedCluster, actors: Actors) -> Requester:
    """Steps 1 and 2 of all three: the node is cordoned, the drain controller asks."""
    await cluster.program(*actors.interceptors())
    await cluster.pod("p-1", ACTOR_B, ACTOR_A)
    await cordon(cluster, unschedulable=True)
    drain = cluster.requester(DRAIN)
    await drain.request("p-1")
    return drain


async def cordon(cluster: SimulatedCluster, *, unschedulable: bool) -> None:
    await cluster.client.patch(NODES, "node-1", {"spec": {"unschedulable": unschedulable}})


async def b_is_at_work(cluster: SimulatedCluster, actors: Actors) -> None:
    await cluster.until_active(ACTOR_B)
    await cluster.until(lambda: cluster.request.status.message == "Users finish their work")
    assert actors.notifications == ["there will be a disruption"]


@pytest.mark.thorough
def test_several_requesters_and_no_cancellation(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        actors = Actors(Cancellation.ALLOW, Cancellation.ALLOW)
        drain = await begin(cluster, actors)
        sort = cluster.requester(SORT)  # 3. the descheduler joins
        request = await sort.request("p-1")
        assert [one.name for one in request.spec.requesters] == [DRAIN, SORT]
        await b_is_at_work(cluster, actors)  # 4. to 6.
        assert cluster.request.status.eviction_request_cancellation_policy == "Allow"
        await cordon(cluster, unschedulable=False)  # 7.
        assert await drain.withdraw("p-1")  # 8.
        await cluster.clock.sleep(60)
        assert cluster.request.status.active_interceptor_name == ACTOR_B  # 9. nothing changes
        assert [one.name for one in cluster.request.spec.requesters] == [SORT]
        actors.users_done.set()  # 10. B completes; 11. A's turn; 12. it allows; 13. it deletes the pod
        result = await sort.wait(request)  # 14.
        assert result.pod_ended
        assert [(turn.interceptor, turn.result) for turn in result.history] == [
            (ACTOR_B, TurnResult.COMPLETED),
            (ACTOR_A, TurnResult.POD_GONE),
        ]
        assert actors.notifications == ["there will be a disruption"]

    simulate(body, sim_seed)


@pytest.mark.thorough
def test_one_requester_who_cancels(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        actors = Actors(Cancellation.ALLOW, Cancellation.ALLOW)
        drain = await begin(cluster, actors)
        await b_is_at_work(cluster, actors)  # 3. to 5.
        await cordon(cluster, unschedulable=False)  # 6.
        assert await drain.withdraw("p-1")  # 7.
        over = await cluster.until_complete()  # 8.
        assert over.status.active_interceptor_name is None
        assert over.status.expected_interceptor_finish_time is None
        result = await drain.wait("p-1")
        assert (result.reason, result.pod_ended) == (CompletionReason.CANCELLED, False)
        await cluster.clock.sleep(5)
        assert actors.notifications == ["there will be a disruption", "the disruption is cancelled"]  # 9.
        assert "deletionTimestamp" not in cluster.find_pod("p-1")["metadata"]

    simulate(body, sim_seed)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("policy_of_a", list(Cancellation))
def test_one_requester_who_may_not_cancel(policy_of_a: Cancellation, sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        actors = Actors(Cancellation.FORBID, policy_of_a)
        drain = await begin(cluster, actors)
        await b_is_at_work(cluster, actors)  # 3. to 5.
        request = cluster.request
        assert request.forbids_cancellation
        await cordon(cluster, unschedulable=False)  # 6.
        with pytest.raises(CancellationForbidden):  # 7. the SDK raises it, and the server refuses
            await drain.withdraw("p-1")
        name = request.metadata.name
        with pytest.raises(Invalid, match=r"spec\.requesters"):
            await cluster.client.patch(EVICTIONREQUESTS, name, withdrawn(request, DRAIN), "default")
        with pytest.raises(Exception, match="Forbid"):
            await cluster.client.delete(EVICTIONREQUESTS, name, "default")
        actors.users_done.set()  # 8. B completes; 9. A's turn; 10. its own policy; 11. it deletes the pod
        result = await drain.wait(request)  # 12.
        assert result.pod_ended
        assert result.history[0].interceptor == ACTOR_B
        assert actors.notifications == ["there will be a disruption"]

    simulate(body, sim_seed)
