"""The webhook over real TLS: certificates are exchanged under way, and slow or greedy clients are cut off."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import io
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import orjson
import pytest
from cryptography import x509

from embedded.registry.given import NOW, RUNNING, a
from support.embedded import ADMIN, Embedded, embedded, namespace
from support.reviews import MUTATE, review
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS, Kind
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.httpserver.certificate import ServedCertificate
from vacate.httpserver.connection import Limits
from vacate.httpserver.listener import HttpListener
from vacate.metrics import Metrics
from vacate.pki.issue import KeyPair, new_authority, new_server
from vacate.webhook.certificates.files import CertificateFolder, RulesFile, keep_looking
from vacate.webhook.metrics import WebhookMetrics
from vacate.webhook.reviewer import PATHS
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext
from vacate.wiring.webhook import WebhookParts, WebhookSettings

pytestmark = pytest.mark.process

NOW_REAL = SystemClock().now()
AUTHORITY = new_authority("test", NOW_REAL)
DAY = dt.timedelta(days=1)


def issued(began: dt.datetime = NOW_REAL) -> KeyPair:
    return new_server(AUTHORITY, "hook", ["127.0.0.1", "localhost"], began, DAY)


def write(folder: Path, pair: KeyPair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate_pem)
    (folder / "tls.key").write_bytes(pair.key_pem)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)


def trusting(authority: KeyPair = AUTHORITY) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate_pem.decode())


class Gate:
    """The cluster, behind a gate that may be shut."""

    def __init__(self, server: Embedded) -> None:
        self._inner = InProcessTransport(server.server, ADMIN)
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = asyncio.Event()

    async def send(self, request: Request) -> Response:
        if not self.open.is_set() and request.path != "/version":
            self.waiting.set()
            await self.open.wait()
        return await self._inner.send(request)

    async def aclose(self) -> None:
        """Nothing is held."""


class Running:
    """A webhook that listens."""

    def __init__(self, parts: WebhookParts, gate: Gate, task: asyncio.Task[None]) -> None:
        self.parts = parts
        self.gate = gate
        self.task = task

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.parts.port}{MUTATE}"

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def certificate(self, host: str = "127.0.0.1") -> x509.Certificate:
        """What a new connection is shown, whether or not it is trusted."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_connection(host, self.parts.port, ssl=context)
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return x509.load_der_x509_certificate(shown)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, issued())
    return tmp_path


@pytest.fixture
async def hook(folder: Path) -> AsyncIterator[Running]:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, RUNNING["web"])
        gate = Gate(server)
        settings = WebhookSettings("127.0.0.1", 0, cert_dir=folder, grace_seconds=60.0)
        around = ComponentContext(SystemClock(), system_entropy(), Metrics())
        parts = WebhookParts(gate, around, settings)
        running = Running(parts, gate, asyncio.ensure_future(parts.run()))
        await asyncio.wait_for(parts.listening(), 60)
        yield running
        await running.stop()


def a_review() -> bytes:
    obj = {"apiVersion": KIND.api_version, "kind": KIND.kind, **a(KIND)}
    return orjson.dumps(review("CREATE", new=obj))


JSON = {"Content-Type": "application/json"}


async def test_a_review_over_https(hook: Running) -> None:
    async with aiohttp.ClientSession() as session:
        answer = await session.post(
            hook.url, params={"timeout": "10s"}, data=a_review(), headers=JSON, ssl=trusting()
        )
        assert answer.status == 200
        assert (await answer.json())["response"]["allowed"] is True
    await until(lambda: not hook.parts.not_ready())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_new_certificate_is_shown_to_new_connections(folder: Path, host: str) -> None:
    served = ServedCertificate()
    files = CertificateFolder(folder, served)
    files.look()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=served.context)
    port = server.sockets[0].getsockname()[1]

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter, x509.Certificate]:
        reader, writer = await asyncio.open_connection(host, port, ssl=trusting())
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return reader, writer, x509.load_der_x509_certificate(shown)

    old_reader, old_writer, before = await connect()
    pair = issued()
    write(folder, pair)
    files.look()
    _, new_writer, after = await connect()
    assert before != after == pair.certificate
    old_writer.write(b"still there\n")
    assert await old_reader.readline() == b"still there\n"
    for one in (old_writer, new_writer):
        one.close()
    server.close()


async def test_broken_files_change_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    counted = WebhookMetrics(metrics.registry)
    served = ServedCertificate(counted.note_certificate)
    files = CertificateFolder(folder, served)
    files.look()
    before = served.certificate
    other = issued()
    spoilt = [
        ("tls.key", other.key_pem, "does not belong"),
        ("tls.crt", b"-----BEGIN CERTIFICATE-----\n", "is not a PEM"),
    ]
    looking = asyncio.ensure_future(keep_looking([files.look], SystemClock(), counted, seconds=0.001))
    for name, content, message in spoilt:
        (folder / name).write_bytes(content)
        await until(lambda message=message: message in caplog.text)  # type: ignore[misc]
        assert served.certificate == before
    (folder / "tls.crt").unlink()
    await until(lambda: "cannot be read" in caplog.text)
    assert len(caplog.records) == 3
    write(folder, other)
    await until(lambda: served.certificate == other.certificate)
    looking.cancel()


