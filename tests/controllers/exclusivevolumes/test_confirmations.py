"""Which pods give an exclusive volume back: what counts as a confirmation, and what does not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

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
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.objects import dig
from vacate.api.options import DeleteOptions
from vacate.api.types import Node, PersistentVolume
from vacate.cli.common.connection import Cluster
from vacate.cli.detach import break_attachment
from vacate.cli.explain.command import _with_volumes_and_node
from vacate.cli.explain.volumes import volumes_notes
from vacate.client.codec import codec_for
from vacate.controllers.exclusivevolumes.confirmation import known_off
from vacate.controllers.exclusivevolumes.controller import ExclusiveVolumes
from vacate.kube.exclusivevolumes import CLOSED, DETACHED, OPENED, names_in_use
from vacate.sim.cluster import World
from vacate.views.model import Explanation

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=6)]

Step = Callable[[World], Awaitable[None]]
FORCE = DeleteOptions(grace_period_seconds=0)
OUT = {"key": "node.kubernetes.io/out-of-service", "value": "fenced", "effect": "NoExecute"}
TOLERANT = [{"operator": "Exists"}]
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


def deleted(world: World) -> str:
    found = attached(world)
    return found.deleted if found is not None else ""


def _boot_of_holder(world: World) -> str:
    found = attached(world)
    return found.pods[0].boot if found is not None else ""


def readiness_of(world: World) -> str:
    found = dig(world.find(NODES, A), "status", "conditions") or ()
    return next((str(one["status"]) for one in found if one["type"] == "Ready"), "")


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
        assert readiness_of(world) == "True"
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
    await world.client.patch(NODES, A, {"spec": {"taints": [OUT]}})


@pytest.mark.thorough(beyond=3)
@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("confirms", [_unlists, _restarts, _is_fenced])
@pytest.mark.parametrize("restarted", [False, True], ids=["same-process", "restarted"])
def test_a_force_deletion_on_a_stock_node_frees_nothing_until_it_is_confirmed(
    confirms: Step, restarted: bool
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
        await confirms(world)
        await running(world, "two")

    in_world(body)


@pytest.mark.usefixtures("stock")
def test_an_out_of_service_taint_on_a_node_that_is_ready_frees_nothing() -> None:
    """Pod GC does not believe it either. When the node is silent, it counts."""

    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", gated=True, node=A, tolerations=TOLERANT), "default")
        await running(world, "one")
        await world.client.patch(NODES, A, {"spec": {"taints": [OUT]}})
        await world.client.delete(PODS, "one", "default", FORCE)
        await world.client.create(PODS, user("two", gated=True, node=B), "default")
        await world.sim.clock.sleep(600)
        assert (readiness_of(world), holders(world), node_of(world, "two")) == ("True", (A, ["one"]), "")
        world.pool.isolate(A)
        await running(world, "two")
        assert readiness_of(world) == "Unknown"

    in_world(body)


async def _forced(world: World) -> None:
    await world.client.delete(PODS, "one", "default", FORCE)


async def _left_to_pod_gc(world: World) -> None:
    """The pod is there when its Node goes: pod GC marks it as failed, and removes it."""


async def given_one_on_a_lost_node(world: World, removed: Step) -> None:
    await given(world)
    await world.client.create(PODS, user("one", gated=True, node=A, tolerations=TOLERANT), "default")
    await running(world, "one")
    world.pool.isolate(A)
    await world.until(lambda: readiness_of(world) == "Unknown", 120, "the node is lost")
    await removed(world)
    await world.client.create(PODS, user("two", gated=True, node=B), "default")


async def _confirmed(world: World) -> None:
    uid = dig(world.find(NODES, A), "metadata", "uid")
    await world.client.patch(NODES, A, {"metadata": {"annotations": {CONFIRMATION: uid}}})


async def _of_another(world: World) -> None:
    await world.client.patch(NODES, A, {"metadata": {"annotations": {CONFIRMATION: "another"}}})


async def _nothing(world: World) -> None:
    """As `kubectl delete node` of who does not know."""


@pytest.mark.thorough(beyond=2)
@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("removed", [_left_to_pod_gc, _forced])
@pytest.mark.parametrize("before", [_nothing, _of_another])
@pytest.mark.parametrize("restarted", [False, True], ids=["same-process", "restarted"])
def test_a_node_that_is_deleted_gives_no_volume_back(removed: Step, before: Step, restarted: bool) -> None:
    """Nobody has confirmed that its machine is off: it may be cut off, and write."""

    async def body(world: World) -> None:
        await given_one_on_a_lost_node(world, removed)
        await before(world)
        await world.client.delete(NODES, A)
        if restarted:
            await world.evictions.crash()
            await world.evictions.start()
        await world.until(lambda: phase(world, "one") == "", 300, "pod GC has removed the pod")
        await world.sim.clock.sleep(600)
        assert (holders(world), node_of(world, "two")) == ((A, ["one"]), "")
        held = events_of(world, "disk", "VolumeHeld")[-1]
        assert f"Node {A} was deleted without a confirmation that its machine is off" in held
        assert "vacate detach disk --confirm" in held
        cluster = Cluster(world.client, "default", world.sim.clock)
        shown = await _with_volumes_and_node(cluster, "two", Explanation("default", "two", ""))
        assert f"Node {A} was deleted" in shown.awaited[0]
        assert "vacate detach disk --confirm" in shown.awaited[0]
        assert "vacate fence" not in shown.awaited[0]
        (note,) = await volumes_notes(cluster, "default")
        assert "vacate detach disk --confirm" in note
        await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        await running(world, "two")

    in_world(body)


@pytest.mark.thorough(beyond=2)
@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("known", [_confirmed, _is_fenced])
@pytest.mark.parametrize("removed", [_left_to_pod_gc, _forced])
@pytest.mark.parametrize("restarted", [False, True], ids=["same-process", "restarted"])
def test_a_node_that_is_deleted_when_its_machine_is_known_to_be_off_gives_the_volume_back(
    known: Step, removed: Step, restarted: bool
) -> None:
    """The record remembers it, as nothing else is left of the Node when its pods are removed."""

    async def body(world: World) -> None:
        await given_one_on_a_lost_node(world, removed)
        assert holders(world) == (A, ["one"])
        await known(world)
        await world.client.delete(NODES, A)
        if restarted:

            def done() -> bool:
                return deleted(world) != "" or holders(world) != (A, ["one"])

            await world.until(done, 30, "it is recorded")
            await world.evictions.crash()
            await world.evictions.start()
        await running(world, "two")
        assert holders(world) == (B, ["two"])

    in_world(body)


@pytest.mark.usefixtures("stock")
def test_a_node_that_comes_back_after_a_wrong_confirmation_keeps_its_volume() -> None:
    """Its next deletion is another one, which nobody confirms."""

    async def body(world: World) -> None:
        await given_one_on_a_lost_node(world, _left_to_pod_gc)
        await _confirmed(world)
        await world.client.delete(NODES, A)
        await world.until(lambda: deleted(world) == "confirmed", 30, "it is recorded")
        world.pool.rejoin(A)
        await world.until(lambda: world.find(NODES, A) is not None, 30, "it has registered again")
        await world.until(lambda: deleted(world) == "", 30, "the record has forgotten it")
        assert (phase(world, "one"), holders(world)) == ("Running", (A, ["one"]))
        world.pool.isolate(A)
        await world.until(lambda: readiness_of(world) == "Unknown", 120, "the node is lost again")
        await world.client.delete(NODES, A)
        await world.until(lambda: phase(world, "one") == "", 300, "pod GC has removed the pod")
        await world.sim.clock.sleep(600)
        assert (holders(world), node_of(world, "two")) == ((A, ["one"]), "")
        world.pool.rejoin(A)
        await world.until(lambda: world.find(NODES, A) is not None, 30, "it has registered again")
        await world.until(lambda: _boot_of_holder(world) != "", 60, "from here on a restart counts")
        assert holders(world) == (A, ["one"])
        world.pool.crash(A)
        world.pool.start(A)  # a report of the running node would take back what is written in its name
        await running(world, "two")

    in_world(body)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("ready", "parts", "known"),
    [
        ("Unknown", {}, ""),
        ("Unknown", {"taint": True}, "fenced"),
        ("Unknown", {"confirmed": "u"}, "confirmed"),
        ("Unknown", {"confirmed": "u", "taint": True}, "confirmed"),
        ("Unknown", {"confirmed": "another"}, ""),
        ("False", {"confirmed": "u"}, "confirmed"),
        ("True", {"taint": True}, ""),
        ("True", {"confirmed": "u"}, ""),
    ],
)
def test_what_is_known_of_a_machine_when_its_node_is_deleted(ready: str, parts: Any, known: str) -> None:
    assert known_off(a_node(ready, **parts)) == known


@pytest.mark.unit
@pytest.mark.parametrize(
    ("version", "parts", "known"),
    [
        ("2", {"taint": True}, {A: "fenced"}),
        ("1", {"taint": True}, {}),
        ("1", {"confirmed": "u"}, {A: "confirmed"}),
    ],
    ids=["seen", "missed", "confirmed-and-missed"],
)
def test_a_fence_that_may_have_ended_before_a_deletion_that_was_missed_is_no_proof(
    version: str, parts: Any, known: dict[str, str]
) -> None:
    """The server gives a deletion a version of its own; after a gap the cache has the last that it knew."""
    volumes = ExclusiveVolumes(None, None)  # type: ignore[arg-type]
    volumes.on_node(None, a_node("Unknown", "1", **parts))
    volumes.on_node(a_node("Unknown", version, **parts), None)
    assert volumes._known_off == known
    volumes.on_node(None, a_node("True", "3"))
    assert volumes._known_off == {}


def a_node(ready: str, version: str = "1", *, taint: bool = False, confirmed: str = "") -> Node:
    meta = {"name": A, "uid": "u", "resourceVersion": version, "annotations": {CONFIRMATION: confirmed}}
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return codec_for(Node).convert(
        {"metadata": meta, "spec": {"taints": [OUT] if taint else []}, "status": status}
    )


@pytest.mark.usefixtures("stock")
def test_the_claim_of_an_ephemeral_volume_is_one_that_the_pod_uses() -> None:
    """Kubernetes makes it, with this name; and other pods may name it."""

    async def body(world: World) -> None:
        await label_nodes(world, A, B)
        await world.client.create(PERSISTENTVOLUMES, volume())
        made = claim("one-scratch")
        await world.client.create(PERSISTENTVOLUMECLAIMS, made, "default")
        await world.until(lambda: claim_phase(world, "one-scratch") == "Bound", 60, "bound")
        scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": made["spec"]}}}
        await world.client.create(PODS, user("one", gated=True, node=A, volumes=[scratch]), "default")
        await running(world, "one")
        assert holders(world) == (A, ["one"])
        await world.client.create(PODS, user("two", "one-scratch", gated=True, node=B), "default")
        world.pool.isolate(A)
        await world.client.delete(PODS, "one", "default", FORCE)
        await world.sim.clock.sleep(300)
        assert (holders(world), node_of(world, "two")) == ((A, ["one"]), "")
        await world.until(lambda: readiness_of(world) == "Unknown", 120, "lost")
        await _is_fenced(world)
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
@pytest.mark.parametrize("starting", [False, True], ids=["running", "init-containers"])
def test_two_pods_that_run_with_a_volume_on_two_nodes_are_reported_on_both(starting: bool) -> None:
    """Without the gate nothing on a stock node holds the second one back.

    Init containers write to the volume too, while the phase is Pending.
    """

    async def body(world: World) -> None:
        await given(world)
        for name, node in (("one", A), ("two", B)):
            if name == "two" and starting:
                world.pool.isolate(B)  # it is a kubelet's part that the test plays
            await world.client.create(PODS, user(name, node=node), "default")
            if name == "two" and starting:
                await world.until(lambda: node_of(world, "two") == B, 60, "it has a node")
                await world.sim.clock.sleep(5)
                assert events_of(world, "two", "VolumeShared") == []
                init = {"name": "first", "containerID": "containerd://1", "image": "", "imageID": "",
                         "ready": False, "restartCount": 0}  # fmt: skip
                status = {"phase": "Pending", "initContainerStatuses": [init]}
                await world.client.patch(PODS, "two", {"status": status}, "default", subresource="status")
            else:
                await running(world, name)
        await world.until(lambda: events_of(world, "two", "VolumeShared") != [], 60, "an Event reports it")
        (first,), (second,) = (events_of(world, name, "VolumeShared") for name in ("one", "two"))
        assert f"at the same time as default/two on {B}" in first
        assert f"at the same time as default/one on {A}" in second
        cluster = Cluster(world.client, "default", world.sim.clock)
        shown = await _with_volumes_and_node(cluster, "one", Explanation("default", "one", ""))
        assert f"used at the same time by pod default/two on node {B}" in shown.awaited[0]
        (note,) = await volumes_notes(cluster, "default")
        assert "volume disk is used on several nodes at the same time, by pods of namespace default" in note
        assert f"one on node {A}, two on node {B}" in note
        assert await volumes_notes(cluster, "kube-system") == []
        counted = partial(world.server.metrics.registry.get_sample_value, "vacate_exclusive_volumes_shared")
        assert counted() == 1
        await world.client.delete(PODS, "two", "default", FORCE)
        await world.until(lambda: phase(world, "two") == "", 120, "it is gone")
        assert await volumes_notes(cluster, "default") == []
        await world.sim.clock.sleep(5)
        assert counted() == 0

    in_world(body, measured=True)
