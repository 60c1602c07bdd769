"""Runs tests in a simulated cluster: API server, admission, controllers and nodes of the embedded cluster.

Time and network are simulated. `asyncio.sleep` and every clock of the cluster return at once: an hour's work
takes a second. The same seed gives the same run.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.errors import ConfigError
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.loop import SimLoop
from vacate.sim.run import Sim, run_sim
from vacate.testing.cluster import SimulatedCluster

T = TypeVar("T")

WEEK = dt.timedelta(days=7)
ONE_NODE = WorldSettings(
    nodes=1, zones=1, node=NodeSettings(timings=PodTimings(start=0.1, ready=0.1, stop=1))
)
"""A node on which pods start and end quickly."""


def simulate(
    body: Callable[[SimulatedCluster], Awaitable[T]],
    seed: int = 0,
    *,
    feature_gates: str = "",
    settings: WorldSettings = ONE_NODE,
    limit: dt.timedelta = WEEK,
) -> T:
    """Run `body(cluster)` in a simulated cluster of its own, and return what it returns.

    The feature gates are written as for `vacate up`: `EvacuationAPI=true` serves Evacuations. Programs end
    with the body; an error that ended one before is raised. Virtual time is limited, so that a test that
    waits for nothing fails.
    """
    _check_loop()
    if feature_gates:
        settings = replace(settings, gates=parse_feature_gates(feature_gates))

    async def main(sim: Sim) -> T:
        async with World(sim, settings) as world:
            try:
                return await body(SimulatedCluster(world))
            finally:
                world.check()

    with _no_sockets():
        note = f"simulated with seed={seed}, which gives the same run again"
        return run_sim(main, seed, limit=limit.total_seconds(), note=note)


@contextlib.contextmanager
def _no_sockets() -> Iterator[None]:
    """Refuse sockets to this thread: the loop has none, and a library that opens its own would go past it."""
    if not _guarded:
        sys.addaudithook(_refuse_socket)  # it cannot be removed, so it is added once
        _guarded.append(True)
    _simulating.add(threading.get_ident())
    try:
        yield
    finally:
        _simulating.discard(threading.get_ident())


_SOCKETS = ("socket.connect", "socket.getaddrinfo", "socket.bind")
_guarded: list[bool] = []
_simulating: set[int] = set()  # threads


def _refuse_socket(event: str, _args: tuple[object, ...]) -> None:
    if event in _SOCKETS and threading.get_ident() in _simulating:
        message = (
            f"{event} does not exist in a simulation: replace what the handler calls outside the cluster"
        )
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop), "nothing else runs in this thread"
        loop.refuse(message)


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError("a simulation runs an event loop of its own: call it from a plain function")
