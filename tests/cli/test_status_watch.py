"""`vacate status --watch` for programs: it ends with the reader of its output."""

from __future__ import annotations

import asyncio

import pytest

from support.simulated.evictions import on_simulated_cluster, requested
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.output import JSON
from vacate.cli.status.lines import WatchEvents
from vacate.cli.status.view import View
from vacate.sim.cluster import World

pytestmark = pytest.mark.sim


def test_a_reader_that_is_gone_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind `| head`: a request changes, and nobody takes the line."""

    def echo(line: str, *, err: bool = False) -> None:
        raise BrokenPipeError

    async def body(world: World) -> None:
        await requested(world, "a.example.com")
        monkeypatch.setattr(terminal, "echo", echo)
        watch = WatchEvents(Cluster(world.client, "default", world.sim.clock), View("default", output=JSON))
        with pytest.raises(BaseExceptionGroup) as ended:
            async with asyncio.timeout(600):
                await watch.run()
        assert ended.group_contains(BrokenPipeError)

    on_simulated_cluster(body)
