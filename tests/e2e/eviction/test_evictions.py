"""How pods leave on request: plainly, through interceptors, by themselves, or not at all."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from support.evictions.namespace import EvictionNamespace, is_ready, reason, turns
from vacate.api.kinds import DEPLOYMENTS, PODS
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.types.evictionrequest import ADMITTED_STAMP
from vacate.errors import Invalid, NotFound
from vacate.sdk import (
    CompletionReason,
    Condition,
    Declined,
    EvictionContext,
    Interceptor,
    TurnResult,
    open_requester,
)
from vacate.testing import deployment

FIRST, SECOND, THIRD = "first.example.com", "second.example.com", "third.example.com"


def with_turns(place: EvictionNamespace, **handlers: object) -> list[Interceptor]:
    """Interceptors of this place alone, by the first part of their names."""
    made = [(f"{name}.example.com", handler) for name, handler in handlers.items()]
    apis = (place.dialect.kind.singular,)
    return [
        Interceptor(name, handler, namespace=place.namespace, apis=apis)  # type: ignore[arg-type]
        for name, handler in made
    ]


async def finish(context: EvictionContext) -> None:
    await context.report("Working")


@pytest.mark.both_dialects
async def test_a_pod_without_interceptors_is_evicted(place: EvictionNamespace) -> None:
    pod = await place.pod("plain", labels={"app": "plain"})
    made = await place.ask(pod)
    assert made.metadata.labels["app"] == "plain"
    await place.gone(pod)
    over = await place.until_complete(pod)
    assert reason(over, "Complete") in place.left
    assert over.status.active_interceptor_name is None
    assert over.status.pod_eviction_status is None
    assert turns(over) == []


@pytest.mark.both_dialects
async def test_the_request_of_a_requester_goes_with_its_pod(place: EvictionNamespace) -> None:
    pod = await place.pod("owned")
    config, dialect = place.cluster.kubeconfig, place.dialect
    async with open_requester("drain.example.com", kubeconfig=config, dialect=dialect) as requester:
        await requester.request("owned", place.namespace, reason="kernel update")
        result = await requester.wait("owned", place.namespace)
    assert result.pod_ended
    await place.gone(pod)

    async def collected() -> bool:
        listed = await place.client.list(place.dialect.kind, place.namespace)
        return not listed.items

    await place.until(collected, "the request is collected")


@pytest.mark.both_dialects
async def test_the_controller_and_an_interceptor_work_together(place: EvictionNamespace) -> None:
    """All that an interceptor may say is seen, and nothing of it is lost to the controller's own writes."""
    pod = await place.pod("one", FIRST)
    go_on = asyncio.Event()

    async def prepare(context: EvictionContext) -> None:
        copied = Condition("Copied", True, "AllOfIt", "9 GiB")
        await context.report("Copying", conditions=[copied], cancellation="Forbid")
        await go_on.wait()

    async with place.serving(*with_turns(place, first=prepare)):
        await place.ask(pod)
        seen = await place.until_request(pod, lambda one: one.status.message == "Copying", "it reports")
        assert reason(seen, "Progressing") == "Intercepting"
        assert seen.forbids_cancellation
        assigned = next(one for one in seen.status.conditions if one.type == "InterceptorAssigned")
        assert seen.status.heartbeat_time > assigned.last_transition_time  # type: ignore[operator]
        await place.stays(pod)
        go_on.set()
        over = await place.until_complete(pod)
    assert (reason(over, "Progressing"), reason(over, "Copied")) == ("Complete", "AllOfIt")
    assert turns(over) == [(FIRST, TurnResult.COMPLETED)]
    await place.gone(pod)


@pytest.mark.both_dialects
async def test_the_full_flow_with_several_interceptors(place: EvictionNamespace) -> None:
    pod = await place.pod("chain", FIRST, SECOND, THIRD)
    order: list[str] = []

    async def note(context: EvictionContext) -> None:
        await place.stays(pod)
        order.append(context.name)

    async with place.serving(*with_turns(place, first=note, second=note, third=note)):
        request = await place.ask(pod)
        assert [one.name for one in request.spec.interceptors] == [FIRST, SECOND, THIRD]
        over = await place.until_complete(pod)
    assert order == [THIRD, SECOND, FIRST]
    assert turns(over) == [(one, TurnResult.COMPLETED) for one in order]
    await place.gone(pod)


@pytest.mark.both_dialects
async def test_a_hand_over_resets_the_status(place: EvictionNamespace) -> None:
    """Without an SDK: what one interceptor has reported does not hold for the next."""
    pod = await place.pod("handed", FIRST, SECOND)
    await place.ask(pod)
    first_turn = await place.until_active(pod, SECOND)
    await place.report(first_turn, message="Mine", expectedInterceptorFinishTime="2099-01-01T00:00:00Z")
    await place.report(first_turn, activeInterceptorCompleted=True)
    after = await place.until_active(pod, FIRST)
    assert after.status.expected_interceptor_finish_time is None
    assert not after.status.active_interceptor_completed
    assert after.status.message != "Mine"
    assert after.status.heartbeat_time > first_turn.status.heartbeat_time  # type: ignore[operator]
    assert turns(after) == [(SECOND, TurnResult.COMPLETED)]
    await place.stays(pod)
    with pytest.raises(Invalid, match=place.status_field("activeInterceptorName")):
        await place.report(after, activeInterceptorName=SECOND)


