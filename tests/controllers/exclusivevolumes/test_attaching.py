"""Exclusive volumes in a cluster: sharing, gates, several volumes, force, marks, and breaking by hand."""

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
    user,
    volume,
)
from support.simulated.workloads import created, events_of
from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Pod
from vacate.cli.common.connection import Cluster
from vacate.cli.delete.nodes import delete_node
from vacate.cli.detach import break_attachment
from vacate.cli.explain.volumes import late_claims
from vacate.client.codec import codec_for
from vacate.errors import ConfigError
from vacate.kube.exclusivevolumes import ATTACHMENT, DETACHED, EXCLUSIVE
from vacate.sim.cluster import World
from vacate.views.awaitedvolumes import late_claim_sentence

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]


async def given(world: World, *volumes: str) -> None:
    """Bound volumes, each with the claim of its name and `-claim`; or `disk` with `data`."""
    await label_nodes(world, A, B)
    pairs = [(name, f"{name}-claim") for name in volumes] or [("disk", "data")]
    for name, wanted in pairs:
        await world.client.create(PERSISTENTVOLUMES, volume(name))
        await world.client.create(PERSISTENTVOLUMECLAIMS, claim(wanted, volumeName=name), "default")
        await world.until(partial(_is_bound, world, wanted), 60, "bound")


def _is_bound(world: World, name: str) -> bool:
    return claim_phase(world, name) == "Bound"


async def running(world: World, name: str) -> None:
    await world.until(lambda: phase(world, name) == "Running", 120, f"{name} runs")


def test_pods_of_one_node_share_the_volume() -> None:
    async def body(world: World) -> None:
        await given(world)
        for name in ("one", "two"):
            await world.client.create(PODS, user(name, node=A), "default")
            await running(world, name)
        assert holders(world) == (A, ["one", "two"])
        await world.client.delete(PODS, "one", "default")
        await world.until(lambda: holders(world) == (A, ["two"]), 120, "one has given it back")
        assert phase(world, "two") == "Running"

    in_world(body)


def test_a_pod_at_the_gate_gets_no_node_before_the_volume_is_its_own() -> None:
    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", gated=True), "default")
        await running(world, "one")
        assert holders(world) == (node_of(world, "one"), ["one"])
        await world.client.create(PODS, user("two", gated=True), "default")
        await world.sim.clock.sleep(300)
        assert node_of(world, "two") == ""
        where = node_of(world, "one")
        waits = f"Waits for volume disk, which is attached to node {where} for pod default/one"
        assert events_of(world, "two", "WaitingForVolume") == [waits]
        await world.client.delete(PODS, "one", "default")
        await running(world, "two")
        assert holders(world) == (node_of(world, "two"), ["two"])

    in_world(body)


def test_a_pod_at_the_gate_without_exclusive_volumes_is_let_through() -> None:
    async def body(world: World) -> None:
        await label_nodes(world, A)
        plain = volume("plain")
        del plain["metadata"]["annotations"]
        await world.client.create(PERSISTENTVOLUMES, plain)
        await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
        await world.client.create(PODS, user("one", gated=True), "default")
        await running(world, "one")
        assert attached(world, "plain") is None

    in_world(body)


async def late_class(world: World, **annotations: str) -> None:
    """A class whose claims get a volume only when their pod has a node, as most of clouds do."""
    body = {"metadata": {"name": "cloud", "annotations": annotations}, "provisioner": "cloud.example.com"}
    await world.client.create(STORAGECLASSES, {**body, "volumeBindingMode": "WaitForFirstConsumer"})
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(storageClassName="cloud"), "default")


def gates_of(world: World, name: str) -> list[Obj]:
    found = world.find(PODS, name, "default")
    return list(found["spec"].get("schedulingGates") or []) if found is not None else []


