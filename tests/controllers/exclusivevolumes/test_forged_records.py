"""The record of a volume is removed, or written by others, while a pod runs with the volume."""

from __future__ import annotations

import msgspec
import pytest

from support.simulated.clusters import in_world
from support.simulated.volumes import (
    A,
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
from support.simulated.workloads import events_of
from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.objects import dig
from vacate.cli.common.connection import Cluster
from vacate.cli.detach import break_attachment
from vacate.kube.exclusivevolumes import ATTACHMENT, DETACHED
from vacate.sim.cluster import World
from vacate.sim.invariants.exclusivevolumes import VolumeUse
from vacate.sim.invariants.podprocesses import PodProcesses

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]


async def given_one_on_a(world: World) -> None:
    """The pod `one` runs on node A with the volume."""
    await label_nodes(world, A, B)
    await world.client.create(PERSISTENTVOLUMES, volume())
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
    await world.until(lambda: claim_phase(world) == "Bound", 60, "bound")
    await world.client.create(PODS, user("one", node=A), "default")
    await world.until(lambda: phase(world, "one") == "Running", 120, "one runs")


async def given_two_on_b(world: World) -> None:
    """A pod that waits on node B, and comes before `one` in the order of names."""
    await world.client.create(PODS, user("a-two", node=B), "default")
    await world.until(lambda: node_of(world, "a-two") == B, 60, "two has a node")


async def write_record(world: World, text: str | None, key: str = ATTACHMENT) -> None:
    await world.client.patch(PERSISTENTVOLUMES, "disk", {"metadata": {"annotations": {key: text}}})


def record(node: str, name: str, uid: str) -> str:
    pods = [{"namespace": "default", "name": name, "uid": uid}]
    return msgspec.json.encode({"node": node, "pods": pods}).decode()


def uid_of(world: World, name: str) -> str:
    return str(dig(world.find(PODS, name, "default"), "metadata", "uid"))


def violations(world: World) -> list[str]:
    processes = PodProcesses(world.pool.machines)
    list(processes.look(world.objects(PODS), world.sim.clock.now()))
    return list(VolumeUse(processes).look(world.objects(PODS)))


@pytest.mark.parametrize("silent", [False, True], ids=["reports", "silent"])
@pytest.mark.parametrize("restarted", [False, True], ids=["same-process", "restarted"])
def test_a_record_that_is_removed_gives_the_volume_to_nobody_else(silent: bool, restarted: bool) -> None:
    async def body(world: World) -> None:
        await given_one_on_a(world)
        if silent:
            world.pool.isolate(A)
            await world.client.delete(PODS, "one", "default")
        await given_two_on_b(world)
        if restarted:
            await world.evictions.crash()
        await write_record(world, None)
        if restarted:
            await world.evictions.start()
        await world.until(lambda: holders(world) == (A, ["one"]), 120, "the record is written again")
        await world.sim.clock.sleep(300)
        assert (holders(world), phase(world, "a-two")) == ((A, ["one"]), "Pending")
        assert violations(world) == []

    in_world(body)


def test_a_record_of_a_pod_that_never_was_gives_the_volume_to_nobody_else() -> None:
    async def body(world: World) -> None:
        await given_one_on_a(world)
        await given_two_on_b(world)
        await write_record(world, record(B, "never", "no-such-uid"))
        await world.until(lambda: holders(world) == (A, ["one"]), 120, "the record is written again")
        await world.sim.clock.sleep(300)
        assert (phase(world, "one"), phase(world, "a-two")) == ("Running", "Pending")
        assert violations(world) == []

    in_world(body)


def test_a_record_for_a_pod_at_the_gate_does_not_open_it_while_another_runs() -> None:
    async def body(world: World) -> None:
        await given_one_on_a(world)
        await world.client.create(PODS, user("a-two", gated=True), "default")
        await write_record(world, record("", "a-two", uid_of(world, "a-two")))
        await world.until(lambda: holders(world) == (A, ["one"]), 120, "the record is written again")
        await world.sim.clock.sleep(300)
        assert node_of(world, "a-two") == ""
        await world.client.delete(PODS, "one", "default")
        await world.until(lambda: phase(world, "a-two") == "Running", 300, "two runs after one")

    in_world(body)


def test_the_node_from_which_a_volume_was_taken_gets_it_again_only_when_it_has_confirmed() -> None:
    async def body(world: World) -> None:
        await given_one_on_a(world)
        world.pool.isolate(A)
        await world.client.delete(PODS, "one", "default")
        cluster = Cluster(world.client, "default", world.sim.clock)
        await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        taken = dig(world.find(PERSISTENTVOLUMES, "disk", ""), "metadata", "annotations", DETACHED)
        assert f'"node":"{A}"' in taken
        assert uid_of(world, "one") in taken
        await given_two_on_b(world)
        await world.until(lambda: phase(world, "a-two") == "Running", 120, "two runs")
        assert phase(world, "one") == "Running"  # as far as the API knows; a person has declared otherwise
        # The next pod is for node A again, which has not reported anything yet.
        tolerant = [{"operator": "Exists"}]
        await world.client.create(PODS, user("three", node=A, tolerations=tolerant), "default")
        await world.client.delete(PODS, "a-two", "default")
        await world.until(lambda: phase(world, "a-two") == "", 120, "two has ended")
        await world.sim.clock.sleep(300)
        assert holders(world) == ("", [])
        world.pool.rejoin(A)
        await world.until(lambda: phase(world, "three") == "Running", 300, "three runs after one has ended")
        assert (phase(world, "one"), holders(world)) == ("", (A, ["three"]))
        assert DETACHED not in world.find(PERSISTENTVOLUMES, "disk", "")["metadata"]["annotations"]  # type: ignore[index]

    in_world(body)


def test_pods_that_run_on_two_nodes_are_named_and_a_third_does_not_join_them() -> None:
    async def body(world: World) -> None:
        await given_one_on_a(world)
        await given_two_on_b(world)
        await world.evictions.crash()
        await write_record(world, record(B, "a-two", uid_of(world, "a-two")))  # with nobody there to object
        await world.until(lambda: phase(world, "a-two") == "Running", 120, "two runs beside one")
        await write_record(world, None)
        await world.evictions.start()
        await world.client.create(PODS, user("three", gated=True), "default")
        await world.until(lambda: events_of(world, "disk", "VolumeHeld") != [], 120, "an Event reports it")
        (message,) = events_of(world, "disk", "VolumeHeld")
        assert "several nodes" in message
        assert f"default/one on {A}" in message
        assert f"default/a-two on {B}" in message
        assert (holders(world), node_of(world, "three")) == (("", []), "")
        await world.client.delete(PODS, "a-two", "default")
        await world.until(lambda: holders(world) == (A, ["one"]), 120, "one keeps it")

    in_world(body)
