"""Which pods give an exclusive volume back: what counts as a confirmation, and what does not."""

from __future__ import annotations

from functools import partial

import pytest

from support.simulated.clusters import in_world
from support.simulated.volumes import (
    A,
    B,
    attached,
    claim,
    claim_phase,
    holders,
    label_nodes,
    node_of,
    phase,
    stock_nodes,
    user,
    volume,
)
from support.simulated.workloads import events_of
from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.objects import dig
from vacate.api.options import DeleteOptions
from vacate.api.types import PersistentVolume
from vacate.cli.common.connection import Cluster
from vacate.cli.detach import break_attachment
from vacate.cli.explain.command import _with_volumes_and_node
from vacate.cli.explain.volumes import shared_volumes
from vacate.kube.exclusivevolumes import CLOSED, DETACHED, OPENED, names_in_use
from vacate.sim.cluster import World
from vacate.views.model import Explanation

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=6)]

FORCE = DeleteOptions(grace_period_seconds=0)
IN_USE = "kubernetes.io/iscsi/10.0.0.9:3260:iqn.2026-11.dev.vacate:disk:0"


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that neither wait for volumes nor list them, as kubelets do with NFS."""

    stock_nodes(monkeypatch)


async def given(world: World) -> None:
    await label_nodes(world, A, B)
    await world.client.create(PERSISTENTVOLUMES, volume())
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
    await world.until(lambda: claim_phase(world) == "Bound", 60, "bound")


async def running(world: World, name: str) -> None:
    await world.until(lambda: phase(world, name) == "Running", 120, f"{name} runs")


async def report_in_use(world: World, *names: str) -> None:
    await world.client.patch(NODES, A, {"status": {"volumesInUse": list(names)}}, subresource="status")


def _taken(world: World) -> str:
    return str(dig(world.find(PERSISTENTVOLUMES, "disk", ""), "metadata", "annotations", DETACHED) or "")


def gate(world: World) -> str:
    found = attached(world)
    return found.gate if found is not None else "free"


def gated(world: World, name: str) -> bool:
    return bool(dig(world.find(PODS, name, "default"), "spec", "schedulingGates"))


@pytest.mark.usefixtures("stock")
def test_the_record_says_that_a_gate_is_open_before_it_is() -> None:
    async def body(world: World) -> None:
        await given(world)
        before: list[str] = []

        async def watch() -> None:
            while gated(world, "one"):
                before.append(gate(world))
                await world.server.changed()

        await world.client.create(PODS, user("one", gated=True, node=A), "default")
        await watch()
        assert before[-1] == OPENED
        assert CLOSED in before
        await running(world, "one")
        await world.until(lambda: holders(world) == (A, ["one"]), 60, "the node is in the record")

    in_world(body)


@pytest.mark.usefixtures("stock")
def test_a_manager_that_is_away_when_the_pod_is_bound_does_not_free_its_volume() -> None:
    """The record has the pod and no node. The node is lost, and the pod is removed by force."""

    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", gated=True, node=A), "default")
        while gated(world, "one"):
            await world.server.changed()
        await world.evictions.crash()
        await running(world, "one")
        world.pool.isolate(A)
        await world.client.delete(PODS, "one", "default", FORCE)
        await world.client.create(PODS, user("two", gated=True, node=B), "default")
        await world.evictions.start()
        await world.sim.clock.sleep(600)
        assert (holders(world), node_of(world, "two")) == (("", ["one"]), "")
        (held,) = events_of(world, "disk", "VolumeHeld")
        assert "it is not known on which node it ran" in held
        assert "vacate detach disk --confirm" in held
        await break_attachment(
            Cluster(world.client, "default", world.sim.clock), "disk", confirm=True, dry_run=False
        )
        await running(world, "two")

    in_world(body)


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("manager", ["runs", "is-away"])
def test_a_pod_that_is_removed_at_the_gate_gives_the_volume_back(manager: str) -> None:
    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        await world.client.create(PODS, user("two", gated=True), "default")
        await world.until(lambda: events_of(world, "two", "WaitingForVolume") != [], 60, "two waits")
        if manager == "is-away":
            await world.evictions.crash()
        await world.client.delete(PODS, "two", "default")
        await world.client.delete(PODS, "one", "default")
        if manager == "is-away":
            await world.until(lambda: dig(world.find(PODS, "one", "default"), "status", "phase") in (
                "Succeeded", "Failed", None), 120, "one has ended")  # fmt: skip
            await world.evictions.start()
        await world.client.create(PODS, user("three", gated=True), "default")
        if manager == "runs":
            await running(world, "three")

    in_world(body)


@pytest.mark.usefixtures("stock")
def test_a_pod_that_never_got_a_node_gives_the_volume_back() -> None:
    """Its gate was open, and no node suits it. The server says so as it removes the pod."""

    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", gated=True, node="no-such-node"), "default")
        await world.until(lambda: gate(world) == OPENED and not gated(world, "one"), 60, "the gate is open")
        await world.client.delete(PODS, "one", "default")
        await world.client.create(PODS, user("two", gated=True), "default")
        await running(world, "two")

    in_world(body)


def test_a_force_deletion_waits_for_the_node_although_it_is_ready() -> None:
    """The agent hangs: its node is ready for a while yet, and the processes run on."""

    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        world.pool.isolate(A)  # less long than it takes until somebody notices
        await world.client.delete(PODS, "one", "default", FORCE)
        await world.client.create(PODS, user("two", node=B), "default")
        await world.sim.clock.sleep(20)
        ready = [one for one in world.find(NODES, A, "")["status"]["conditions"] if one["type"] == "Ready"]  # type: ignore[index]
        assert ready[0]["status"] == "True"
        assert (holders(world), phase(world, "two")) == ((A, ["one"]), "Pending")
        world.pool.rejoin(A)
        await running(world, "two")
        assert holders(world) == (B, ["two"])

    in_world(body)


async def _unlists(world: World) -> None:
    await report_in_use(world)


async def _restarts(world: World) -> None:
    await world.client.patch(NODES, A, {"status": {"nodeInfo": {"bootID": "another"}}}, subresource="status")


async def _is_fenced(world: World) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "fenced", "effect": "NoExecute"}
    await world.client.patch(NODES, A, {"spec": {"taints": [taint]}})


async def _is_deleted(world: World) -> None:
    world.pool.isolate(A)
    await world.client.delete(NODES, A)


@pytest.mark.thorough(beyond=3)
@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("confirms", [_unlists, _restarts, _is_fenced, _is_deleted])
@pytest.mark.parametrize("restarted", [False, True], ids=["same-process", "restarted"])
def test_a_force_deletion_on_a_stock_node_frees_nothing_until_it_is_confirmed(
    confirms: object, restarted: bool
) -> None:
    async def body(world: World) -> None:
        await given(world)
        assert IN_USE in names_in_use(
            await world.client.get(PERSISTENTVOLUMES, "disk", into=PersistentVolume)
        )
        await world.client.create(PODS, user("one", gated=True, node=A), "default")
        await running(world, "one")
        world.pool.isolate(A)  # it is a kubelet's part that the test plays from here on
        if confirms is _unlists:
            await report_in_use(world, IN_USE)
            await world.until(lambda: (found := attached(world)) is not None and found.listed, 60, "seen")
        await world.client.delete(PODS, "one", "default", FORCE)
        await world.client.create(PODS, user("two", gated=True, node=B), "default")
        await world.sim.clock.sleep(20)
        if restarted:
            await world.evictions.crash()
            await world.evictions.start()
        await world.sim.clock.sleep(600)
        assert (holders(world), node_of(world, "two")) == ((A, ["one"]), "")
        await confirms(world)  # type: ignore[operator]
        await running(world, "two")

    in_world(body)


def test_a_volume_whose_record_is_lost_stays_with_the_node_that_lists_it() -> None:
    """Nothing else is left of it: the pod was removed by force, and the manager starts anew."""

    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        world.pool.isolate(A)
        await world.evictions.crash()
        await world.client.delete(PODS, "one", "default", FORCE)
        await world.client.patch(
            PERSISTENTVOLUMES, "disk", {"metadata": {"annotations": {"vacate.dev/attachment": None}}}
        )
        await world.client.create(PODS, user("two", node=B), "default")
        await world.client.create(PODS, user("a-third", gated=True), "default")
        await world.evictions.start()
        await world.sim.clock.sleep(300)
        assert (phase(world, "two"), node_of(world, "a-third"), attached(world)) == ("Pending", "", None)
        (held,) = events_of(world, "disk", "VolumeHeld")
        assert f"node {A} reports that it uses it" in held
        cluster = Cluster(world.client, "default", world.sim.clock)
        assert await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        await running(world, "two")
        world.pool.rejoin(A)
        await world.until(lambda: _taken(world) == "", 120, "node A has confirmed")

    in_world(body)


@pytest.mark.usefixtures("stock")
def test_two_pods_that_run_with_a_volume_on_two_nodes_are_reported_on_both() -> None:
    """Without the gate nothing on a stock node holds the second one back."""

    async def body(world: World) -> None:
        await given(world)
        for name, node in (("one", A), ("two", B)):
            await world.client.create(PODS, user(name, node=node), "default")
            await running(world, name)
        await world.until(lambda: events_of(world, "two", "VolumeShared") != [], 60, "an Event reports it")
        (first,), (second,) = (events_of(world, name, "VolumeShared") for name in ("one", "two"))
        assert f"at the same time as default/two on {B}" in first
        assert f"at the same time as default/one on {A}" in second
        cluster = Cluster(world.client, "default", world.sim.clock)
        shown = await _with_volumes_and_node(cluster, "one", Explanation("default", "one", ""))
        assert f"used at the same time by pod default/two on node {B}" in shown.awaited[0]
        (note,) = await shared_volumes(cluster, "default")
        assert "volume disk is used on several nodes at the same time, by pods of namespace default" in note
        assert f"one on node {A}, two on node {B}" in note
        assert await shared_volumes(cluster, "kube-system") == []
        counted = partial(world.server.metrics.registry.get_sample_value, "vacate_exclusive_volumes_shared")
        assert counted() == 1
        await world.client.delete(PODS, "two", "default")
        await world.until(lambda: phase(world, "two") == "", 120, "it is gone")
        assert await shared_volumes(cluster, "default") == []
        await world.sim.clock.sleep(5)
        assert counted() == 0

    in_world(body)
