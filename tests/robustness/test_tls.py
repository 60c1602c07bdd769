"""The TLS door: what is let in, what is turned away, and that neither leaves a trace in the log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.hostile.raw import TIMEOUT, Listening, RawAnswer, get, listening
from vacate.api.identity import MASTERS
from vacate.clock import SystemClock
from vacate.embedded.bootstrap import bootstrap_objects
from vacate.embedded.cluster.certificates import Pki
from vacate.httpserver.connection import MAX_BODY_BYTES, Limits
from vacate.pki.tls import server_ssl_context

pytestmark = pytest.mark.process


@dataclass(frozen=True)
class Door:
    """A server behind TLS, and the authority that it trusts."""

    at: Listening
    pki: Pki

    def context(self) -> ssl.SSLContext:
        """A client that trusts the server."""
        context = ssl.create_default_context(cadata=self.pki.authority.certificate_pem.decode())
        context.check_hostname = False
        return context

    async def ask(self, context: ssl.SSLContext, path: str, *, name: str | None = "localhost") -> RawAnswer:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.at.edge.port, ssl=context, server_hostname=name or ""
        )
        try:
            writer.write(get(path))
            async with asyncio.timeout(TIMEOUT):
                return RawAnswer(await reader.read())
        finally:
            writer.close()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(tmp_path, Limits(stop_seconds=0.2)) as found:
        yield found


@contextlib.asynccontextmanager
async def opened(folder: Path, limits: Limits) -> AsyncIterator[Door]:
    """A server with these limits, for as long as one is inside."""
    pki = Pki(folder / "pki", SystemClock())
    pki.server()
    context = server_ssl_context(pki.file("server"), pki.authority.certificate_pem)
    async with listening(limits, context) as at:
        for kind, obj in bootstrap_objects():
            await at.server.seed(kind, obj)
        yield Door(at, pki)


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.INFO)
    yield
    assert not caplog.records


async def test_without_a_certificate_one_is_nobody(door: Door) -> None:
    assert (await door.ask(door.context(), "/livez")).code == 200
    heard = await door.ask(door.context(), "/api/v1/pods")
    assert heard.code == 403
    assert "system:anonymous" in heard.status["message"]


async def test_a_body_is_read_before_its_sender_is_authorized(door: Door) -> None:
    """So strangers can cause load: too large a body is refused for its size, and not for its sender."""
    size = MAX_BODY_BYTES + 1
    request = f"POST /api/v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", door.at.edge.port, ssl=door.context(), server_hostname="localhost"
    )
    writer.write(request.encode() + b" " * size)
    async with asyncio.timeout(TIMEOUT):
        assert RawAnswer(await reader.read()).code == 413
    writer.close()


async def test_a_certificate_of_the_authority_names_its_holder(door: Door) -> None:
    door.pki.client("admin", "admin", (MASTERS,))
    context = door.context()
    context.load_cert_chain(door.pki.file("admin"))
    assert (await door.ask(context, "/api/v1/pods")).code == 200


async def test_a_certificate_of_a_stranger_ends_the_handshake(door: Door, tmp_path: Path) -> None:
    """kube-apiserver lets it in and answers 401; here it does not get as far as a request."""
    strange = Pki(tmp_path / "strange", SystemClock())
    strange.client("admin", "admin", (MASTERS,))
    context = door.context()
    context.load_cert_chain(strange.file("admin"))
    assert await turned_away(door, context)


async def test_no_server_name_is_needed(door: Door) -> None:
    context = door.context()
    assert (await door.ask(context, "/livez", name=None)).code == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
async def test_old_versions_are_turned_away(door: Door, version: ssl.TLSVersion) -> None:
    context = door.context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    assert await turned_away(door, context)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_current_versions_are_let_in(door: Door, version: ssl.TLSVersion) -> None:
    context = door.context()
    context.minimum_version = context.maximum_version = version
    assert (await door.ask(context, "/livez")).code == 200


async def test_http_2_is_not_offered(door: Door) -> None:
    context = door.context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection("127.0.0.1", door.at.edge.port, ssl=context)
    assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
    writer.close()


@pytest.mark.parametrize("sent", [get("/livez"), b"\0" * 2000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
async def test_what_is_no_handshake_is_closed(door: Door, sent: bytes) -> None:
    await door.at.say(sent)
    assert (await door.ask(door.context(), "/livez")).code == 200


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01"], ids=["never comes", "never ends"])
async def test_a_handshake_without_an_end_is_closed(tmp_path: Path, sent: bytes) -> None:
    """On a server of its own: a client that shakes hands properly could miss so short a limit."""
    async with opened(tmp_path, Limits(handshake_seconds=0.2, stop_seconds=0.2)) as door:
        await door.at.say(sent)


async def turned_away(door: Door, context: ssl.SSLContext) -> bool:
    """Whether the connection ends without an answer; newer clients learn that only when they read."""
    try:
        return (await door.ask(context, "/livez")).raw == b""
    except (ssl.SSLError, ConnectionError):
        return True
