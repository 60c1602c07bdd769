"""The HTTPS port of `vacate node`, where API servers read logs."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from vacate.client.privatefile import write_private
from vacate.clock import PassiveClock
from vacate.errors import ConfigError, ServiceUnavailable
from vacate.httpserver.connection import Limits
from vacate.httpserver.listener import HttpListener
from vacate.httpserver.responses import refusal
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.logservice import LogService
from vacate.pki.issue import new_authority, new_server
from vacate.wire.message import Request, Response

_CONNECTIONS, _REQUESTS = 100, 50


@dataclass(frozen=True, slots=True)
class LogListenerSettings:
    """Where to listen, whom to let in, and as whom."""

    address: str
    port: int
    client_ca: bytes
    made: Path  # where the certificate is kept that is made without one
    certificate: Path | None = None
    key: Path | None = None


class LogListener:
    """Listens before the node registers, since its port is in the Node object."""

    def __init__(self, settings: LogListenerSettings, name: str, clock: PassiveClock) -> None:
        self._settings = settings
        self._service: LogService | None = None
        limits = Limits(
            handshake_seconds=10.0,
            idle_seconds=30.0,
            body_bytes=0,
            connections=_CONNECTIONS,
            requests=_REQUESTS,
        )
        self._listener = HttpListener(self._handle, _context(settings, name, clock), limits)

    async def start(self) -> int:
        """Listen; the port. ConfigError where it is taken."""
        await self._listener.start_at("--port", self._settings.address, self._settings.port)
        return self._listener.port

    def serve(self, agent: NodeAgent) -> None:
        """From now on answer for the pods of this agent."""
        self._service = agent.log_service()

    async def stop(self) -> None:
        """Stop listening, and end those who follow."""
        await self._listener.stop()

    async def _handle(self, request: Request) -> Response:
        if self._service is None:
            return refusal(ServiceUnavailable("the node is not up yet"))
        return await self._service.handle(request)


def _context(settings: LogListenerSettings, name: str, clock: PassiveClock) -> ssl.SSLContext:
    """A certificate is not demanded in the handshake: a client without one gets 401 then."""
    certificate, key = settings.certificate, settings.key
    if certificate is None:
        certificate = key = settings.made
        made = new_server(
            new_authority(f"{name}-ca", clock.now()), name, [name, settings.address], clock.now()
        )
        write_private(certificate, made.certificate_pem + made.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.verify_mode = ssl.CERT_OPTIONAL
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--tls-cert-file: {certificate}: cannot be used for TLS: {error}") from error
    try:
        context.load_verify_locations(cadata=settings.client_ca.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise ConfigError("--client-ca: holds no certificate in PEM form") from None
    return context