def test_a_claim_that_is_bound_with_its_pod_does_not_keep_the_pod_at_the_gate() -> None:
    """A namespace may require the gate of all pods with claims."""

    async def body(world: World) -> None:
        await label_nodes(world, A)
        await late_class(world)
        for name in ("taken", "plain"):
            await world.client.create(PERSISTENTVOLUMES, volume(name, storageClassName="cloud"))
        other = {"claimRef": {"namespace": "default", "name": "another"}}
        await world.client.patch(PERSISTENTVOLUMES, "taken", {"spec": other})
        await world.client.patch(
            PERSISTENTVOLUMES, "plain", {"metadata": {"annotations": {EXCLUSIVE: "false"}}}
        )
        await world.client.create(PODS, user("one", gated=True), "default")
        await running(world, "one")
        assert claim_phase(world) == "Bound"

    in_world(body)


@pytest.mark.parametrize("marked", ["class", "volume"])
def test_a_claim_that_may_get_an_exclusive_volume_with_its_pod_says_why_the_pod_waits(marked: str) -> None:
    async def body(world: World) -> None:
        await label_nodes(world, A)
        await late_class(world, **({EXCLUSIVE: "true"} if marked == "class" else {}))
        made = volume(storageClassName="cloud")
        if marked == "class":
            del made["metadata"]["annotations"]
        await world.client.create(PERSISTENTVOLUMES, made)
        await world.client.create(PODS, user("one", gated=True), "default")
        await world.sim.clock.sleep(300)
        assert gates_of(world, "one")
        assert claim_phase(world) == "Pending"
        why = late_claim_sentence("data", "cloud")
        assert events_of(world, "one", "WaitingForVolume") == [f"Waits at its scheduling gate. {why}"]
        cluster = Cluster(world.client, "default", world.sim.clock)
        pod = codec_for(Pod).convert(created(world, PODS, "one"))
        assert await late_claims(cluster, pod) == [("data", "cloud")]
        # As the message says: a volume that is named is bound at once.
        named = {"spec": {"volumeName": "disk"}}
        await world.client.patch(PERSISTENTVOLUMECLAIMS, "data", named, "default")
        await running(world, "one")
        assert holders(world) == (A, ["one"])
        assert await late_claims(cluster, pod) == []

    in_world(body)


def test_two_pods_with_the_same_two_volumes_never_wait_for_each_other() -> None:
    async def body(world: World) -> None:
        await given(world, "disk-a", "disk-b")
        await world.client.create(PODS, user("one", "disk-a-claim", "disk-b-claim", node=A), "default")
        await world.client.create(PODS, user("two", "disk-b-claim", "disk-a-claim", node=B), "default")
        await world.until(
            lambda: sorted((phase(world, "one"), phase(world, "two"))) == ["Pending", "Running"],
            120,
            "one runs",
        )
        first, second = ("one", "two") if phase(world, "one") == "Running" else ("two", "one")
        await world.client.delete(PODS, first, "default")
        await running(world, second)

    in_world(body)


def test_a_pod_takes_no_volume_while_it_waits_for_one_that_comes_before() -> None:
    """Else it would keep from another pod what that one waits for, and both would wait for ever."""

    async def body(world: World) -> None:
        await given(world, "disk-a", "disk-b")
        await world.client.create(PODS, user("first", "disk-b-claim", node=A), "default")
        await running(world, "first")
        both = ("disk-a-claim", "disk-b-claim")
        await world.client.create(PODS, user("second", *both, node=B), "default")
        await world.until(lambda: holders(world, "disk-a") == (B, ["second"]), 60, "second has one of them")
        # The third could share a volume with the first, which runs on the same node.
        await world.client.create(PODS, user("third", *both, node=A), "default")
        await world.sim.clock.sleep(60)
        assert holders(world, "disk-b") == (A, ["first"])
        await world.client.delete(PODS, "first", "default")
        await running(world, "second")
        await world.client.delete(PODS, "second", "default")
        await running(world, "third")

    in_world(body)


