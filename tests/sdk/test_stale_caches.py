"""A program whose watch has fallen silent: what it has done itself it does not try again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from vacate.client.transport import Transport
from vacate.sdk import EvictionContext, Interceptor
from vacate.testing import SimulatedCluster, simulate
from vacate.wire.message import Request, Response, Stream

pytestmark = pytest.mark.sim

BACKUP, CACHE = "backup.example.com", "cache.example.com"


class DelayedWatches:
    """A link whose watches send nothing for a while, and whose writes of status are counted."""

    def __init__(self) -> None:
        self.hears = asyncio.Event()
        self.hears.set()
        self.status_writes = 0
        self._link: Transport | None = None

    def __call__(self, link: Transport) -> DelayedWatches:
        self._link = link
        return self

    async def send(self, request: Request) -> Response:
        assert self._link is not None
        self.status_writes += request.path.endswith("/status")
        answer = await self._link.send(request)
        return answer if isinstance(answer.body, bytes) else replace(answer, body=self._gated(answer.body))

    async def aclose(self) -> None:
        assert self._link is not None
        await self._link.aclose()

    async def _gated(self, chunks: Stream) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in chunks:
                await self.hears.wait()
                yield chunk
        finally:
            await chunks.aclose()


def test_a_turn_that_is_over_is_not_taken_on_again_by_a_cache_that_is_behind(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        link, called = DelayedWatches(), []

        async def back_up(context: EvictionContext) -> None:
            called.append(context.name)
            link.hears.clear()

        await cluster.program(Interceptor(BACKUP, back_up), wrap_transport=link)
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web")
        await cluster.until_active(CACHE)
        written = link.status_writes
        await cluster.clock.sleep(60)
        assert link.status_writes == written
        link.hears.set()
        await cluster.clock.sleep(60)
        assert (link.status_writes, called) == (written, [BACKUP])

    simulate(body, sim_seed)
