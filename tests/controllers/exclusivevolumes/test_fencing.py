"""From a lost node to a StatefulSet's pod with its exclusive volume on another node, by a FencingPolicy."""

from __future__ import annotations

import asyncio

import pytest

from support.simulated.fencing import LOST, SOON, Fenced, beside, fenced
from support.simulated.volumes import B, claim, holders, label_nodes, node_of, phase, volume
from vacate.api.kinds import PERSISTENTVOLUMES, PODS, STATEFULSETS
from vacate.sim.fenceagents import Behaviour
from vacate.sim.invariants.exclusivevolumes import VolumeUse
from vacate.sim.invariants.podprocesses import PodProcesses
from vacate.testing import statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

VOLUMES = ("exclusivevolume-controller",)


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


async def look(made: Fenced, found: list[str]) -> None:
    """After each commit: no volume on two nodes, whatever the API says."""
    processes = PodProcesses(made.pool.machines)
    use = VolumeUse(processes)
    while True:
        pods = made.world.objects(PODS)
        found += processes.look(pods, made.world.sim.clock.now())
        found += use.look(pods)
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
