"""One turn of one interceptor: what its handler, its heartbeats and its verbs share."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding, regarding
from vacate.api.kinds import PODS
from vacate.api.types.core import Pod
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import (
    ApiError,
    BadRequest,
    Invalid,
    MethodNotAllowed,
    NotFound,
    RequestTooLarge,
    TransportError,
    UnsupportedMedia,
)
from vacate.runtime.events import Recorder
from vacate.sdk.errors import TurnLost
from vacate.sdk.interceptors.heartbeat import HeartbeatLoop
from vacate.sdk.interceptors.statuswriter import StatusWriter
from vacate.sdk.values import NoEstimate

T = TypeVar("T")

log = logging.getLogger(__name__)

FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
# What the same request would be answered with again, however often it is sent.
_FINAL = (BadRequest, Invalid, MethodNotAllowed, NotFound, RequestTooLarge, UnsupportedMedia)


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn: who, over what, by which means."""

    name: str
    status_writer: StatusWriter
    heartbeats: HeartbeatLoop
    client: Client
    clock: Clock
    entropy: Entropy
    recorder: Recorder
    estimates_count: bool = False  # whether a handler may be silent until the finish that it expects

    @property
    def where(self) -> str:
        """Who does what, for the log."""
        request = self.status_writer.request
        return f"{self.name}: pod {request.metadata.namespace}/{request.pod_name or '?'}"

    async def live_pod(self) -> Pod | None:
        """The pod as the server has it; None where the name is free or taken by another."""
        request = self.status_writer.request
        if not request.pod_name:
            return None
        try:
            pod = await self.client.get(PODS, request.pod_name, request.metadata.namespace, into=Pod)
        except NotFound:
            return None
        return pod if pod.metadata.uid == request.pod_uid else None

    def event(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Note an event on the request. Repeats are counted, and too many are dropped."""
        about = regarding(self.status_writer.request.kind, self.status_writer.request)
        self.recorder.record(EventNote(about, WARNING if warning else NORMAL, reason, message))

    def trouble(self, reason: str, message: str) -> None:
        """Warn on the request and on the pod: who looks at the pod must see why it is not evicted."""
        self.event(reason, message, warning=True)
        request = self.status_writer.request
        if name := request.pod_name:
            namespace, uid = request.metadata.namespace, request.pod_uid
            about = Regarding(PODS.api_version, PODS.kind, name, namespace, uid)
            self.recorder.record(EventNote(about, WARNING, reason, message))

    def progress(self, finish: dt.datetime | NoEstimate | None = None) -> None:
        """The handler has got further. An estimate counts where its author set no limit of their own."""
        seconds = 0.0
        if self.estimates_count and isinstance(finish, dt.datetime):
            seconds = (finish - self.clock.now()).total_seconds()
        self.heartbeats.progress(seconds)

    async def persist(self, act: Callable[[], Awaitable[T]]) -> T:
        """Try until the server takes it or the turn is over: an outage must not end an hour's work."""
        seconds = FIRST_PAUSE
        while True:
            try:
                return await act()
            except _FINAL:
                raise
            except (ApiError, TransportError) as error:
                log.warning("%s: again in %.0f s: %s", self.where, seconds, error)
            await self.pause(seconds * self.entropy.uniform(0.8, 1.0))
            seconds = min(seconds * 2, MAX_PAUSE)

    async def pause(self, seconds: float) -> None:
        """Wait; TurnLost as soon as the turn is over."""
        try:
            async with asyncio.timeout(seconds):
                await self.status_writer.over.wait()
        except TimeoutError:
            return
        assert self.status_writer.ended is not None
        raise TurnLost(self.status_writer.ended)
