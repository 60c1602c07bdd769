"""An exclusive volume on Kubernetes' own control plane: by scheduling gate, and handed over after a fence.

StatefulSet controller, scheduler, pod GC and attach-detach controller are Kubernetes'. The node that is lost
has no kubelet: it is an object that the test writes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.evictions.namespace import EvictionNamespace, is_ready, run_vacate
from support.realcluster.evictions import RealCluster
from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STATEFULSETS
from vacate.api.objects import Obj, dig
from vacate.api.options import ListOptions
from vacate.api.times import format_time
from vacate.clock import SystemClock
from vacate.errors import NotFound
from vacate.kube.exclusivevolumes import ATTACHMENT
from vacate.testing import statefulset

GATES = [{"name": "vacate.dev/exclusive-volumes"}]
AGENT = """#!/bin/sh
while IFS= read -r line; do case $line in action=*) action=${line#action=};; esac; done
case $action in
  off) echo off > "$(dirname "$0")/power";;
  status) [ "$(cat "$(dirname "$0")/power")" = on ] || exit 2;;
esac
"""


def conditions(ready: str) -> Obj:
    now = format_time(SystemClock().now())
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    return {"conditions": [{"type": "Ready", "status": ready, "reason": "Played", **times}]}


@contextlib.asynccontextmanager
async def storage(place: EvictionNamespace) -> AsyncIterator[tuple[str, str]]:
    """A volume, and a node without a kubelet that is the only one to reach it at first."""
    name, client = place.namespace, place.client
    terms = [{"matchExpressions": [{"key": "storage", "operator": "In", "values": [name]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "iscsi": {"targetPortal": "10.0.0.9:3260", "iqn": f"iqn.2026-11.dev.vacate:{name}", "lun": 0},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        "claimRef": {"namespace": name, "name": "data-db-0"},
    }
    volume = {"metadata": {"name": name, "annotations": {"vacate.dev/exclusive": "true"}}, "spec": spec}
    managed = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    lost = {"metadata": {"name": f"lost-{name}", "labels": {"storage": name}, "annotations": managed}}
    kinds = {"apiVersion": "v1"}
    await client.create(PERSISTENTVOLUMES, {**kinds, "kind": "PersistentVolume", **volume})
    await client.create(NODES, {**kinds, "kind": "Node", **lost})
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    status = {"capacity": room, "allocatable": room, **conditions("True")}
    await client.patch(NODES, f"lost-{name}", {"status": status}, subresource="status")
    try:
        yield name, f"lost-{name}"
    finally:
        for kind, one, where in (
            (STATEFULSETS, "db", name), (NODES, f"lost-{name}", ""), (PERSISTENTVOLUMES, name, ""),
        ):  # fmt: skip
            with contextlib.suppress(NotFound):
                await client.delete(kind, one, where)


def members() -> Obj:
    """One member, whose template has the gate and mounts its claim."""
    main = {"name": "main", "image": "db:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    template = {"spec": {"schedulingGates": GATES, "containers": [main]}}
    return statefulset("db", replicas=1, template=template, spec={"volumeClaimTemplates": [claim]})


async def record(place: EvictionNamespace, volume: str) -> Obj:
    found = await place.client.get(PERSISTENTVOLUMES, volume)
    return dict(json.loads(dig(found, "metadata", "annotations", ATTACHMENT) or "{}"))


@pytest.mark.timeout(400)
async def test_a_fence_hands_the_volume_of_a_member_over(
    real: RealCluster, place: EvictionNamespace, tmp_path: Path
) -> None:
    agent = tmp_path / "fence_lab"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    (tmp_path / "power").write_text("on\n")
    (tmp_path / "bmc.conf").write_text("ip=10.0.0.1\n")
    client = place.client
    async with storage(place) as (volume, lost):
        body = members()
        body["metadata"]["namespace"] = place.namespace
        await client.create(STATEFULSETS, body, place.namespace)

        async def placed() -> Obj | None:
            found = await place.find_pod("db-0")
            return found if found and dig(found, "spec", "nodeName") else None

        old = await place.until(placed, "the gate is gone, and the member has a node")
        assert (old["spec"]["nodeName"], old["spec"].get("schedulingGates")) == (lost, None)

        async def attached() -> Obj | None:
            found = await record(place, volume)
            return found if found.get("node") == lost else None

        found = await place.until(attached, "the volume is attached to the node")
        assert [one["uid"] for one in found["pods"]] == [old["metadata"]["uid"]]

        async def in_use() -> str | None:
            node = await client.get(NODES, lost)
            names = [one["name"] for one in dig(node, "status", "volumesAttached") or ()]
            return names[0] if names else None

        disk = await place.until(in_use, "the attach-detach controller attaches it too")
        # The node is lost: it has mounted the volume, and says nothing any more.
        status = {"volumesInUse": [disk], **conditions("Unknown")}
        await client.patch(NODES, lost, {"status": status}, subresource="status")
        other = (await client.list(NODES, options=ListOptions(label_selector="!storage"))).items[0][
            "metadata"
        ]["name"]
        await client.patch(NODES, other, {"metadata": {"labels": {"storage": volume}}})
        try:
            await client.delete(PODS, "db-0", place.namespace)
            kept = await place.find_pod("db-0")
            assert kept is not None
            assert kept["metadata"]["uid"] == old["metadata"]["uid"]
            assert (await record(place, volume))["node"] == lost

            options = ("--agent", str(agent), "--options", str(tmp_path / "bmc.conf"))
            done = await run_vacate(str(real.kubeconfig), "fence", lost, *options)
            assert done.code == 0, done.err
            new = await place.until(lambda: replaced(place, old), "the member is replaced and ready")
            assert new["spec"]["nodeName"] == other
            found = await record(place, volume)
            assert (found["node"], found["pods"][0]["uid"]) == (other, new["metadata"]["uid"])

            async def detached() -> bool:
                return await in_use() is None

            await place.until(detached, "the attach-detach controller lets the lost node go")
        finally:
            await client.patch(NODES, other, {"metadata": {"labels": {"storage": None}}})
            await client.delete(PERSISTENTVOLUMECLAIMS, "data-db-0", place.namespace)


async def replaced(place: EvictionNamespace, old: Obj) -> Obj | None:
    found = await place.find_pod("db-0")
    if found is None or found["metadata"]["uid"] == old["metadata"]["uid"] or not is_ready(found):
        return None
    return found
