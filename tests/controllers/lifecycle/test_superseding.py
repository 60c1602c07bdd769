"""An Eviction that a budget holds gives way to another, in which responders have another turn."""

from __future__ import annotations

import pytest

from controllers.lifecycle.test_walkthroughs import (
    AWAITED,
    EVICTED,
    FIRST,
    guarded_pod,
    now,
    outcome,
    request,
    respond,
    simulate,
    states,
)
from support.simulated.workloads import created, history
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.types.evictionrequest import RETRY, SUPERSEDES
from vacate.api.types.lifecycle import EVICTOR
from vacate.client.requests import STRATEGIC_PATCH
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]

FAILED = ("EvictionFailed", "NoFurtherResponder")


async def declines(world: World, status: str = "True") -> None:
    """The responder says in a condition that it could not prepare the pod, or takes that back."""
    answer = {"type": declined_type(FIRST), "status": status, "reason": "Tried", "message": "no disk"}
    patch = {"status": {"conditions": [{**answer, "lastTransitionTime": now(world)}]}}
    await world.client.patch(
        LIFECYCLE_EVICTIONS, "pod-1-web", patch, "default", patch_type=STRATEGIC_PATCH, subresource="status"
    )


async def blocked(world: World) -> None:
    """The responder has declined, and the budget refuses the eviction."""
    await request(world, await guarded_pod(world, FIRST))
    await world.until(lambda: states(world).get(FIRST) == "Active")
    await declines(world)
    await respond(world, FIRST, completionTime=now(world))
    await world.until(lambda: "attempts=1" in str(world.objects(LIFECYCLE_EVICTIONS)))


async def retried(world: World) -> None:
    asked = {"metadata": {"annotations": {RETRY: now(world)}}}
    await world.client.patch(LIFECYCLE_EVICTIONS, "pod-1-web", asked, "default")


async def taken_back(world: World) -> None:
    await declines(world, "False")


@pytest.mark.parametrize("killed", [False, True], ids=["", "the manager is killed in between"])
@pytest.mark.parametrize("push", [retried, taken_back], ids=lambda one: one.__name__)
def test_its_responders_have_another_turn_at_once_in_another_eviction(push: object, killed: bool) -> None:
    async def body(world: World) -> None:
        await blocked(world)
        await push(world)  # type: ignore[operator]
        await world.until(lambda: outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == FAILED, 20.0)
        if killed:
            await world.evictions.crash()
            await world.sim.clock.sleep(60)
            await world.evictions.start()
        await world.until(lambda: states(world, "pod-2-web").get(FIRST) == "Active", 20.0)
        assert states(world) == {FIRST: "Completed", EVICTOR: "Canceled"}
        first, second = (created(world, LIFECYCLE_EVICTIONS, f"pod-{number}-web") for number in (1, 2))
        assert second["metadata"]["annotations"][SUPERSEDES] == first["metadata"]["uid"]
        # Whoever waits for the request sees no end of it.
        seen = [one for gone, one in history(world, LIFECYCLE_REQUESTS) if not gone]
        assert "NoFurtherResponder" not in str(seen)
        assert outcome(world, "drain") == AWAITED
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await respond(world, FIRST, "pod-2-web", completionTime=now(world))
        await world.until(lambda: outcome(world, "drain") == EVICTED, 60.0)
        assert outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == FAILED

    simulate(body)


def test_it_goes_on_where_nothing_has_changed() -> None:
    async def body(world: World) -> None:
        await blocked(world)
        await world.sim.clock.sleep(600)
        assert [one["metadata"]["name"] for one in world.objects(LIFECYCLE_EVICTIONS)] == ["pod-1-web"]
        assert states(world) == {FIRST: "Completed", EVICTOR: "Active"}

    simulate(body)
