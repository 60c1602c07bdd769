"""The one writer of a turn: every write is guarded by what was read, and made only while the turn lasts."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from dataclasses import replace

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client import requests
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.clock import Clock
from vacate.errors import Conflict, NotFound
from vacate.eviction.dialects.registry import dialect_of
from vacate.sdk.errors import ContractError, TurnLost
from vacate.sdk.interceptors.patches import check_report, status_patch
from vacate.sdk.turnstate import ended, is_newer, is_terminating, is_wanted
from vacate.sdk.values import Condition, Report, TurnEndReason

log = logging.getLogger(__name__)

_CONFLICTS = 10
_NOTHING = Report()


class StatusWriter:
    """What is known of a request, and what its active interceptor has reported and is still to be written."""

    def __init__(
        self, client: Client, clock: Clock, request: EvictionRequest, name: str, interval: dt.timedelta
    ) -> None:
        self.request = request  # the newest that was seen
        self.ended: TurnEndReason | None = None  # once set it stays
        self.over = asyncio.Event()  # set exactly when the turn has ended
        self.pod_ended = False  # the interceptor itself has evicted or deleted the pod
        self._name = name
        self._uid = request.metadata.uid
        self._client = client
        self._dialect = dialect_of(request)
        self._clock = clock
        self._interval = max(interval.total_seconds(), self._dialect.heartbeat_seconds)
        self._waiting = _NOTHING  # what was reported and is not written yet
        self._beat_at = clock.monotonic()  # the last heartbeat
        self._next_beat = clock.monotonic()  # before that the API wants none
        # The last write with a message or an estimate: those are not to flood the server.
        self._reported_at = clock.monotonic() - self._dialect.report_seconds
        self._not_before = 0.0  # after trouble, the next attempt
        self._lock = asyncio.Lock()
        self.end(ended(request, self._uid, name))

    @property
    def silent(self) -> bool:
        """Whether the pod is terminating: then the controller reports, and no heartbeat is needed."""
        return self.pod_ended or is_terminating(self.request)

    def see(self, request: EvictionRequest | None) -> None:
        """Take in what a watch or an answer shows; older states than the known one are passed over."""
        if request is not None and not is_newer(request, self.request):
            return
        self.end(ended(request, self._uid, self._name))
        if request is not None and request.metadata.uid == self._uid:
            self.request = request

    def end(self, why: TurnEndReason | None) -> None:
        """The turn is over, where there is a reason; the first one counts."""
        if why is not None and self.ended is None:
            self.ended = why
            self.over.set()

    def due_in(self) -> float:
        """Seconds until something should be written: a heartbeat, or a report that waits."""
        due = self._beat_at + self._interval
        if self._waiting != _NOTHING:
            due = min(due, self._reported_at + self._dialect.report_seconds)
        return max(due, self._not_before) - self._clock.monotonic()

    def postpone(self, seconds: float) -> None:
        """After trouble: write nothing by itself for so long."""
        self._not_before = self._clock.monotonic() + seconds

    def say(self, report: Report) -> None:
        """Keep what is new for the next write; nothing for a pod that is terminating."""
        self._still_mine()
        check_report(self.request, report)
        if not self.silent:
            self._waiting = report.over(self._waiting)

    async def report_now(self, report: Report) -> None:
        """Write what programs act upon. What is refused is not written again."""
        self.say(report)
        try:
            await self.beat()
        finally:
            self._waiting = replace(self._waiting, conditions=(), cancellation=None)

    async def beat(self) -> None:
        """Write a heartbeat, and with it all that waits; without it where the last one is too young."""
        if self.silent:
            return
        due = self._clock.monotonic() >= self._next_beat
        await self._write(beat=due)
        if due:
            self._beat_at = self._clock.monotonic()
            self._next_beat = self._beat_at + self._dialect.heartbeat_seconds

    async def note(self, message: str, *conditions: Condition) -> None:
        """Write a message without a heartbeat: it reports no progress."""
        await self._write_report(Report(message, conditions=conditions), completed=False)

    async def complete(self, message: str, *conditions: Condition) -> None:
        """End the turn. A terminating pod needs no report, and a turn that is over already is over."""
        await self._write_report(Report(message, conditions=conditions), completed=True)

    async def _write_report(self, report: Report, *, completed: bool) -> None:
        """Write it without a heartbeat, and without conditions where the limit is reached."""
        try:
            check_report(self.request, report)
        except ContractError as error:
            log.warning("%s: %s", self._name, error)
            report = replace(report, conditions=())
        self._waiting = report.over(self._waiting)
        if not self.silent:
            await self._write(beat=False, completed=completed)

    async def confirm(self) -> None:
        """Ask the server whether the turn still lasts and the pod is still to be evicted; else TurnLost."""
        self.see(await self.read())
        self._still_mine()
        self.end(None if is_wanted(self.request) else TurnEndReason.CANCELLED)
        self._still_mine()

    async def read(self) -> EvictionRequest | None:
        """The request as the server has it."""
        meta = self.request.metadata
        try:
            dialect = self._dialect
            return dialect.read(
                await self._client.get(dialect.kind, meta.name, meta.namespace, into=dialect.wire)
            )
        except NotFound:
            return None

    async def _write(self, *, beat: bool, completed: bool = False) -> None:
        async with self._lock:
            for _ in range(_CONFLICTS):
                self._still_mine()
                report = self._waiting
                patch = status_patch(self.request, report, self._clock.now(), beat=beat, completed=completed)
                if patch is None or await self._send(patch):
                    self._written(report)
                    return
            raise Conflict(f"request {self.request.metadata.name} changes too quickly to be written")

    async def _send(self, patch: dict[str, object]) -> bool:
        """Whether it was written; otherwise what is known has been read anew."""
        meta = self.request.metadata
        dialect = self._dialect
        patch = dialect.status_patch(patch, self.request, self._clock.now())
        change = requests.patch(
            dialect.kind,
            meta.name,
            patch,
            meta.namespace,
            patch_type=dialect.status_patch_type,
            subresource="status",
        )
        try:
            answer = await self._client.send(change)
        except Conflict:
            self.see(await self.read())
            return False
        except NotFound:
            self.see(None)
            return False
        self.see(dialect.read(codec_for(dialect.wire).decode(answer)))
        return True

    def _written(self, report: Report) -> None:
        self._not_before = 0.0
        if report.message is not None or report.expected_finish is not None:
            self._reported_at = self._clock.monotonic()
        if self._waiting is report:
            self._waiting = _NOTHING

    def _still_mine(self) -> None:
        if self.ended is not None:
            raise TurnLost(self.ended)
