"""The explanation of a pod that waits for an exclusive volume names it, and who has it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
import pytest

from support.simulated.clusters import in_world
from support.simulated.volumes import A, B, claim, claim_phase, label_nodes, node_of, phase, user, volume
from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.types import PersistentVolume
from vacate.api.types.core import Pod
from vacate.api.types.meta import ObjectMeta
from vacate.cli.common.connection import Cluster
from vacate.cli.explain.command import _with_volumes_and_node
from vacate.client.codec import codec_for
from vacate.kube.exclusivevolumes import ATTACHMENT, DETACHED, awaits_volumes
from vacate.sim.cluster import World
from vacate.views.awaitedvolumes import LostNodes, with_awaited_volumes
from vacate.views.model import Explanation

WAITS, ONE_AT_A_TIME = "Waiting for exclusive volume disk", "it is attached to one node at a time, and"
NOT_KNOWN = "it is not known yet that pod d/db-0"
STAYS = f"{ONE_AT_A_TIME} stays until that pod has terminated."
HOLDER = {"namespace": "d", "name": "db-0", "uid": "u-0"}


def a_pod(**status: Any) -> Pod:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    meta = {"name": "db-1", "namespace": "d", "uid": "u-1", **status.pop("meta", {})}
    spec = {"nodeName": "n2", "volumes": volumes}
    return codec_for(Pod).convert({"metadata": meta, "spec": spec, "status": {"phase": "Pending", **status}})


def a_volume(**records: Any) -> PersistentVolume:
    annotations = {
        {"attachment": ATTACHMENT, "detached": DETACHED}[key]: msgspec.json.encode(value).decode()
        for key, value in records.items()
    }
    return PersistentVolume(ObjectMeta(name="disk", annotations=annotations))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("found", "awaited"),
    [
        (a_volume(), f"{WAITS}, which is not attached to a node yet."),
        (
            a_volume(attachment={"node": "n1", "pods": [HOLDER]}),
            f"{WAITS}, which node n1 has for pod d/db-0: {STAYS}",
        ),
        (
            a_volume(detached=[{"node": "n2", "pods": [HOLDER]}]),
            f"{WAITS}, which was taken from node n2 by hand: {NOT_KNOWN} has terminated.",
        ),
        (a_volume(attachment={"node": "n2", "pods": [{**HOLDER, "uid": "u-1"}]}), ""),
    ],
)
def test_who_has_the_volume(found: PersistentVolume, awaited: str) -> None:
    shown = with_awaited_volumes(Explanation("d", "db-1", ""), a_pod(), [found])
    assert shown.awaited == ((awaited,) if awaited else ())


@pytest.mark.unit
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("lost", [{"n1"}, ()])
def test_a_node_that_is_lost_or_has_not_confirmed_is_named_with_the_commands(
    lost: Collection[str], gone: bool
) -> None:
    found = a_volume(attachment={"node": "n1", "pods": [HOLDER | ({"gone": True} if gone else {})]})
    shown = with_awaited_volumes(Explanation("d", "db-1", ""), a_pod(), [found], LostNodes(lost))
    (text,) = shown.awaited
    assert ("Node n1 does not report" in text) == bool(lost)
    assert ("node n1 has not confirmed" in text) == (gone and not lost)
    for part in ("vacate fence n1", "vacate detach disk --confirm"):
        assert (part in text) == (bool(lost) or gone)
    assert ("vacate delete pod db-0" in text) == (bool(lost) and not gone)


@pytest.mark.unit
def test_a_record_that_cannot_be_read_is_named() -> None:
    shown = with_awaited_volumes(Explanation("d", "db-1", ""), a_pod(), [a_volume(attachment=3)])
    assert "cannot be read" in shown.awaited[0]


@pytest.mark.unit
def test_only_pods_that_have_not_started_wait() -> None:
    assert awaits_volumes(a_pod())
    assert not awaits_volumes(a_pod(phase="Running"))
    assert not awaits_volumes(a_pod(meta={"deletionTimestamp": "2026-03-01T11:50:00Z"}))


@pytest.mark.sim
def test_explain_names_the_node_that_has_the_volume() -> None:
    async def body(world: World) -> None:
        await label_nodes(world, A, B)
        await world.client.create(PERSISTENTVOLUMES, volume())
        await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
        await world.until(lambda: claim_phase(world) == "Bound", 60, "bound")
        await world.client.create(PODS, user("one", node=A), "default")
        await world.until(lambda: phase(world, "one") == "Running", 120, "one runs")
        await world.client.create(PODS, user("two", node=B), "default")
        await world.until(lambda: node_of(world, "two") == B, 60, "two has a node")
        cluster = Cluster(world.client, "default", world.sim.clock)
        shown = await _with_volumes_and_node(cluster, "two", Explanation("default", "two", ""))
        assert f"which node {A} has for pod default/one" in shown.awaited[0]
        assert (await _with_volumes_and_node(cluster, "one", Explanation("default", "one", ""))).awaited == ()

    in_world(body)
