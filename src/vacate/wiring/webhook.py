"""Admission for a stock cluster as a process of its own: what `vacate webhook` runs."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from dataclasses import dataclass, field, replace
from pathlib import Path

from vacate.api.identity import StatusAuthority
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_EVICTIONS
from vacate.client.access import own_user
from vacate.client.client import Client
from vacate.client.serverclock import DatedTransport, ServerClock
from vacate.client.transport import Transport
from vacate.errors import ApiError, TransportError
from vacate.eviction.callers import DEFAULT_WAIT, UnverifiedCallers
from vacate.eviction.model import Limits as RequestLimits
from vacate.features import FeatureGates
from vacate.httpserver.certificate import ServedCertificate
from vacate.httpserver.connection import Limits
from vacate.httpserver.listener import HttpListener
from vacate.runtime.ratelimit import RateLimitedTransport
from vacate.webhook.certificates.files import (
    POLL_SECONDS,
    CertificateFolder,
    ClientCaFile,
    RulesFile,
    keep_looking,
)
from vacate.webhook.connectivity import Connectivity
from vacate.webhook.evictionbridge import BRIDGE_GATE
from vacate.webhook.handler import Service
from vacate.webhook.metrics import WebhookMetrics
from vacate.webhook.reviewer import PATHS, Reviewer, WebhookConfig
from vacate.wiring.components import ComponentContext
from vacate.wiring.reasonlistener import ReasonListener, ReasonSettings

COMPONENT = "webhook"
ALL_REVIEW_BYTES = 32 * 1024 * 1024  # of reviews under way; an object takes some ten times as much in memory

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """What a person may choose."""

    address: str = "0.0.0.0"  # noqa: S104  API servers come from outside
    port: int = 9443
    cert_dir: Path = Path()  # where tls.crt and tls.key are
    rules: Path | None = None
    allowed_interceptors: tuple[str, ...] = ()
    authority: StatusAuthority = field(default_factory=StatusAuthority)
    gates: FeatureGates = field(default_factory=FeatureGates)
    # At SIGTERM it reports that it is not ready and serves for so long: API servers learn of it late.
    delay_seconds: float = 0.0
    grace_seconds: float = 10.0  # then, for what is under way
    poll_seconds: float = POLL_SECONDS  # between two looks at certificate and rules
    # API servers must show a certificate of this CA, for one of these names; without names, for any.
    client_ca: Path | None = None
    client_names: tuple[str, ...] = ()
    connections: int = 500
    bridge: bool = False  # whether direct evictions wait for interceptors
    bridge_wait: dt.timedelta = DEFAULT_WAIT  # of the eviction bridge, for callers that stop asking
    unverified_callers: UnverifiedCallers = UnverifiedCallers.REFUSE  # of whom it is not known what they may
    reasons: bool = False  # whether pods are annotated with the reason of their deletion
    wrapping: ReasonSettings | None = None  # how preStop hooks are wrapped, if they are
    limits: RequestLimits = field(default_factory=RequestLimits)  # those of the manager, for the bridge
    reviews: int = 100  # under way at once: many more than two replicas get from several API servers


class WebhookParts:
    """The listener with its certificate, its rules and its way to the cluster over one transport."""

    def __init__(self, transport: Transport, around: ComponentContext, settings: WebhookSettings) -> None:
        self._settings = settings
        self._around = around
        # Deadlines and Leases have the API server's times.
        clock = ServerClock(around.clock, around.metrics)
        paced = RateLimitedTransport(DatedTransport(transport, clock), around.clock, metrics=around.metrics)
        self._client = Client(paced, user_agent=f"vacate/{COMPONENT}")
        self._metrics = WebhookMetrics(around.metrics.registry)
        demanded = settings.client_ca is not None
        self._served = ServedCertificate(self._metrics.note_certificate, client_certificates=demanded)
        self._rules = RulesFile(settings.rules, settings.allowed_interceptors)
        wanted = settings.gates.enabled(LIFECYCLE_EVICTIONS.gate)
        self._connectivity = Connectivity(self._client, around.clock, asks_for_lifecycle=wanted)
        service = Service(
            Reviewer(self._client, clock, around.metrics),
            self._config,
            around.clock,
            self._metrics,
            clients=settings.client_names,
        )
        limits = Limits(
            handshake_seconds=10.0,
            body_seconds=10.0,
            stalled_seconds=10.0,
            stop_seconds=settings.grace_seconds,
            body_bytes=0,  # nothing is sent elsewhere
            path_body_bytes={where: path.max_bytes for where, path in PATHS.items()},
            connections=settings.connections,
            requests=settings.reviews,
            all_body_bytes=ALL_REVIEW_BYTES,
        )
        self._listener = HttpListener(service.handle, self._served.context, limits)
        self._reasons = (
            ReasonListener(transport, around, settings.wrapping, settings.cert_dir)
            if settings.wrapping is not None
            else None
        )
        self._listening = asyncio.Event()
        self._authority = settings.authority

    @property
    def port(self) -> int:
        """Where reviews are taken; 0 before they are."""
        return self._listener.port

    @property
    def reasons_port(self) -> int:
        """The port at which pods ask for their reasons; 0 where there is none."""
        return self._reasons.port if self._reasons is not None else 0

    async def listening(self) -> None:
        """Return once reviews are taken."""
        await self._listening.wait()

    def not_ready(self) -> str:
        """What is in the way, or nothing: a health check."""
        wrong = [self._served.trouble(self._around.clock.now()), self._connectivity.trouble]
        if not any(wrong) and not self._listening.is_set():
            wrong.append("reviews are not taken")
        return "; ".join(filter(None, wrong))

    async def run(self) -> None:
        """Run until cancelled; then, after the delay, take no more reviews and finish those under way.

        ConfigError where the files cannot be used or the port is taken.
        """
        folder = CertificateFolder(self._settings.cert_dir, self._served)
        looks = [self._rules.look, folder.look]
        if self._settings.client_ca is not None:
            looks.append(ClientCaFile(self._settings.client_ca, self._served).look)
        if self._reasons is not None:
            looks.append(self._reasons.look)
        for look in looks:
            look()
        async with asyncio.TaskGroup() as group:
            seconds = self._settings.poll_seconds
            group.create_task(keep_looking(looks, self._around.clock, self._metrics, seconds))
            group.create_task(self._connectivity.run())
            group.create_task(self._serve())

    async def _serve(self) -> None:
        await self._served.there()
        if self._bridges:
            await self._learn_own_name()
        await self._start()
        self._listening.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._listening.clear()
            self._listener.close_after_answer()
            await self._around.clock.sleep(self._settings.delay_seconds)
            await self._listener.stop()
            if self._reasons is not None:
                await self._reasons.stop()

    @property
    def _bridges(self) -> bool:
        gates = self._settings.gates
        return gates.enabled(BRIDGE_GATE) or (self._settings.bridge and gates.enabled(EVICTIONREQUESTS.gate))

    async def _learn_own_name(self) -> None:
        """Who the cluster takes us for: of the records of callers only ours count."""
        while True:
            try:
                name = await own_user(self._client)
            except TransportError:
                await self._around.clock.sleep(1.0)
                continue
            except ApiError as error:
                if error.code not in (403, 404):
                    await self._around.clock.sleep(1.0)
                    continue
                log.warning("records of callers are not protected, our own user name is not known: %s", error)
                self._authority = replace(self._authority, recorders=None)
                return
            self._authority = replace(self._authority, recorders=(name,) if name else None)
            return

    async def _start(self) -> None:
        address, port = self._settings.address, self._settings.port
        await self._listener.start_at("--port", address, port)
        if self._reasons is not None:
            await self._reasons.start(address)

    def _config(self) -> WebhookConfig:
        chosen = self._settings
        gates = chosen.gates
        if not self._connectivity.serves_lifecycle:
            gates = gates.without(LIFECYCLE_EVICTIONS.gate)
        return WebhookConfig(
            gates,
            chosen.allowed_interceptors,
            self._rules.rules,
            self._authority,
            self._bridges,
            chosen.bridge_wait,
            chosen.unverified_callers,
            chosen.reasons,
            self._reasons.wrapper if self._reasons is not None else None,
            chosen.limits,
        )
