"""Real handshakes over loopback: who gets in, and as whom."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from vacate.clock import SystemClock
from vacate.embedded.cluster.certificates import Pki, peer_of, server_ssl_context
from vacate.errors import ConfigError
from vacate.wire.message import Peer

pytestmark = pytest.mark.process


class Meeting:
    """A server that answers every client with the user it took it for."""

    def __init__(self, pki: Pki) -> None:
        self.pki = pki
        self.peers: list[Peer | None] = []
        self.port = 0

    async def greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.peers.append(peer_of(writer.get_extra_info("ssl_object")))
        await reader.readline()
        writer.write(b"hello\n")
        await writer.drain()
        writer.close()

    async def visit(self, context: ssl.SSLContext, host: str = "127.0.0.1") -> bytes:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, server_hostname=host
        )
        try:
            writer.write(b"hi\n")
            await writer.drain()
            return await reader.readline()
        finally:
            writer.close()

    async def turns_away(self, context: ssl.SSLContext) -> bool:
        """In TLS 1.3 a client learns of a refusal only when it reads: by an alert or by the end."""
        try:
            answer = await self.visit(context)
        except (ssl.SSLError, ConnectionError):
            answer = b""
        return answer == b"" and self.peers == []


@asynccontextmanager
async def meeting(folder: Path) -> AsyncIterator[Meeting]:
    pki = Pki(folder, SystemClock())
    pki.server()
    held = Meeting(pki)
    context = server_ssl_context(pki.file("server"), pki.authority.certificate_pem)
    server = await asyncio.start_server(held.greet, "127.0.0.1", 0, ssl=context)
    held.port = server.sockets[0].getsockname()[1]
    async with server:
        yield held


def trusting(pki: Pki) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=pki.authority.certificate_pem.decode())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_without_a_certificate_one_gets_in_as_nobody(tmp_path: Path, host: str) -> None:
    async with meeting(tmp_path) as held:
        assert await held.visit(trusting(held.pki), host) == b"hello\n"
        assert held.peers == [None]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_with_a_certificate_one_is_its_subject(tmp_path: Path, version: ssl.TLSVersion) -> None:
    async with meeting(tmp_path) as held:
        held.pki.client("admin", "root", ["system:masters", "dev"])
        context = trusting(held.pki)
        context.minimum_version = context.maximum_version = version
        context.load_cert_chain(held.pki.file("admin"))
        assert await held.visit(context) == b"hello\n"
        (peer,) = held.peers
        assert peer is not None
        assert (peer.name, peer.groups) == ("root", ("system:masters", "dev"))
        assert peer.credential_id.startswith("X509SHA256=")


async def test_a_certificate_of_a_stranger_is_turned_away(tmp_path: Path) -> None:
    async with meeting(tmp_path / "own") as held:
        stranger = Pki(tmp_path / "other", SystemClock())
        stranger.client("admin", "root", ["system:masters"])
        context = trusting(held.pki)
        context.load_cert_chain(stranger.file("admin"))
        assert await held.turns_away(context)


async def test_the_server_is_not_taken_for_another(tmp_path: Path) -> None:
    async with meeting(tmp_path) as held:
        with pytest.raises(ssl.SSLCertVerificationError):
            await held.visit(trusting(held.pki), "bank.example")


async def test_old_versions_of_tls_are_refused(tmp_path: Path) -> None:
    async with meeting(tmp_path) as held:
        context = trusting(held.pki)
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        assert await held.turns_away(context)


async def test_a_server_certificate_is_none_for_clients(tmp_path: Path) -> None:
    async with meeting(tmp_path) as held:
        context = trusting(held.pki)
        context.load_cert_chain(held.pki.file("server"))
        assert await held.turns_away(context)


def test_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "server.pem").write_text("nothing")
    with pytest.raises(ConfigError, match=r"server\.pem: cannot be used for TLS"):
        server_ssl_context(tmp_path / "server.pem", b"")
