"""The webhook's second listener, for pods that ask why they are terminated. It delays no review."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vacate.admission.pods.hookwrapper import HookWrapper
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.httpserver.certificate import ServedCertificate
from vacate.httpserver.connection import Limits
from vacate.httpserver.listener import HttpListener
from vacate.runtime.ratelimit import RateLimit, RateLimitedTransport
from vacate.webhook.certificates.files import AuthorityFile, CertificateFolder
from vacate.webhook.reasonservice import PATH, ReasonService
from vacate.wiring.components import ComponentContext

_REQUESTS, _CONNECTIONS = 50, 200
_RATE = RateLimit(qps=50.0, burst=200)


@dataclass(frozen=True, slots=True)
class ReasonSettings:
    """How the preStop hooks of pods are wrapped, and where their wrappers ask."""

    image: str  # with the program
    host: str  # under which the certificate is valid
    address: str = ""  # of that host, for pods that cannot resolve its name
    pull_policy: str = "IfNotPresent"
    port: int = 9444

    def wrapper(self, port: int, authority: str) -> HookWrapper:
        """What pods are given."""
        service = f"https://{self.host}:{port}{PATH} {self.address}".rstrip()
        return HookWrapper(self.image, self.pull_policy, service, authority)


class ReasonListener:
    """Serves the certificate of the webhook, and asks no client for one: pods have tokens."""

    def __init__(
        self, transport: Transport, around: ComponentContext, settings: ReasonSettings, cert_dir: Path
    ) -> None:
        self._settings = settings
        client = Client(RateLimitedTransport(transport, around.clock, _RATE), user_agent="vacate/reasons")
        self._served = ServedCertificate()
        self._folder = CertificateFolder(cert_dir, self._served)
        self._authority = AuthorityFile(cert_dir / "ca.crt")
        limits = Limits(
            handshake_seconds=10.0,
            idle_seconds=10.0,
            body_seconds=5.0,
            stalled_seconds=5.0,
            body_bytes=0,
            connections=_CONNECTIONS,
            requests=_REQUESTS,
        )
        self._listener = HttpListener(ReasonService(client).handle, self._served.context, limits)

    def look(self) -> None:
        """Use the certificate and the authority that are there now."""
        self._folder.look()
        self._authority.look()

    @property
    def wrapper(self) -> HookWrapper:
        """What pods are given now. Several replicas are behind one port, that of the Service."""
        return self._settings.wrapper(self._settings.port or self._listener.port, self._authority.text)

    @property
    def port(self) -> int:
        """Where pods ask for their reasons; 0 before it listens."""
        return self._listener.port

    async def start(self, address: str) -> None:
        """Listen; ConfigError where the port is taken."""
        await self._listener.start_at("--reasons-port", address, self._settings.port)

    async def stop(self) -> None:
        """Stop listening, after what is under way."""
        await self._listener.stop()