def test_a_class_marks_its_volumes() -> None:
    async def body(world: World) -> None:
        await label_nodes(world, A, B)
        marked = {"metadata": {"name": "shared", "annotations": {"vacate.dev/exclusive": "true"}}}
        await world.client.create(STORAGECLASSES, {**marked, "provisioner": "kubernetes.io/no-provisioner"})
        plain = volume(storageClassName="shared")
        del plain["metadata"]["annotations"]
        await world.client.create(PERSISTENTVOLUMES, plain)
        await world.client.create(PERSISTENTVOLUMECLAIMS, claim(storageClassName="shared"), "default")
        await world.client.create(PODS, user("one"), "default")
        await running(world, "one")
        assert holders(world) == (node_of(world, "one"), ["one"])

    in_world(body)


def test_a_pod_forced_away_from_a_silent_node_keeps_its_volume() -> None:
    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        world.pool.isolate(A)
        await world.sim.clock.sleep(120)
        await world.client.delete(PODS, "one", "default", DeleteOptions(grace_period_seconds=0))
        await world.client.create(PODS, user("two", node=B), "default")
        await world.sim.clock.sleep(300)
        assert (holders(world), phase(world, "two")) == ((A, ["one"]), "Pending")
        world.pool.rejoin(A)  # it ends the processes of the pod that is gone, and reports
        await running(world, "two")

    in_world(body)


def test_a_node_that_is_deleted_by_the_command_gives_the_volume_back() -> None:
    """Whoever runs it has confirmed that the machine is gone for good."""

    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        world.pool.crash(A)
        await world.client.create(PODS, user("two", node=B), "default")
        await world.sim.clock.sleep(120)
        assert phase(world, "two") == "Pending"
        await delete_node(Cluster(world.client, "default", world.sim.clock), A, confirm=True, dry_run=False)
        await running(world, "two")

    in_world(body)


def test_an_attachment_is_broken_by_hand_only_on_confirmation() -> None:
    async def body(world: World) -> None:
        await given(world)
        cluster = Cluster(world.client, "default", world.sim.clock)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        with pytest.raises(ConfigError, match="not being deleted"):
            await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        world.pool.isolate(A)
        await world.client.delete(PODS, "one", "default")
        await world.client.create(PODS, user("two", node=B), "default")
        await world.sim.clock.sleep(120)
        with pytest.raises(ConfigError, match=r"data may be destroyed\. Nothing was changed"):
            await break_attachment(cluster, "disk", confirm=False, dry_run=False)
        assert holders(world) == (A, ["one"])
        result = await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        assert result.startswith(f"taken from node {A} (for pod default/one)")
        await running(world, "two")
        assert holders(world) == (B, ["two"])
        assert len(events_of(world, "disk", "AttachmentBroken")) == 1

    in_world(body)


def test_a_volume_in_use_is_not_taken_away_although_its_record_cannot_be_read() -> None:
    async def body(world: World) -> None:
        await given(world)
        await world.client.create(PODS, user("one", node=A), "default")
        await running(world, "one")
        nonsense = {"metadata": {"annotations": {DETACHED: "nonsense"}}}
        await world.client.patch(PERSISTENTVOLUMES, "disk", nonsense)
        cluster = Cluster(world.client, "default", world.sim.clock)
        with pytest.raises(ConfigError, match=r"pod default/one uses it and is not being deleted"):
            await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        assert (await world.client.get(PERSISTENTVOLUMES, "disk"))["metadata"]["annotations"][ATTACHMENT]

    in_world(body)


def test_a_record_that_was_overwritten_starts_nobody_until_a_person_has_looked() -> None:
    async def body(world: World) -> None:
        await given(world)
        await world.client.patch(
            PERSISTENTVOLUMES, "disk", {"metadata": {"annotations": {ATTACHMENT: "nonsense"}}}
        )
        await world.client.create(PODS, user("one"), "default")
        await world.sim.clock.sleep(120)
        assert phase(world, "one") == "Pending"
        assert len(events_of(world, "disk", "InvalidAttachment")) == 1
        cluster = Cluster(world.client, "default", world.sim.clock)
        await break_attachment(cluster, "disk", confirm=True, dry_run=False)
        await running(world, "one")

    in_world(body)
