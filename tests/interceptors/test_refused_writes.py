"""What an interceptor waits for is refused by the API server: its turn says so, and goes on afterwards."""

from __future__ import annotations

import pytest

from support.matrix.place import Refusal
from support.matrix.simulated import Refusals
from support.simulated.clusters import in_world
from support.simulated.deployments import completed, fewest, is_quiet, moving, names, replicas, requested
from support.simulated.evictions import status
from support.simulated.workloads import events_of
from vacate.api.kinds import DEPLOYMENTS, PODS, Kind
from vacate.sim.cluster import World

pytestmark = pytest.mark.sim


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("kind", [DEPLOYMENTS, PODS], ids=lambda kind: kind.plural)
@pytest.mark.parametrize("restart", [False, True], ids=["", "restarted"])
def test_a_refused_surge_is_shown_in_the_turn_and_in_an_event(kind: Kind, restart: bool) -> None:
    async def body(world: World) -> None:
        refusals = Refusals()
        world.network.audit = refusals
        (old,) = await moving(world)
        refusals.active.append(Refusal("policy", "PATCH", kind))
        (request,) = await requested(world, old)
        if restart:
            await world.restart(world.evictions, 1.0)
        await world.until(lambda: "Policy 'company'" in status(world, request).get("message", ""))
        message = status(world, request)["message"]
        assert message.startswith("The API server refuses to have Deployment web changed for a replacement: ")
        assert "kubectl get validatingadmissionpolicy company" in message
        (event,) = events_of(world, "web", "WriteRefused")
        assert "Policy 'company'" in event
        refusals.active.clear()
        await completed(world, request)
        await world.until(lambda: is_quiet(world))
        assert old["metadata"]["name"] not in names(world)
        assert (fewest(world, 1), replicas(world)) == (1, 1)

    in_world(body)


@pytest.mark.thorough
def test_a_surge_that_is_refused_for_too_long_is_declined() -> None:
    """For as long as a replacement may take; then the pod is evicted like one that has no such turn."""

    async def body(world: World) -> None:
        refusals = Refusals()
        world.network.audit = refusals
        (old,) = await moving(world)
        refusals.active.append(Refusal("policy", "PATCH", DEPLOYMENTS))
        (request,) = await requested(world, old)
        await completed(world, request)
        shown = {one["type"]: one for one in status(world, request)["conditions"]}
        assert "Policy 'company'" in shown["deployment.apps.k8s.io/Declined"]["message"]

    in_world(body)
