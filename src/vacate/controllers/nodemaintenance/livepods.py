"""What is left on nodes that the caches show empty, as the API server itself has it.

An administrator switches a drained machine off. The cache of pods may be behind by as long as its watch was
cut, so that a node is not reported as drained on its word alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client.client import Client
from vacate.maintenance.pods import pods_left

SIDE_BY_SIDE = 8


async def nodes_with_pods(client: Client, maintenance: NodeMaintenance, nodes: Sequence[str]) -> set[str]:
    """Those of the nodes on which pods are left that the maintenance is to evict."""
    slots = asyncio.Semaphore(SIDE_BY_SIDE)

    async def has_pods(node: str) -> bool:
        async with slots:
            found = await client.list(PODS, field_selector=f"spec.nodeName={node}", into=Pod)
        return bool(pods_left(found.items, maintenance.spec.pods))

    answers = await asyncio.gather(*(has_pods(node) for node in nodes))
    return {node for node, left in zip(nodes, answers, strict=True) if left}
