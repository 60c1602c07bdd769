"""Who may send reviews, how many at once, and how large: a neighbour in the cluster reaches the port too."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import orjson
import pytest

from embedded.registry.given import NOW, RUNNING, a
from support.embedded import ADMIN, embedded, namespace
from support.reviews import ADMIN_INFO, MUTATE, review
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.client.key_pair import load_key_pair
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.entropy import system_entropy
from vacate.errors import ConfigError, TooManyRequests
from vacate.httpserver.listener import InFlight
from vacate.metrics import Metrics
from vacate.pki.issue import KeyPair, new_authority, new_client, new_server
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext
from vacate.wiring.webhook import WebhookParts, WebhookSettings

pytestmark = pytest.mark.process

SERVERS, CLIENTS, STRANGERS = (new_authority(name, SystemClock().now()) for name in ("s", "c", "x"))
JSON = {"Content-Type": "application/json"}


class Gate:
    """The cluster, behind a gate that may be shut."""

    def __init__(self, inner: InProcessTransport) -> None:
        self._inner = inner
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = 0

    async def send(self, request: Request) -> Response:
        if request.path != "/version":
            self.waiting += 1
            await self.open.wait()
        return await self._inner.send(request)

    async def aclose(self) -> None:
        """Nothing is held."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pair = new_server(SERVERS, "hook", ["127.0.0.1"], SystemClock().now())
    (tmp_path / "tls.crt").write_bytes(pair.certificate_pem)
    (tmp_path / "tls.key").write_bytes(pair.key_pem)
    (tmp_path / "clients.crt").write_bytes(CLIENTS.certificate_pem)
    return tmp_path


@contextlib.asynccontextmanager
async def listening(settings: WebhookSettings) -> AsyncIterator[tuple[WebhookParts, Gate]]:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, RUNNING["web"])
        gate = Gate(InProcessTransport(server.server, ADMIN))
        parts = WebhookParts(gate, ComponentContext(SystemClock(), system_entropy(), Metrics()), settings)
        running = asyncio.ensure_future(parts.run())
        try:
            await asyncio.wait_for(parts.listening(), 60)
            yield parts, gate
        finally:
            running.cancel()
            await asyncio.wait([running])


def guarded(folder: Path, *names: str) -> WebhookSettings:
    return WebhookSettings(
        "127.0.0.1", 0, folder, poll_seconds=0.01, client_ca=folder / "clients.crt", client_names=names
    )


def showing(name: str = "", issuer: KeyPair = CLIENTS) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=SERVERS.certificate_pem.decode())
    if name:
        pair = new_client(issuer, name, (), SystemClock().now())
        load_key_pair(context, pair.certificate_pem, pair.key_pem)
    return context


def a_review(user: str = "admin") -> bytes:
    new = {"apiVersion": KIND.api_version, "kind": KIND.kind, **a(KIND)}
    return orjson.dumps(review("CREATE", new=new, user={**ADMIN_INFO, "username": user}))


async def sent(parts: WebhookParts, context: ssl.SSLContext, body: bytes | None = None) -> int:
    """The status of the answer; 0 where none was given."""
    async with aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{parts.port}{MUTATE}"
        try:
            async with session.post(url, data=body or a_review(), headers=JSON, ssl=context) as answer:
                await answer.read()
                return answer.status
        except (aiohttp.ClientError, ConnectionError):
            return 0


async def test_who_shows_no_certificate_or_that_of_another_ca_gets_no_answer(folder: Path) -> None:
    async with listening(guarded(folder)) as (parts, gate):
        assert await sent(parts, showing()) == 0
        assert await sent(parts, showing("kube-apiserver", STRANGERS)) == 0
        assert gate.waiting == 0
        assert await sent(parts, showing("kube-apiserver")) == 200


async def test_a_certificate_for_another_name_is_refused(folder: Path) -> None:
    """Kubelets have certificates of the cluster's CA as well."""
    async with listening(guarded(folder, "kube-apiserver")) as (parts, gate):
        assert await sent(parts, showing("system:node:n1")) == 403
        assert gate.waiting == 0
        assert await sent(parts, showing("kube-apiserver")) == 200


async def test_another_ca_is_taken_without_a_restart_and_a_broken_one_is_not(folder: Path) -> None:
    async with listening(guarded(folder)) as (parts, _):
        (folder / "clients.crt").write_bytes(b"")
        (folder / "clients.crt").write_bytes(STRANGERS.certificate_pem)
        while await sent(parts, showing("new", STRANGERS)) != 200:
            pass
        assert await sent(parts, showing("old")) == 0
        (folder / "clients.crt").write_bytes(b"nothing")
        for _ in range(3):
            assert await sent(parts, showing("new", STRANGERS)) == 200


@pytest.mark.parametrize("content", [b"", b" ", b"nothing"])
async def test_without_a_usable_ca_nothing_is_served(folder: Path, content: bytes) -> None:
    (folder / "clients.crt").write_bytes(content)
    around = ComponentContext(SystemClock(), system_entropy(), Metrics())
    async with embedded() as server:
        transport = InProcessTransport(server.server, ADMIN)
        with pytest.raises(ConfigError, match=r"clients\.crt: "):
            await WebhookParts(transport, around, guarded(folder)).run()


async def test_reviews_beyond_the_limit_get_429(folder: Path) -> None:
    async with listening(WebhookSettings("127.0.0.1", 0, folder, reviews=3)) as (parts, gate):
        gate.open.clear()
        # By users of their own: reviews of one user ask about a right once.
        first = [asyncio.create_task(sent(parts, showing(), a_review(f"admin-{n}"))) for n in range(3)]
        while gate.waiting < 3:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)
        assert [await sent(parts, showing()) for _ in range(5)] == [429] * 5
        gate.open.set()
        assert await asyncio.gather(*first) == [200] * 3
        assert await sent(parts, showing()) == 200


async def test_more_connections_than_there_is_room_for_are_closed(folder: Path) -> None:
    async with listening(WebhookSettings("127.0.0.1", 0, folder, connections=4)) as (parts, _):
        held = [await asyncio.open_connection("127.0.0.1", parts.port, ssl=showing()) for _ in range(4)]
        assert await sent(parts, showing()) == 0
        for _, writer in held:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        while await sent(parts, showing()) != 200:
            pass


def test_bodies_share_their_room() -> None:
    room = InFlight(body_bytes=100)
    with room.enter() as first:
        first.take(60)
        with room.enter() as second:
            second.take(30)
            with pytest.raises(TooManyRequests):
                second.take(30)
        assert (room.requests, room.body_bytes) == (1, 60)
        with room.enter() as third:
            third.take(40)
    assert (room.requests, room.body_bytes) == (0, 0)
