"""What is written to a maintenance and its nodes: finalizer, claims, conditions; and the same taken back.

Every method can be repeated after a crash: what is done is seen and not done again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from vacate.api.kinds import NODEMAINTENANCES, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.types import Node, Pod
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.controllers.nodemaintenance import events
from vacate.controllers.nodemaintenance.caches import MaintenanceCaches
from vacate.controllers.nodemaintenance.concurrency import for_each, remembered
from vacate.errors import NotFound
from vacate.kube.patches import guarded
from vacate.maintenance.claims import claim_patch, claims_of, release_patch
from vacate.maintenance.names import FINALIZER
from vacate.maintenance.plan import wants_taint
from vacate.maintenance.pods import pods_left
from vacate.maintenance.report import node_conditions_patch
from vacate.runtime.dependencies import Dependencies


class MaintenanceWriter:
    """What the controller writes about a maintenance itself and about nodes; its status aside."""

    def __init__(self, deps: Dependencies, view: MaintenanceCaches) -> None:
        self._deps = deps
        self._view = view

    async def add_finalizer(self, maintenance: NodeMaintenance) -> None:
        """So that nothing is done that could not be undone."""
        meta = maintenance.metadata
        names = [*meta.finalizers, FINALIZER]
        await self._patch_finalizers(maintenance, names)

    async def remove_finalizer(self, maintenance: NodeMaintenance) -> None:
        """All is undone."""
        names = [one for one in maintenance.metadata.finalizers if one != FINALIZER]
        with contextlib.suppress(NotFound):
            await self._patch_finalizers(maintenance, names)

    async def exists(self, name: str) -> bool:
        """Whether the server knows the maintenance. The cache may be behind it."""
        try:
            await self._deps.client.get(NODEMAINTENANCES, name)
        except NotFound:
            return False
        return True

    async def goes_on(self, maintenance: NodeMaintenance) -> bool:
        """Whether the server knows it still, and nobody has deleted it."""
        meta = maintenance.metadata
        try:
            found = await self._deps.client.get(NODEMAINTENANCES, meta.name, into=NodeMaintenance)
        except NotFound:
            return False
        return found.metadata.uid == meta.uid and found.metadata.deletion_timestamp is None

    async def claim(self, maintenance: NodeMaintenance, nodes: Sequence[Node]) -> dict[str, str]:
        """Cordon the nodes and record it; by node, why the API server refused that."""
        refused: dict[str, str] = {}
        meta, taint = maintenance.metadata, wants_taint(maintenance)

        async def one(change: tuple[Node, Obj]) -> None:
            node, patch = change
            with remembered(refused, node.metadata.name):
                await self._deps.client.patch(NODES, node.metadata.name, patch)
                if not node.spec.unschedulable:
                    self._deps.recorder.record(events.node_cordoned(node, meta.name))

        # Mostly none: a maintenance is planned anew for each change of a pod, with all of its nodes.
        known = self._view.exists
        patches = [(one, claim_patch(one, meta.name, meta.uid, taint=taint, known=known)) for one in nodes]
        await for_each([(node, patch) for node, patch in patches if patch is not None], one)
        return refused

    async def release(self, name: str, nodes: Sequence[Node]) -> dict[str, str]:
        """Take back the claim; by node, why the API server refused that."""
        refused: dict[str, str] = {}

        async def one(node: Node) -> None:
            patch = release_patch(node, name, known=self._view.exists)
            if patch is None:
                return
            with remembered(refused, node.metadata.name):
                if not [one for one in claims_of(node).by if one != name]:
                    # Before the claim goes: after a crash in between, the claim has it done again.
                    await self._show(node, [])
                await self._deps.client.patch(NODES, node.metadata.name, patch)
                free = "unschedulable" in patch.get("spec", {})
                self._deps.recorder.record(events.node_released(node, name, uncordoned=free))

        await for_each(nodes, one)
        return refused

    async def nodes_with_pods(self, maintenance: NodeMaintenance, nodes: Sequence[str]) -> set[str]:
        """Those of the nodes on which the API server itself has pods left that are to be evicted.

        An administrator switches a drained machine off, and the cache may be behind by as long as its watch
        was cut: a node is not reported as drained on its word alone.
        """

        async def left_on(node: str) -> bool:
            found = await self._deps.client.list(
                PODS, options=ListOptions(field_selector=f"spec.nodeName={node}"), into=Pod
            )
            return bool(pods_left(found.items, maintenance.spec.pods))

        left = await for_each(nodes, left_on)
        return {node for node, has_pods in zip(nodes, left, strict=True) if has_pods}

    async def show_on_nodes(self, nodes: Sequence[Node]) -> dict[str, str]:
        """Write the conditions of nodes, from what all maintenances that claim them report.

        By node, why the API server refused that.
        """
        refused: dict[str, str] = {}

        async def one(node: Node) -> None:
            newest = self._view.node(node.metadata.name) or node
            with remembered(refused, node.metadata.name):
                await self._show(newest, self._phases(newest))

        await for_each([node for node in nodes if self._is_news(node)], one)
        return refused

    def _is_news(self, node: Node) -> bool:
        newest = self._view.node(node.metadata.name) or node
        return node_conditions_patch(newest, self._phases(newest), self._deps.clock.now()) is not None

    async def _show(self, node: Node, phases: Sequence[str]) -> None:
        patch = node_conditions_patch(node, phases, self._deps.clock.now())
        if patch is not None:
            await self._deps.client.patch_status(NODES, node.metadata.name, patch)

    def _phases(self, node: Node) -> list[str]:
        found = []
        for name in claims_of(node).by:
            one = self._view.maintenance(name)
            if one is not None:
                found += [row.phase for row in one.status.nodes if row.name == node.metadata.name]
        return found

    async def _patch_finalizers(self, maintenance: NodeMaintenance, names: list[str]) -> None:
        meta = maintenance.metadata
        patch = guarded(meta, {"metadata": {"finalizers": names}})
        await self._deps.client.patch(NODEMAINTENANCES, meta.name, patch)
