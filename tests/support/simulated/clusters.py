"""Runs a test body in a simulated cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from vacate.embedded.apiserver.inprocess import Handler
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

INSTANT = (0.0, 0.0)
QUICK = (0.0005, 0.005)
SLOW = (0.01, 0.3)

Body = Callable[[World], Awaitable[None]]


def in_world(
    body: Body, seed: int = 0, *, limit: float = 7 * 86400.0, shuffle: bool = False, **settings: Any
) -> str:
    """Run the body in a fresh world; returns the digest of all that happened."""

    async def main(sim: Sim) -> str:
        async with World(sim, WorldSettings(**settings)) as world:
            await body(world)
        return sim.trace.digest

    return run_sim(main, seed, limit=limit, shuffle=shuffle)


def on_nodes(body: Body, seed: int = 0, *, timings: PodTimings | None = None, **settings: Any) -> str:
    """Run the body in a world of nodes without controllers: pods go where their creator puts them."""
    behaviour = replace(NodeSettings(), timings=timings) if timings else NodeSettings()
    chosen: dict[str, Any] = {"controllers": (), "node": behaviour} | settings
    return in_world(body, seed, **chosen)


class Requests:
    """Counts what the manager asks of the server; watches are not counted."""

    def __init__(self, world: World) -> None:
        self.count = 0
        world.network.audit = self

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        self.count += link == "evictions" and "watch" not in request.query
        return await server.handle(request)
