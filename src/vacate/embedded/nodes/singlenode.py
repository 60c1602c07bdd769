"""One simulated node, as a process of its own: it watches only its own pods, as a kubelet does."""

from __future__ import annotations

from vacate.embedded.nodes.nodeobjects import NodeShape
from vacate.embedded.nodes.pool import NodePool
from vacate.embedded.nodes.settings import NodeSettings
from vacate.runtime.dependencies import Deps
from vacate.runtime.manager import Runnable


class SimulatedNode:
    """A node that simulates its pods and speaks only the Kubernetes API."""

    def __init__(
        self, deps: Deps, shape: NodeShape, settings: NodeSettings | None = None, *runnables: Runnable
    ) -> None:
        self.name = shape.name
        self.pool = NodePool(deps, [shape], settings, only=shape.name)
        self._manager = self.pool.manager(*runnables)

    async def run(self) -> None:
        """Be a node until cancelled."""
        await self._manager.run()

    async def wait_ready(self) -> None:
        """Return when the node knows its pods."""
        await self._manager.wait_ready()