@pytest.mark.both_dialects
async def test_an_interceptor_that_declines_is_passed_over(place: EvictionNamespace) -> None:
    pod = await place.pod("declined", FIRST, SECOND)

    async def decline(context: EvictionContext) -> Declined:
        return context.declined("not one of mine")

    async with place.serving(*with_turns(place, first=finish, second=decline)):
        await place.ask(pod)
        over = await place.until_complete(pod)
    assert turns(over) == [(SECOND, TurnResult.DECLINED), (FIRST, TurnResult.COMPLETED)]
    await place.gone(pod)


@pytest.mark.both_dialects
async def test_an_interceptor_that_evicts_by_itself(place: EvictionNamespace) -> None:
    pod = await place.pod("evicted", FIRST, SECOND)

    async def evict(context: EvictionContext) -> None:
        await context.evict()

    async with place.serving(*with_turns(place, second=evict)):
        await place.ask(pod)
        over = await place.until_complete(pod)
    assert turns(over) == [(SECOND, TurnResult.POD_GONE)]
    assert reason(over, "Complete") in place.left


async def test_a_request_is_complete_when_the_pod_is_terminated(place: EvictionNamespace) -> None:
    """A pod that is not to be restarted ends at its interceptor's word, and its object stays to be read."""
    pod = await place.pod("batch", FIRST, restartPolicy="Never")

    async def end_the_work(context: EvictionContext) -> None:
        await context.report("Asking the work to end")
        await _end_by_itself(place, pod)
        await asyncio.Event().wait()

    async with place.serving(*with_turns(place, first=end_the_work)):
        requester = place.requester()
        await requester.request("batch")
        result = await requester.wait("batch")
    assert result.reason is CompletionReason.POD_TERMINATED
    over = await place.request(pod)
    assert reason(over, "Complete") == "PodTerminated"
    assert over.status.active_interceptor_name is None
    kept = await place.there(pod)
    assert kept is not None
    assert kept["status"]["phase"] == "Succeeded"
    assert "deletionTimestamp" not in kept["metadata"]


async def _end_by_itself(place: EvictionNamespace, pod: Obj) -> None:
    """What a simulated node reads as the end of the work."""
    ended = {"metadata": {"annotations": {"sim.vacate.dev/run-seconds": "0"}}}
    await place.client.patch(PODS, pod["metadata"]["name"], ended, place.namespace)


@pytest.mark.both_dialects
async def test_a_pod_of_a_daemon_set_stays(place: EvictionNamespace) -> None:
    pod = await place.daemon_pod("agent")
    await place.ask(pod)
    open_still = await place.until_request(pod, lambda one: "DaemonSet" in one.status.message, "it says so")
    assert "is not evicted through the API" in open_still.status.message
    assert open_still.status.pod_eviction_status is None
    await place.stays(pod)
    assert not open_still.complete
    await place.client.delete(PODS, pod["metadata"]["name"], place.namespace)
    assert reason(await place.until_complete(pod), "Complete") in place.left


@pytest.mark.both_dialects
async def test_a_new_pod_of_the_same_name_is_left_alone(place: EvictionNamespace) -> None:
    old = await place.pod("same", FIRST)
    await place.ask(old)
    await place.until_active(old, FIRST)
    await place.client.delete(PODS, "same", place.namespace)
    await place.gone(old)
    new = await place.pod("same", FIRST)
    assert reason(await place.until_complete(old), "Complete") in place.left
    await place.stays(new)
    await place.release()
    name = place.name_of_request(old)
    with contextlib.suppress(NotFound):
        await place.client.delete(place.dialect.kind, name, place.namespace)
    with pytest.raises(Invalid, match=old["metadata"]["uid"]):
        await place.ask(old)
    await place.stays(new)


@pytest.mark.both_dialects
async def test_a_deployment_replaces_what_leaves_and_keeps_the_rest(place: EvictionNamespace) -> None:
    made = deployment("web", namespace=place.namespace, replicas=3)
    await place.client.create(DEPLOYMENTS, made, place.namespace)
    pods = await place.until(lambda: _ready(place, 3), "the deployment runs")
    leaving = pods[0]
    await place.ask(leaving)
    await place.gone(leaving)
    after = await place.until(lambda: _ready(place, 3), "it runs again")
    uids = {pod["metadata"]["uid"] for pod in after}
    assert {pod["metadata"]["uid"] for pod in pods[1:]} < uids
    assert leaving["metadata"]["uid"] not in uids
    assert reason(await place.until_complete(leaving), "Complete") in place.left


async def _ready(place: EvictionNamespace, count: int) -> list[Obj]:
    listed = await place.client.list(PODS, place.namespace, ListOptions(label_selector="app=web"))
    found = [one for one in listed.items if is_ready(one) and "deletionTimestamp" not in one["metadata"]]
    return found if len(found) == count else []


@pytest.mark.both_dialects
async def test_the_stamp_of_admission_cannot_be_taken_away(place: EvictionNamespace) -> None:
    pod = await place.pod("stamped", FIRST)
    await place.ask(pod)
    name = place.name_of_request(pod)
    for value in (None, "false"):
        change = {"metadata": {"annotations": {ADMITTED_STAMP: value}}}
        with contextlib.suppress(Invalid):  # refused, or written anew
            await place.client.patch(place.dialect.kind, name, change, place.namespace)
        assert (await place.request(pod)).metadata.annotations[ADMITTED_STAMP] == "true"
