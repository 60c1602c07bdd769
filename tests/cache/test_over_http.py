"""The informer over HTTP connections that go bad: silent, cut, reset, refused, answered by a new server."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from support.hostile.http_proxy import Proxy, proxying
from support.tiny_server import TinyServer
from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.cache.informer import Informer, Tuning
from vacate.client.client import Client
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport, Limits
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.httpserver.listener import HttpListener

pytestmark = pytest.mark.process

QUICK = Tuning(first_pause=0.02, max_pause=0.1)
PATIENT = Limits(connect_seconds=60.0)
NOTICES_SILENCE = Limits(connect_seconds=60.0, silence_seconds=0.4)
WANTS_ANSWERS = Limits(answer_seconds=1.0, silence_seconds=1.0)
A_MOMENT = dt.timedelta(milliseconds=100)

Changes = list[tuple[str, str]]


class Stage:
    """A server that can be restarted, a proxy before it, an informer behind the proxy."""

    def __init__(self) -> None:
        self.server = TinyServer()
        self.server.put(PODS, "a")
        self.changes: Changes = []
        self.edge = HttpListener(self.server.handle, None)
        self.proxy: Proxy
        self.informer: Informer[Pod]

    async def restart(self, meanwhile: Callable[[], object]) -> None:
        """The server goes away, with all connections; what happens meanwhile nobody sees."""
        port = self.edge.port
        await self.edge.stop()
        meanwhile()
        self.edge = HttpListener(self.server.handle, None)
        await self.edge.start("127.0.0.1", port)

    async def until(self, ask: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not ask():  # noqa: ASYNC110  nothing announces it
                await asyncio.sleep(0.01)

    async def sees(self, *names: str) -> None:
        await self.until(lambda: [one.metadata.name for one in self.informer.reader.list()] == list(names))

    def note(self, old: Pod | None, new: Pod | None) -> None:
        what = "added" if old is None else "deleted" if new is None else "changed"
        self.changes.append((what, (new or old or Pod()).metadata.name))


@asynccontextmanager
async def staged(limits: Limits = PATIENT, *, follow: bool = True) -> AsyncIterator[Stage]:
    stage = Stage()
    await stage.edge.start("127.0.0.1", 0)
    async with proxying(stage.edge.port) as proxy:
        stage.proxy = proxy
        config = ClusterConfig(f"http://127.0.0.1:{proxy.port}")
        client = Client(HttpTransport(config, SystemClock(), limits))
        stage.informer = Informer(
            client, PODS, Pod, clock=SystemClock(), entropy=system_entropy(), tuning=QUICK
        )
        stage.informer.subscribe(stage.note)
        task = asyncio.create_task(stage.informer.run())
        try:
            if follow:
                await stage.sees("a")
                await stage.until(lambda: stage.informer.unbroken_since)
            yield stage
        finally:
            task.cancel()
            await asyncio.wait([task])
            await client.aclose()
    await stage.edge.stop()


def lists(stage: Stage) -> int:
    """How often the whole state was asked for."""
    return sum(not one.query.get("resourceVersion") for one in stage.server.requests)


async def test_a_connection_that_falls_silent_is_given_up_and_nothing_is_missed() -> None:
    async with staged(NOTICES_SILENCE) as stage:
        since = stage.informer.unbroken_since
        stage.proxy.fall_silent()
        stage.server.put(PODS, "b")
        await stage.sees("a", "b")
        assert stage.changes == [("added", "a"), ("added", "b")]
        assert lists(stage) == 1
        await stage.until(lambda: stage.informer.unbroken_since)
        again = stage.informer.unbroken_since
        assert since is not None
        assert again is not None
        assert again - since > A_MOMENT, "an interceptor's silence must not count meanwhile"


@pytest.mark.parametrize("after", [0, 1, 7, 40, 90])
async def test_a_connection_that_ends_in_the_middle_of_an_event(after: int) -> None:
    async with staged() as stage:
        stage.proxy.cut_after = after
        stage.server.put(PODS, "b")
        await stage.sees("a", "b")
        stage.server.put(PODS, "c")
        await stage.sees("a", "b", "c")
        assert stage.changes == [("added", one) for one in ("a", "b", "c")]
        assert lists(stage) == 1


async def test_a_connection_that_is_reset() -> None:
    async with staged() as stage:
        for number in range(5):
            stage.proxy.reset()
            stage.server.put(PODS, f"b{number}")
            await stage.sees("a", *(f"b{one}" for one in range(number + 1)))
        assert lists(stage) == 1


async def test_a_server_that_accepts_and_says_nothing_is_asked_again() -> None:
    async with staged(WANTS_ANSWERS, follow=False) as stage:
        stage.proxy.mute = True
        stage.proxy.reset()
        await stage.until(lambda: stage.proxy.accepted >= 3)
        stage.proxy.mute = False
        await stage.sees("a")


async def test_a_restarted_server_is_followed_from_where_the_last_one_ended() -> None:
    async with staged() as stage:

        def meanwhile() -> None:
            stage.server.put(PODS, "b")
            stage.server.remove(PODS, "a")

        await stage.restart(meanwhile)
        await stage.sees("b")
        assert stage.changes == [("added", "a"), ("added", "b"), ("deleted", "a")]
        assert lists(stage) == 1


async def test_a_server_that_has_forgotten_its_history_is_listed_anew() -> None:
    async with staged() as stage:

        def meanwhile() -> None:
            stage.server.remove(PODS, "a")
            stage.server.put(PODS, "b")
            stage.server.compact()

        await stage.restart(meanwhile)
        await stage.sees("b")
        assert stage.changes == [("added", "a"), ("deleted", "a"), ("added", "b")]
        assert lists(stage) == 2
