"""The three cancellation examples of the design, step by step, with actors and requesters of the SDK."""

from __future__ import annotations

import asyncio

import pytest

from support.evictions.namespace import EvictionNamespace, reason, turns
from vacate.api.kinds import EVICTIONREQUESTS, NODES
from vacate.api.objects import Obj
from vacate.errors import ApiError, Invalid
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.sdk import (
    Cancellation,
    CancellationForbidden,
    CompletionReason,
    EvictionContext,
    Finished,
    Interceptor,
    Requester,
    TurnEndReason,
    TurnResult,
)
from vacate.sdk.requesters.requests import withdrawn

ACTOR_A, ACTOR_B = "actor-a.example.com", "actor-b.example.com"
DRAIN, SORT = "nodemaintenance.example.com", "descheduling.example.com"


class Actors:
    """B notifies users and waits until they are done; A deletes the pod once it may."""

    def __init__(
        self, place: EvictionNamespace, policy_of_b: Cancellation, policy_of_a: Cancellation
    ) -> None:
        self.users_done = asyncio.Event()
        self.may_delete = asyncio.Event()
        self.notifications: list[str] = []
        here, apis = place.namespace, (place.dialect.kind.singular,)
        self.interceptors = (
            Interceptor(ACTOR_A, self._delete, namespace=here, cancellation=policy_of_a, apis=apis),
            Interceptor(ACTOR_B, self._notify, namespace=here, cancellation=policy_of_b, apis=apis),
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
        await self.may_delete.wait()
        await context.delete(reason="all users are gone")


async def begin(place: EvictionNamespace, pod: Obj) -> Requester:
    """Steps 1 and 2 of all three: the node is cordoned, the drain controller asks."""
    await cordon(place, pod, unschedulable=True)
    drain = place.requester(DRAIN)
    await drain.request("p-1")
    await place.keep(pod)
    return drain


async def cordon(place: EvictionNamespace, pod: Obj, *, unschedulable: bool) -> None:
    change = {"spec": {"unschedulable": unschedulable or None}}
    await place.client.patch(NODES, pod["spec"]["nodeName"], change)


async def b_is_at_work(place: EvictionNamespace, pod: Obj, actors: Actors) -> None:
    await place.until_active(pod, ACTOR_B)
    message = "Users finish their work"
    await place.until_request(pod, lambda one: one.status.message == message, "B reports")
    assert actors.notifications == ["there will be a disruption"]


@pytest.mark.both_dialects
async def test_several_requesters_and_no_cancellation(place: EvictionNamespace) -> None:
    pod = await place.pod("p-1", ACTOR_A, ACTOR_B)
    actors = Actors(place, Cancellation.ALLOW, Cancellation.ALLOW)
    drain, sort = await begin(place, pod), place.requester(SORT)
    request = await sort.request("p-1")  # 3. the descheduler joins
    assert [one.name for one in request.spec.requesters] == [DRAIN, SORT]
    async with place.serving(*actors.interceptors):
        await b_is_at_work(place, pod, actors)  # 4. to 6.
        assert (await place.request(pod)).status.eviction_request_cancellation_policy == "Allow"
        await cordon(place, pod, unschedulable=False)  # 7.
        assert await drain.withdraw("p-1")  # 8.
        still = await place.request(pod)
        assert [one.name for one in still.spec.requesters] == [SORT]
        assert (still.status.active_interceptor_name, still.complete) == (ACTOR_B, False)  # 9.
        actors.users_done.set()  # 10. B completes
        after = await place.until_active(pod, ACTOR_A)  # 11. A's turn
        assert turns(after) == [(ACTOR_B, TurnResult.COMPLETED)]
        assert after.status.eviction_request_cancellation_policy == "Allow"  # 12.
        actors.may_delete.set()  # 13. A deletes the pod
        result = await sort.wait(request)  # 14.
    assert result.pod_ended
    assert [(turn.interceptor, turn.result) for turn in result.history] == [
        (ACTOR_B, TurnResult.COMPLETED),
        (ACTOR_A, TurnResult.POD_GONE),
    ]
    await place.gone(pod)  # 15. and the request goes with it
    assert actors.notifications == ["there will be a disruption"]


@pytest.mark.both_dialects
async def test_one_requester_who_cancels(place: EvictionNamespace) -> None:
    pod = await place.pod("p-1", ACTOR_A, ACTOR_B)
    actors = Actors(place, Cancellation.ALLOW, Cancellation.ALLOW)
    drain = await begin(place, pod)
    async with place.serving(*actors.interceptors):
        await b_is_at_work(place, pod, actors)  # 3. to 5.
        await cordon(place, pod, unschedulable=False)  # 6.
        assert await drain.withdraw("p-1")  # 7.
        over = await place.until_complete(pod)  # 8.
        assert reason(over, "Complete") == "Cancelled"
        assert over.status.active_interceptor_name is None
        assert over.status.expected_interceptor_finish_time is None
        result = await drain.wait("p-1")
        assert (result.reason, result.pod_ended) == (CompletionReason.CANCELLED, False)

        async def users_know() -> bool:
            return actors.notifications == ["there will be a disruption", "the disruption is cancelled"]

        await place.until(users_know, "B has seen the cancellation")  # 9.
    await place.stays(pod)


@pytest.mark.both_dialects
@pytest.mark.parametrize("policy_of_a", list(Cancellation))
async def test_one_requester_who_may_not_cancel(place: EvictionNamespace, policy_of_a: Cancellation) -> None:
    pod = await place.pod("p-1", ACTOR_A, ACTOR_B)
    actors = Actors(place, Cancellation.FORBID, policy_of_a)
    drain = await begin(place, pod)
    async with place.serving(*actors.interceptors):
        await b_is_at_work(place, pod, actors)  # 3. to 5.
        request = await place.request(pod)
        assert request.forbids_cancellation
        await cordon(place, pod, unschedulable=False)  # 6.
        with pytest.raises(CancellationForbidden):  # 7. the SDK raises it, and the server refuses
            await drain.withdraw("p-1")
        name = request.metadata.name
        if place.dialect is EVICTION_REQUEST:
            with pytest.raises(Invalid, match=r"spec\.requesters"):
                await place.client.patch(EVICTIONREQUESTS, name, withdrawn(request, DRAIN), place.namespace)
        else:  # an instigator may go and come again, and the evacuation goes on
            assert not (await place.request(pod)).spec.requesters
            if policy_of_a is Cancellation.ALLOW:  # else it would be cancelled then
                await drain.request("p-1")
        with pytest.raises(ApiError, match="Forbid"):
            await place.client.delete(place.dialect.kind, name, place.namespace)
        actors.users_done.set()  # 8. B completes
        await place.until_active(pod, ACTOR_A)  # 9. A's turn
        wanted = policy_of_a.value
        await place.until_request(
            pod, lambda one: one.status.eviction_request_cancellation_policy == wanted, "A has its policy"
        )  # 10.
        actors.may_delete.set()  # 11. A deletes the pod
        result = await drain.wait(request)  # 12.
    assert result.pod_ended
    assert result.history[0].interceptor == ACTOR_B
    await place.gone(pod)  # 13. and the request goes with it
    assert actors.notifications == ["there will be a disruption"]
