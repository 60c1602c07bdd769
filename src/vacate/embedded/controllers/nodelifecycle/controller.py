"""The node lifecycle controller: silent nodes become Unknown, get taints, and their pods are not ready."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterable

from vacate.api.kinds import LEASES, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.times import after, format_time
from vacate.api.types import Condition, Lease, Node, Pod, Taint
from vacate.cache.indexes import NODE, PLACED
from vacate.client.requests import STRATEGIC_PATCH
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.nodelifecycle import events
from vacate.embedded.controllers.nodelifecycle.health import next_taints, silent_at, unknown_conditions
from vacate.embedded.controllers.nodelifecycle.heartbeats import LEASES_NAMESPACE, HeartbeatTimes
from vacate.errors import Conflict, NotFound
from vacate.kube.nodes import readiness
from vacate.kube.patches import condition_differences, guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by nodes, by the end of their silence, and by pods that come to a silent node.

    Renewals alone wake nobody.
    """
    nodes = deps.informers.informer(NODES, Node)
    leases = deps.informers.informer(LEASES, Lease)
    pods = deps.informers.informer(PODS, Pod, indexes=PLACED)
    heartbeats = HeartbeatTimes(deps.clock)
    nodes.subscribe(heartbeats.on_node)
    leases.subscribe(heartbeats.on_lease)
    controller = NodeLifecycleController(deps, heartbeats)
    nodes.subscribe(controller.count_ready)
    sources = (
        Source(nodes, when=_matters),
        Source(nodes, keys=controller.all_nodes, when=lambda *_: controller.tide_turned),
        Source(pods, keys=controller.silent_node, when=_came),
    )
    return Controller("node-lifecycle", controller, sources, deps, workers=2, backoff=retry_backoff())


def _matters(old: Node | None, new: Node | None) -> bool:
    if old is None or new is None:
        return True
    return old.spec != new.spec or old.status.conditions != new.status.conditions


def _came(old: Pod | None, new: Pod | None) -> bool:
    if new is None or not new.spec.node_name:
        return False
    return old is None or old.spec.node_name != new.spec.node_name


def _is_ready(node: Node | None) -> bool:
    return node is not None and readiness(node) == "True"


class NodeLifecycleController:
    """Reconciles a node with what was heard of it."""

    def __init__(self, deps: Dependencies, heartbeats: HeartbeatTimes) -> None:
        self._deps = deps
        self._heartbeats = heartbeats
        self._nodes = deps.informers.informer(NODES, Node).reader
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._ready = 0
        # Whether the last change took the last ready node away or brought the first one.
        self.tide_turned = False

    def count_ready(self, old: Node | None, new: Node | None) -> None:
        """Keep count of the nodes that are ready."""
        before = self._ready
        self._ready += _is_ready(new) - _is_ready(old)
        self.tide_turned = (before == 0) != (self._ready == 0)

    def all_nodes(self, _: Node) -> Iterable[Key]:
        """Whether anybody is evicted depends on whether any node is ready."""
        return [Key("", one.metadata.name) for one in self._nodes.list()]

    def silent_node(self, pod: Pod) -> Iterable[Key]:
        """The node of the pod, where it does not report; none else, as most pods come to nodes that do."""
        node = self._nodes.get("", pod.spec.node_name)
        return () if node is None or readiness(node) != "Unknown" else (Key("", node.metadata.name),)

    async def reconcile(self, key: Key) -> Outcome:
        """Check one node."""
        node = self._nodes.get("", key.name)
        if node is None:
            return Done()
        now = self._deps.clock.now()
        heard, lease_seconds = self._heartbeats.last(key.name)
        deadline = silent_at(node, heard, lease_seconds)
        if now > deadline and readiness(node) != "Unknown":
            return await self._found_silent(node, now)
        await self._set_taints(node, now)
        if readiness(node) in ("Unknown", "False"):
            await self._mark_pods(node, now)
        return Done() if now > deadline else Later(after(deadline, 0.001))

    async def _found_silent(self, node: Node, now: dt.datetime) -> Outcome:
        """Ask the server once more: a cache that lags must not make a healthy node unreachable."""
        name = node.metadata.name
        try:
            lease = await self._deps.client.get(LEASES, name, LEASES_NAMESPACE, into=Lease)
            if self._heartbeats.renewed(lease):
                heard, seconds = self._heartbeats.last(name)
                return Later(silent_at(node, heard, seconds))
        except NotFound:
            pass
        self._deps.recorder.record(events.node_not_ready(node))
        changed = condition_differences(node.status.conditions, _with(node, now))
        patch = guarded(node.metadata, {"status": {"conditions": changed}})
        await self._patch(name, patch, "status")
        return Done()  # the change comes back here and brings taints and pods

    async def _set_taints(self, node: Node, now: dt.datetime) -> None:
        taints = next_taints(node, self._ready == 0, now)
        if taints != node.spec.taints:
            spec = {"taints": [_taint(one) for one in taints] or None}
            await self._patch(node.metadata.name, guarded(node.metadata, {"spec": spec}), "")

    async def _patch(self, name: str, patch: Obj, subresource: str) -> None:
        try:
            if subresource:
                await self._deps.client.patch(
                    NODES, name, patch, patch_type=STRATEGIC_PATCH, subresource=subresource
                )
            else:
                await self._deps.client.patch(NODES, name, patch)
        except NotFound:
            return

    async def _mark_pods(self, node: Node, now: dt.datetime) -> None:
        """Nobody vouches for the pods of a silent node: budgets must not count them as healthy."""
        ready = [pod for pod in self._pods.by_index(NODE, node.metadata.name) if pod.ready]
        await asyncio.gather(*(self._mark_pod(pod, now) for pod in ready))

    async def _mark_pod(self, pod: Pod, now: dt.datetime) -> None:
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": format_time(now)}
        self._deps.recorder.record(events.pod_not_ready(pod))
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        try:
            await self._deps.client.patch_status(PODS, meta.name, patch, meta.namespace)
        except (NotFound, Conflict):
            return  # gone, or another pod has its name


def _with(node: Node, now: dt.datetime) -> list[Condition]:
    changed = unknown_conditions(node, now)
    kinds = [one.type for one in changed]
    return [one for one in node.status.conditions if one.type not in kinds] + changed


def _taint(taint: Taint) -> Obj:
    found: Obj = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        found["value"] = taint.value
    if taint.time_added is not None:
        found["timeAdded"] = format_time(taint.time_added)
    return found
