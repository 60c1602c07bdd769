"""Nodes that are not ready say whether they may be deleted without a confirmation, in this outage only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.simulated.clusters import Requests, in_world
from support.simulated.volumes import claim, claim_phase, label_nodes, user, volume
from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions
from vacate.controllers.nodedown.deletionmarks import GATE
from vacate.embedded.cluster.controlplane import CONTROLLERS
from vacate.features import FeatureGates
from vacate.kube.exclusivevolumes import ATTACHMENT, EXCLUSIVE
from vacate.kube.nodes import SAFE_TO_DELETE
from vacate.sim.cluster import World
from vacate.testing import pod

pytestmark = pytest.mark.sim

NODE, FOR_EVER = "node-1", [{"operator": "Exists"}]
STATEFUL = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}]
GATES = FeatureGates(((GATE, True), ("NodeMaintenance", False), ("Fencing", False)))
# The StatefulSet is not there: nobody must miss it.
OTHERS = ("statefulset-controller", "garbage-collector-controller")
SETTINGS: Any = {
    "gates": GATES,
    "controllers": [one for one in CONTROLLERS if one.component not in OTHERS],
}
LONG = 300.0


def marked(world: World) -> bool | None:
    """Whether the Node says that it may go, of this outage; None while it says nothing."""
    found = world.find(NODES, NODE) or {}
    mark = dig(found, "metadata", "annotations", SAFE_TO_DELETE)
    (ready,) = [one for one in found["status"]["conditions"] if one["type"] == "Ready"]
    return None if mark is None else mark == ready["lastTransitionTime"] and ready["status"] != "True"


def is_lost(world: World) -> bool:
    found = (world.find(NODES, NODE) or {})["status"]["conditions"]
    return any(one["type"] == "Ready" and one["status"] == "Unknown" for one in found)


async def run(world: World, made: Obj) -> None:
    await world.client.create(PODS, made, "default")
    await world.until(lambda: bool(world.healthy_pods()), LONG, "it runs")


async def member(world: World) -> None:
    made = pod("db-0", spec={"nodeName": NODE, "tolerations": FOR_EVER})
    made["metadata"]["ownerReferences"] = STATEFUL
    await run(world, made)


async def plain(world: World) -> None:
    await run(world, pod("web", spec={"nodeName": NODE, "tolerations": FOR_EVER}))


async def with_volume(world: World, annotations: dict[str, str] | None = None, **parts: Any) -> None:
    await label_nodes(world, NODE)
    made = volume("disk", **parts)
    if annotations is not None:
        made["metadata"]["annotations"] = annotations
    await world.client.create(PERSISTENTVOLUMES, made)
    wanted = claim("data", volumeName="disk", **parts)
    await world.client.create(PERSISTENTVOLUMECLAIMS, wanted, "default")
    await world.until(lambda: claim_phase(world, "data") == "Bound", LONG, "bound")
    await run(world, user("db", node=NODE, tolerations=FOR_EVER))


async def force_deleted(world: World) -> None:
    """The pod object is gone; the volume is still on the node."""
    await with_volume(world)
    world.pool.isolate(NODE)
    await world.client.delete(PODS, "db", "default", DeleteOptions(grace_period_seconds=0))


async def _write_record(world: World, text: str | None) -> None:
    await world.client.patch(PERSISTENTVOLUMES, "disk", {"metadata": {"annotations": {ATTACHMENT: text}}})


async def listed_only(world: World) -> None:
    """Somebody has removed the record as well: only the node itself says that it has the volume."""
    await force_deleted(world)
    await _write_record(world, None)


async def listed_and_shared(world: World) -> None:
    await listed_only(world)
    await world.client.patch(PERSISTENTVOLUMES, "disk", {"metadata": {"annotations": {EXCLUSIVE: "false"}}})


@pytest.mark.parametrize(
    ("prepare", "safe"),
    [
        (plain, True),
        (member, None),
        (with_volume, None),
        (force_deleted, None),
        (listed_only, None),
        (listed_and_shared, True),
    ],
)
def test_a_node_may_go_where_nothing_on_it_must_run_once(
    prepare: Callable[[World], Awaitable[None]], safe: bool | None
) -> None:
    async def body(world: World) -> None:
        await prepare(world)
        assert marked(world) is None  # it is ready
        world.pool.isolate(NODE)
        await world.until(lambda: is_lost(world), LONG, "lost")
        await world.sim.clock.sleep(60)
        assert marked(world) is safe

    in_world(body, **SETTINGS)


def test_what_comes_and_goes_while_the_node_is_lost_and_what_was_true_of_an_earlier_outage() -> None:
    async def body(world: World) -> None:
        sent = Requests(world)
        world.pool.isolate(NODE)
        await world.until(lambda: marked(world) is True, LONG, "it may go")
        made = pod("late", spec={"nodeName": NODE, "tolerations": FOR_EVER})
        made["metadata"]["ownerReferences"] = STATEFUL
        await world.client.create(PODS, made, "default")
        await world.until(lambda: marked(world) is None, LONG, "one has come")
        await world.client.delete(PODS, "late", "default", DeleteOptions(grace_period_seconds=0))
        await world.until(lambda: marked(world) is True, LONG, "and is gone")
        await world.evictions.crash()
        world.pool.rejoin(NODE)
        await world.until(lambda: not is_lost(world), LONG, "back while no manager runs")
        assert marked(world) is False
        await member(world)
        world.pool.isolate(NODE)
        await world.until(lambda: is_lost(world), LONG, "lost again")
        assert marked(world) is False  # of the earlier outage: a policy that compares the times asks
        await world.evictions.start()
        await world.until(lambda: marked(world) is None, LONG, "what is not true is taken back")
        await world.sim.clock.sleep(600)
        assert sent.count < 100

    in_world(body, **SETTINGS)


def test_a_record_that_nobody_can_read_may_be_of_any_node() -> None:
    async def body(world: World) -> None:
        await world.client.create(PERSISTENTVOLUMES, volume("disk"))
        world.pool.isolate(NODE)
        await world.until(lambda: marked(world) is True, LONG, "it may go")
        await _write_record(world, "{")
        await world.until(lambda: marked(world) is None, LONG, "it may have the volume")
        await _write_record(world, None)
        await world.until(lambda: marked(world) is True, LONG, "it may go again")

    in_world(body, **SETTINGS)


def test_a_class_that_is_marked_while_the_node_is_lost() -> None:
    async def body(world: World) -> None:
        made = {"metadata": {"name": "fast"}, "provisioner": "none"}
        await world.client.create(STORAGECLASSES, made)
        await with_volume(world, {}, storageClassName="fast")
        world.pool.isolate(NODE)
        await world.until(lambda: marked(world) is True, LONG, "its volume may be shared")
        await world.client.patch(STORAGECLASSES, "fast", {"metadata": {"annotations": {EXCLUSIVE: "true"}}})
        await world.until(lambda: marked(world) is None, LONG, "no longer")

    in_world(body, **SETTINGS)
