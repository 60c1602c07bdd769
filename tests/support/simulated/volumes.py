"""Objects for tests of exclusive volumes: the volume of the fifteen steps, its claim and its pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.types import PersistentVolume
from vacate.client.client import Client
from vacate.embedded.nodes import kubelet, simulatednode
from vacate.kube.exclusivevolumes import EXCLUSIVE, Attachment, attachment_of
from vacate.sim.cluster import World

REACH = {"storagecluster": "iscsi-1"}
A, B, ELSEWHERE = "node-1", "node-2", "node-3"


def volume(name: str = "disk", **parts: Any) -> Obj:
    """An iSCSI volume for the nodes of one storage cluster, marked as exclusive."""
    terms = [{"matchExpressions": [{"key": "storagecluster", "operator": "In", "values": ["iscsi-1"]}]}]
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "iscsi": {"targetPortal": "10.0.0.9:3260", "iqn": "iqn.2026-11.dev.vacate:disk", "lun": 0},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return {"metadata": {"name": name, "annotations": {EXCLUSIVE: "true"}}, "spec": {**spec, **parts}}


def claim(name: str = "data", **parts: Any) -> Obj:
    """A claim to such a volume."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "10Gi"}},
    }
    return {"metadata": {"name": name}, "spec": {**spec, **parts}}


def user(name: str, *claims: str, node: str = "", gated: bool = False, **spec: Any) -> Obj:
    """A pod that uses claims; `node` is a wish that the scheduler grants."""
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims or ("data",)]
    spec = {"containers": [{"name": "main", "image": "db:1"}], "volumes": volumes, **spec}
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    if gated:
        spec["schedulingGates"] = [{"name": "vacate.dev/exclusive-volumes"}]
    return {"metadata": {"name": name}, "spec": spec}


def stock_nodes(patch: pytest.MonkeyPatch) -> None:
    """Nodes that neither wait for volumes nor list them, as kubelets do with NFS."""

    async def ready(client: Client, namespace: str, claim: str, uid: str, node: str) -> PersistentVolume:
        found = await client.get(PERSISTENTVOLUMECLAIMS, claim, namespace)
        return await client.get(PERSISTENTVOLUMES, found["spec"]["volumeName"], into=PersistentVolume)

    def nothing(_: Iterable[str]) -> list[str]:
        return []

    async def unreported(*_: object) -> None:
        return None

    patch.setattr(kubelet, "ready_volume", ready)
    patch.setattr(kubelet, "report_volumes", unreported)
    patch.setattr(simulatednode, "listing", nothing)


async def label_nodes(world: World, *names: str) -> None:
    """Connect these nodes to the storage cluster."""
    for name in names:
        await world.client.patch(NODES, name, {"metadata": {"labels": REACH}})


def attached(world: World, name: str = "disk") -> Attachment | None:
    """Where the volume is attached, as the API says."""
    found = world.find(PERSISTENTVOLUMES, name, "")
    return attachment_of(msgspec.convert(found, PersistentVolume)) if found is not None else None


def holders(world: World, name: str = "disk") -> tuple[str, list[str]]:
    """The node and the pods of the record; an empty name and list where the volume is free."""
    found = attached(world, name)
    return (found.node, [one.name for one in found.pods]) if found is not None else ("", [])


def phase(world: World, name: str) -> str:
    """The phase of a pod; empty where there is none."""
    found = world.find(PODS, name, "default")
    return str(dig(found, "status", "phase")) if found is not None else ""


def node_of(world: World, name: str) -> str:
    """The node of a pod."""
    return str(dig(world.find(PODS, name, "default"), "spec", "nodeName") or "")


def claim_phase(world: World, name: str = "data") -> str:
    """The phase of a claim."""
    return str(dig(world.find(PERSISTENTVOLUMECLAIMS, name, "default"), "status", "phase"))