async def test_an_expired_certificate_is_reported_and_not_accepted(tmp_path: Path) -> None:
    served = ServedCertificate()
    assert served.trouble(NOW_REAL) == "there is no certificate yet"
    write(tmp_path, issued(NOW_REAL - 2 * DAY))
    CertificateFolder(tmp_path, served).look()
    assert served.trouble(NOW_REAL).startswith("the certificate expired on ")
    assert served.trouble(NOW_REAL - 3 * DAY).startswith("the certificate is not valid before ")
    assert served.trouble(NOW_REAL - 1.5 * DAY) == ""
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0, ssl=served.context)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        await asyncio.open_connection("127.0.0.1", port, ssl=trusting())
    server.close()


async def test_rules_change_under_way(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("rules: [{interceptors: [{name: a.example.com, priority: 1}]}]")
    rules = RulesFile(path, ())
    rules.look()
    before = rules.rules
    assert len(before) == 1
    path.write_text("rules: 5")
    with pytest.raises(ConfigError):
        rules.look()
    assert rules.rules == before
    path.write_text("rules: []")
    rules.look()
    assert not rules.rules


async def test_what_is_under_way_is_finished(hook: Running) -> None:
    hook.gate.open.clear()
    async with aiohttp.ClientSession() as session:
        sending = asyncio.ensure_future(session.post(hook.url, data=a_review(), headers=JSON, ssl=trusting()))
        await asyncio.wait_for(hook.gate.waiting.wait(), 60)
        stopping = asyncio.ensure_future(hook.stop())
        await until(lambda: hook.parts.not_ready() != "")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", hook.parts.port)
        assert not stopping.done()
        hook.gate.open.set()
        answer = await asyncio.wait_for(sending, 60)
        assert (await answer.json())["response"]["allowed"] is True
        await asyncio.wait_for(stopping, 60)


class Held(SystemClock):
    """A clock on which the delay before the end takes as long as a test wants."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await (self.go_on.wait() if seconds == 77.0 else super().sleep(seconds))


async def test_before_the_end_it_goes_on_for_a_while(folder: Path) -> None:
    async with embedded() as server:
        clock, gate = Held(), Gate(server)
        settings = WebhookSettings("127.0.0.1", 0, cert_dir=folder, delay_seconds=77.0)
        parts = WebhookParts(gate, ComponentContext(clock, system_entropy(), Metrics()), settings)
        hook = Running(parts, gate, asyncio.ensure_future(parts.run()))
        await asyncio.wait_for(parts.listening(), 60)
        async with aiohttp.ClientSession() as session:
            before = await session.post(hook.url, data=a_review(), headers=JSON, ssl=trusting())
            stopping = asyncio.ensure_future(hook.stop())
            await until(lambda: "reviews are not taken" in parts.not_ready())
            answer = await session.post(hook.url, data=a_review(), headers=JSON, ssl=trusting())
        assert (before.status, answer.status) == (200, 200)
        # Who goes on using a connection learns that it is the last time, before it breaks.
        assert [one.headers.get("Connection") for one in (before, answer)] == [None, "close"]
        assert not stopping.done()
        clock.go_on.set()
        await asyncio.wait_for(stopping, 60)


async def test_slow_clients_are_cut_off(folder: Path) -> None:
    served = ServedCertificate()
    CertificateFolder(folder, served).look()

    async def never(_request: Request) -> Response:
        raise AssertionError("the request is not whole")

    edge = HttpListener(never, served.context, Limits(body_seconds=0.05, linger_seconds=0.05))
    await edge.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port, ssl=trusting())
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    answer = await asyncio.wait_for(reader.read(), 60)
    assert answer.startswith(b"HTTP/1.1 504 ")
    writer.close()
    await edge.stop()


@pytest.mark.thorough
async def test_bodies_that_are_too_long(hook: Running) -> None:
    """Each path takes what API servers store, twice, and no more; elsewhere nothing is taken."""
    server = f"https://127.0.0.1:{hook.parts.port}"
    async with aiohttp.ClientSession() as session:
        for where, most in [*((where, path.max_bytes) for where, path in PATHS.items()), ("/", 0)]:
            body = b'{"a":"' + b"x" * most + b'"}'
            with contextlib.suppress(aiohttp.ClientOSError):
                url, data = server + where, io.BytesIO(body)
                answer = await session.post(url, data=data, headers=JSON, ssl=trusting())
                assert answer.status == 413, where
        answer = await session.post(hook.url, data=a_review(), headers=JSON, ssl=trusting())
        assert answer.status == 200


@pytest.mark.parametrize(("where", "kind"), [("/mutate/evictionrequests", KIND), ("/validate/pods", PODS)])
async def test_an_update_of_the_largest_object_that_is_stored(hook: Running, where: str, kind: Kind) -> None:
    """Its review has it twice. One that is too large is no verdict, and lets pods and statuses pass."""
    stored = {"metadata": {"name": "x", "annotations": {"a": "x" * 1_500_000}}, "spec": {}}
    sent = orjson.dumps(review("UPDATE", new=stored, old=stored, kind=kind))
    assert len(sent) > 3_000_000
    async with aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{hook.parts.port}{where}"
        answer = await session.post(url, data=io.BytesIO(sent), headers=JSON, ssl=trusting())
        assert answer.status == 200, await answer.text()


async def test_a_port_that_is_taken(hook: Running, folder: Path) -> None:
    settings = WebhookSettings("127.0.0.1", hook.parts.port, cert_dir=folder)
    around = ComponentContext(SystemClock(), system_entropy(), Metrics())
    with pytest.raises(ExceptionGroup) as caught:
        await WebhookParts(hook.gate, around, settings).run()
    assert "is taken by another program" in str(caught.value.exceptions[0])
