"""Disruption budgets keep pods from being evicted, are reported in numbers, and release them soon."""

from __future__ import annotations

import time

import pytest

from support.evictions.namespace import EvictionNamespace, reason
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.sdk import CompletionReason

pytestmark = pytest.mark.both_dialects


async def test_a_budget_blocks_and_the_pod_leaves_once_it_opens(place: EvictionNamespace) -> None:
    # The more often it was refused, the longer until it is tried again by itself: at least 8, 16, 32 seconds.
    # A machine that stands still for long shows nothing by the first.
    for times in (1, 2, 3):
        if await _seconds_after_opening(place, f"tight-{times}", times) < 3 * 2**times:
            return
    raise AssertionError("the budget has opened, and nobody was woken")


async def _seconds_after_opening(place: EvictionNamespace, name: str, times: int) -> float:
    """A pod that is refused, so many times more, and then let go: how long that took."""
    pod = await place.pod(name, labels={"app": name})
    await place.budget(name, minAvailable=1)
    await place.ask(pod)
    blocked = await place.until_stage(pod, "Blocked")
    assert blocked.status.pod_eviction_status is not None
    refusals = blocked.status.pod_eviction_status.failed_api_eviction_counter
    assert refusals >= 1
    assert blocked.status.message.startswith("The eviction was refused: ")
    assert "disruption budget" in blocked.status.message
    assert name in blocked.status.message
    await place.until(lambda: place.events(place.name_of_request(pod), "EvictionRefused"), "it is an event")
    again = await place.until_request(
        pod, lambda one: _refusals(one) >= refusals + times, "it is tried again"
    )
    assert not again.complete
    await place.stays(pod)
    opened = time.monotonic()
    await place.client.patch(PODDISRUPTIONBUDGETS, name, {"spec": {"minAvailable": 0}}, place.namespace)
    over = await place.until_complete(pod)
    took = time.monotonic() - opened
    assert reason(over, "Complete") in place.left
    assert _refusals(over) >= refusals
    await place.gone(pod)
    return took


def _refusals(request: object) -> int:
    status = request.status.pod_eviction_status  # type: ignore[attr-defined]
    return int(status.failed_api_eviction_counter) if status else 0


async def test_a_budget_that_is_removed_lets_the_pod_go(place: EvictionNamespace) -> None:
    pod = await place.pod("held", labels={"app": "held"})
    await place.budget("held", maxUnavailable=0)
    await place.ask(pod)
    await place.until_stage(pod, "Blocked")
    await place.client.delete(PODDISRUPTIONBUDGETS, "held", place.namespace)
    assert reason(await place.until_complete(pod), "Complete") in place.left


async def test_a_requester_may_withdraw_while_the_eviction_is_blocked(place: EvictionNamespace) -> None:
    pod = await place.pod("spared", labels={"app": "spared"})
    await place.budget("spared", minAvailable=1)
    requester = place.requester()
    await requester.request("spared")
    await place.until_stage(pod, "Blocked")
    assert await requester.withdraw("spared")
    result = await requester.wait("spared")
    assert (result.reason, result.pod_ended) == (CompletionReason.CANCELLED, False)
    await place.client.delete(PODDISRUPTIONBUDGETS, "spared", place.namespace)
    await place.stays(pod)
    again = await requester.request("spared")  # a request that is over is replaced by a new one
    assert not again.complete
    assert (await requester.wait(again)).pod_ended


async def test_as_many_leave_as_a_budget_allows(place: EvictionNamespace) -> None:
    pods = [await place.pod(f"many-{i}", labels={"app": "many"}) for i in range(3)]
    await place.budget("many", minAvailable=2)
    for pod in pods:
        await place.ask(pod)

    async def one_is_gone() -> bool:
        listed = await place.client.list(PODS, place.namespace)
        return len(listed.items) == 2

    await place.until(one_is_gone, "one has left")
    left = [pod for pod in pods if await place.there(pod)]
    for pod in left:
        await place.until_stage(pod, "Blocked")
        await place.stays(pod)
