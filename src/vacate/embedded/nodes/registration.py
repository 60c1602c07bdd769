"""Registers simulated nodes, keeps their conditions good, and makes their leases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from vacate.api.kinds import LEASES, NODES
from vacate.api.objects import Obj, dig
from vacate.api.types import Node, condition
from vacate.cache.reader import Reader
from vacate.embedded.nodes.nodeobjects import (
    GOOD_CONDITIONS,
    NodeShape,
    node_conditions,
    node_object,
    node_status,
)
from vacate.embedded.nodes.projections import BY_NODE, SimulatedPod
from vacate.embedded.nodes.simulatednode import Machine
from vacate.errors import AlreadyExists
from vacate.kube.nodeleases import LEASE_NAMESPACE, lease_object, renewal
from vacate.nodeagent.volumes.inuse import report_volumes
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome


class NodeReconciler:
    """One node at a time: there, well, and holding its lease."""

    def __init__(
        self,
        deps: Dependencies,
        nodes: Reader[Node],
        pods: Reader[SimulatedPod],
        machines: Mapping[str, Machine],
        lease_seconds: int,
    ) -> None:
        self._pods = pods
        self._client = deps.client
        self._clock = deps.clock
        self._nodes = nodes
        self._machines = machines
        self._lease_seconds = lease_seconds

    async def reconcile(self, key: Key) -> Outcome:
        """Register the node where it is missing; say that it is well where someone doubts it."""
        machine = self._machines.get(key.name)
        if machine is None or not machine.active:
            return Done()
        node = self._nodes.get("", key.name)
        if node is not None:  # from before: it counts, also where nothing can be written now
            machine.registered.set()
        uid = await self._ensure_node(machine, node, self._clock.now())
        machine.registered.set()
        if not machine.leased:
            await self._ensure_lease(machine.shape, uid)
            machine.leased = True
        return Done()

    async def _ensure_node(self, machine: Machine, node: Node | None, now: dt.datetime) -> str:
        shape, booted = machine.shape, machine.booted
        machine.keep_volumes(pod.metadata.uid for pod in self._pods.by_index(BY_NODE, shape.name))
        if node is None:
            return await self._register(machine, now)
        if node.status.volumes_in_use != (wanted := machine.listing):
            await report_volumes(self._client, shape.name, wanted)
            machine.listed = wanted
        if patch := status_difference(shape, node, now, booted):
            await self._client.patch_status(NODES, shape.name, {"status": patch})
        return node.metadata.uid

    async def _register(self, machine: Machine, now: dt.datetime) -> str:
        shape, wanted = machine.shape, node_object(machine.shape, now, machine.booted)
        wanted["status"]["volumesInUse"] = machine.listing
        try:
            made = await self._client.create(NODES, wanted)
        except AlreadyExists:
            made = await self._client.get(NODES, shape.name)
        return str(dig(made, "metadata", "uid"))

    async def _ensure_lease(self, shape: NodeShape, uid: str) -> None:
        now = self._clock.now()
        try:
            await self._client.create(LEASES, lease_object(shape.name, uid, now, self._lease_seconds))
        except AlreadyExists:
            await self._client.patch(LEASES, shape.name, renewal(now), LEASE_NAMESPACE)


def status_difference(
    shape: NodeShape, node: Node, now: dt.datetime, booted: dt.datetime | None = None
) -> Obj:
    """What the node must say anew of itself: changed conditions, other capacity, another boot."""
    wrong = [
        one
        for one in node_conditions(now)
        if (found := condition(node.status.conditions, one["type"])) is None
        or found.status != GOOD_CONDITIONS[one["type"]]
    ]
    patch: Obj = {"conditions": wrong} if wrong else {}
    wanted = node_status(shape, now, booted)
    for field, present in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        if any(present.get(resource) != amount for resource, amount in wanted[field].items()):
            patch[field] = wanted[field]
    if "capacity" in patch:
        patch["addresses"] = wanted["addresses"]
    if "capacity" in patch or node.status.node_info.boot_id != wanted["nodeInfo"]["bootID"]:
        patch["nodeInfo"] = wanted["nodeInfo"]
    return patch
