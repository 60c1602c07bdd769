"""From a lost node to a StatefulSet's pod with its exclusive volume on another node, by a FencingPolicy."""

from __future__ import annotations

import asyncio

import pytest

from support.simulated.fencing import LOST, SOON, Fenced, beside, fenced
from support.simulated.volumes import (
    B,
    claim,
    claim_phase,
    holders,
    label_nodes,
    node_of,
    phase,
    user,
    volume,
)
from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STATEFULSETS
from vacate.api.options import DeleteOptions
from vacate.sim.fenceagents import Behaviour
from vacate.sim.invariants.exclusivevolumes import VolumeUse
from vacate.sim.invariants.podprocesses import PodProcesses
from vacate.testing import statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

VOLUMES = ("exclusivevolume-controller",)
GATES = (*VOLUMES, "exclusivevolumegate-controller")
FOR_EVER = [{key: value for key, value in one.items() if key != "tolerationSeconds"} for one in SOON]


async def member_on_lost_node(made: Fenced) -> None:
    """A StatefulSet of one with an exclusive volume. At first only one node reaches the storage."""
    world = made.world
    await label_nodes(world, LOST)
    await world.client.create(PERSISTENTVOLUMES, volume())
    mounts = [{"name": "main", "image": "db:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]
    template = {"spec": {"tolerations": SOON, "containers": mounts}}
    spec = {"volumeClaimTemplates": [claim()]}
    await world.client.create(
        STATEFULSETS, statefulset("db", replicas=1, template=template, spec=spec), "default"
    )
    await world.until(lambda: phase(world, "db-0") == "Running", 120.0, "the member runs")
    assert holders(world) == (LOST, ["db-0"])
    await label_nodes(world, B)


async def look(made: Fenced, found: list[str], *, forced: bool = False) -> None:
    """After each commit: no volume on two nodes, whatever the API says, and no pod twice unless forced."""
    processes = PodProcesses(made.pool.machines)
    use = VolumeUse(processes)
    while True:
        pods = made.world.objects(PODS)
        broken = list(processes.look(pods, made.world.sim.clock.now()))
        found += [*use.look(pods), *(() if forced else broken)]
        await made.world.server.changed()


def test_a_fence_hands_the_volume_over_and_the_member_runs_on_another_node() -> None:
    async def body(made: Fenced) -> None:
        world, found = made.world, list[str]()
        await member_on_lost_node(made)
        async with beside(look(made, found)):
            await made.policy()
            made.pool.isolate(LOST)
            await world.until(lambda: made.phase() == "Fenced", 900.0, "the node is fenced")
            await world.until(
                lambda: (node_of(world, "db-0"), phase(world, "db-0")) == (B, "Running"),
                300.0,
                "it runs on B",
            )
            assert holders(world) == (B, ["db-0"])
            await asyncio.sleep(0)
        assert found == []

    fenced(body, beside_it=VOLUMES)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("gated", [True, False])
def test_a_pod_that_waits_for_a_volume_of_a_lost_node_is_a_reason_to_fence_it(
    gated: bool, forced: bool
) -> None:
    """The pod that has the volume stays on the lost node for ever, or was force-deleted from it."""

    async def body(made: Fenced) -> None:
        world = made.world
        await label_nodes(world, LOST)
        await world.client.create(PERSISTENTVOLUMES, volume())
        await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
        await world.until(lambda: claim_phase(world) == "Bound", 60, "bound")
        await world.client.create(PODS, user("first", tolerations=FOR_EVER), "default")
        await world.until(lambda: phase(world, "first") == "Running", 120, "the first runs")
        await label_nodes(world, B)
        await made.policy()
        made.pool.isolate(LOST)
        await world.until(lambda: made.phase() == "Unreachable", 300)
        assert "no pod waits" in made.row()["message"]
        if forced:
            await world.client.delete(PODS, "first", "default", options=DeleteOptions(grace_period_seconds=0))
        await world.sim.clock.sleep(300)
        assert (made.phase(), made.asked("off")) == ("Unreachable", [])
        await world.client.create(PODS, user("next", node=B, gated=gated), "default")
        await world.until(lambda: made.row().get("podsWaiting") == 1, 30, "the pod is counted at once")
        if not forced:
            await world.until(lambda: made.phase() == "Fenced", 300, "fenced")
        await world.until(lambda: phase(world, "next") == "Running", 300, "the next has the volume")
        assert node_of(world, "next") == B

    fenced(body, beside_it=GATES, watch=lambda made: look(made, made.breaches, forced=forced))


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("behaviour", [Behaviour.LIES, Behaviour.HANGS])
def test_a_fence_that_is_not_confirmed_leaves_pod_and_volume_where_they_are(behaviour: Behaviour) -> None:
    async def body(made: Fenced) -> None:
        world = made.world
        await member_on_lost_node(made)
        await made.policy()
        made.pool.isolate(LOST)
        await world.until(lambda: made.phase() == "Failed", 900.0)
        await world.sim.clock.sleep(1200.0)
        assert holders(world) == (LOST, ["db-0"])
        assert node_of(world, "db-0") == LOST
        # The network heals before the agent is mended: the node itself ends the pod, and the next one starts.
        made.pool.rejoin(LOST)
        await world.until(
            lambda: phase(world, "db-0") == "Running" and made.condition("Failing") == "False",
            900.0,
            "all is well again",
        )

    fenced(body, beside_it=VOLUMES, behaviours={LOST: behaviour})
