"""The fifteen steps of pod safety's section on storage, one by one, and what follows when A is cut off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from support.simulated.clusters import in_world
from support.simulated.volumes import (
    ELSEWHERE,
    A,
    B,
    attached,
    claim,
    claim_phase,
    holders,
    label_nodes,
    node_of,
    phase,
    user,
    volume,
)
from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.objects import dig
from vacate.api.options import DeleteOptions
from vacate.sim.cluster import World

pytestmark = pytest.mark.sim


async def step_1(world: World) -> None:
    """An administrator creates a volume for the nodes of one storage cluster."""
    await label_nodes(world, A, B)
    await world.client.create(PERSISTENTVOLUMES, volume())


async def step_2(world: World) -> None:
    """A user's claim is bound to it."""
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
    await world.until(lambda: claim_phase(world) == "Bound", 60, "the claim is bound")
    bound = world.find(PERSISTENTVOLUMES, "disk", "")
    assert dig(bound, "spec", "claimRef", "name") == "data"
    assert attached(world) is None


async def step_3(world: World) -> None:
    """The user creates a pod that refers to the claim."""
    pod = user("one")
    pod["metadata"]["annotations"] = {"sim.vacate.dev/stop-seconds": "25"}
    await world.client.create(PODS, pod, "default")


async def step_4(world: World) -> None:
    """The scheduler binds it to a node that reaches the volume."""
    # The third node is empty as the others are; only the volume's affinity keeps the pod away from it.
    await world.until(lambda: node_of(world, "one") != "", 60, "the pod has a node")
    assert node_of(world, "one") in (A, B)


async def step_5(world: World) -> None:
    """The node sees that the volume must be attached, and does not start the pod before."""
    # With the controller away, nothing attaches the volume, however long the node waits.
    assert phase(world, "one") in ("", "Pending")


async def step_6(world: World) -> None:
    """The controller swaps the volume's record: attached to that node and to that pod."""
    await world.evictions.start()
    await world.until(lambda: attached(world) is not None, 60, "the volume is attached")
    assert holders(world) == (node_of(world, "one"), ["one"])


async def step_7(world: World) -> None:
    """The node sees the attachment and runs the pod."""
    await world.until(lambda: phase(world, "one") == "Running", 60, "the first pod runs")


async def step_8(world: World) -> None:
    """The user terminates the pod, which takes its time."""
    await world.client.delete(PODS, "one", "default", DeleteOptions(grace_period_seconds=30))


async def step_9(world: World) -> None:
    """The user creates a new pod that refers to the claim."""
    other = B if node_of(world, "one") == A else A
    await world.client.create(PODS, user("two", node=other), "default")


async def step_10(world: World) -> None:
    """The scheduler binds it to the other node, which also reaches the volume."""
    await world.until(lambda: node_of(world, "two") != "", 60, "the second pod has a node")
    assert {node_of(world, "one"), node_of(world, "two")} == {A, B}


async def step_11(world: World) -> None:
    """The other node sees that the volume is attached to the first one, and waits."""
    await world.sim.clock.sleep(10)
    assert (phase(world, "one"), phase(world, "two")) == ("Running", "Pending")
    assert holders(world) == (node_of(world, "one"), ["one"])


async def step_12(world: World) -> None:
    """The first node completes the deletion of the first pod."""
    await world.until(lambda: phase(world, "one") == "", 120, "the first pod is gone")


async def step_13(world: World) -> None:
    """The controller sees that the pod is gone, and clears the record."""
    await world.until(lambda: "one" not in holders(world)[1], 60, "the first pod has lost the volume")


async def step_14(world: World) -> None:
    """The controller attaches the volume to the other node and the second pod."""
    await world.until(lambda: attached(world) is not None, 60, "the volume is attached again")
    assert holders(world) == (node_of(world, "two"), ["two"])


async def step_15(world: World) -> None:
    """The other node sees the attachment and runs the second pod."""
    await world.until(lambda: phase(world, "two") == "Running", 60, "the second pod runs")


Step = Callable[[World], Awaitable[None]]
STEPS: tuple[Step, ...] = (
    step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, step_9, step_10, step_11, step_12,
    step_13, step_14, step_15,
)  # fmt: skip


async def walk(world: World, until: int) -> None:
    """The steps from the first on; the controller that attaches is away until the sixth."""
    await world.evictions.crash()
    for step in STEPS[:until]:
        await step(world)


@pytest.mark.thorough(beyond=5)
@pytest.mark.parametrize("last", range(1, 16), ids=lambda last: f"step-{last}")
def test_step(last: int) -> None:
    in_world(lambda world: walk(world, last))


def test_a_node_waits_for_as_long_as_nothing_attaches() -> None:
    async def body(world: World) -> None:
        await walk(world, 5)
        await world.sim.clock.sleep(300)
        assert phase(world, "one") == "Pending"
        assert attached(world) is None
        await step_6(world)
        await step_7(world)

    in_world(body)


def test_a_partition_after_step_11_blocks_until_the_first_node_is_fenced() -> None:
    async def body(world: World) -> None:
        await walk(world, 11)
        first = node_of(world, "one")
        world.pool.isolate(first)
        await world.sim.clock.sleep(1200)
        assert holders(world) == (first, ["one"])
        assert phase(world, "two") == "Pending"
        # Fenced: the machine is off, and only then is the node declared out of service.
        world.pool.crash(first)
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "fenced", "effect": "NoExecute"}
        await world.client.patch(NODES, first, {"spec": {"taints": [taint]}})
        for step in STEPS[11:]:
            await step(world)

    in_world(body)


def test_only_nodes_that_reach_the_volume_are_considered() -> None:
    async def body(world: World) -> None:
        await walk(world, 2)
        await world.client.create(PODS, user("stray", node=ELSEWHERE), "default")
        await world.sim.clock.sleep(60)
        found = world.find(PODS, "stray", "default")
        assert node_of(world, "stray") == ""
        message = dig(found, "status", "conditions")[0]["message"]
        assert "didn't match PersistentVolume's node affinity" in message

    in_world(body)
