"""What a handler is given: the eviction of one pod, while it is this interceptor's turn."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.terminationreason import ANNOTATION, EVICTION
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest, shutdown_deadline
from vacate.clock import Clock
from vacate.sdk.arguments import checked_reason, checked_report, checked_span, whole_number, word
from vacate.sdk.interceptors import termination
from vacate.sdk.interceptors.turn import Turn
from vacate.sdk.values import Cancellation, Condition, Declined, Finished, NoEstimate, TurnEndReason


class EvictionContext:
    """The eviction of a pod. The SDK writes heartbeats while the handler works; the handler reports the rest.

    When the turn is over before the handler is done, the handler is cancelled as asyncio tasks are:
    `asyncio.CancelledError` is raised where it waits, and `end_reason` says why.
    """

    def __init__(self, turn: Turn, pod: Pod, *, attempt: int, resumed: bool) -> None:
        self._turn = turn
        self.pod = pod  # as it was when the handler was called
        self.attempt = attempt  # 1, and one more after each time that the handler raised
        self.resumed = resumed  # whether this interceptor has worked on this request before a restart

    @property
    def name(self) -> str:
        """The interceptor's name."""
        return self._turn.name

    @property
    def request(self) -> EvictionRequest:
        """The request as it was last seen."""
        return self._turn.status_writer.request

    @property
    def clock(self) -> Clock:
        """The clock to read and to sleep by; virtual in simulations."""
        return self._turn.clock

    @property
    def ends_at(self) -> dt.datetime | None:
        """When the pod is terminated in any case, since its node shuts down; None otherwise."""
        return shutdown_deadline(self.request.metadata.annotations)

    @property
    def time_left(self) -> dt.timedelta | None:
        """How long it is until `ends_at`, and never less than nothing; None where no node shuts down."""
        at = self.ends_at
        return None if at is None else max(at - self.clock.now(), dt.timedelta())

    @property
    def end_reason(self) -> TurnEndReason | None:
        """Why the turn is over; None while it lasts. Set before the handler is cancelled."""
        return self._turn.status_writer.ended

    async def report(
        self,
        message: str | None = None,
        *,
        expected_finish: dt.datetime | dt.timedelta | NoEstimate | None = None,
        conditions: Sequence[Condition] = (),
        cancellation: Cancellation | str | None = None,
    ) -> None:
        """Say how things stand; counts as progress. What is left out stays as it was.

        `expected_finish` is a moment, a span from now, or NO_ESTIMATE, which takes an earlier one back.

        Conditions and the cancellation policy are written when this returns, however long the server is
        away. A message or an estimate alone is written soon, at most once in five seconds. Once the pod is
        terminating nothing is written.
        TurnLost when the turn is over; ContractError for what the contract forbids.
        """
        report = checked_report(message, expected_finish, conditions, cancellation, self.clock.now())
        if report.conditions or report.cancellation:
            await self._turn.persist(lambda: self._turn.status_writer.report_now(report))
        else:
            self._turn.status_writer.say(report)
        self._turn.progress(report.expected_finish)

    def progress(self) -> None:
        """Say that there is progress, without a write: it only keeps `progress_within` from running out."""
        self._turn.heartbeats.progress()

    @property
    def termination_reason(self) -> str:
        """Why the pod is terminated, as its preStop hooks learn it: `Eviction`, unless it has one already.

        `evict` and `delete` can give it another one.
        """
        meta = self.pod.metadata
        return meta.reason or meta.annotations.get(ANNOTATION, "") or EVICTION

    async def evict(
        self,
        *,
        grace_period_seconds: int | None = None,
        give_up_after: dt.timedelta | None = None,
        reason: str = "",
    ) -> None:
        """Evict the pod, and no other of its name; returns when the pod is terminating.

        The reason is what the pod's preStop hooks learn; `Eviction` without one. Servers without
        PodTerminationReason drop it.

        While disruption budgets refuse, the refusal is reported and the eviction tried again, without end
        or, with `give_up_after`, until an EvictionRefused. Afterwards the SDK writes nothing more.
        """
        whole_number("grace_period_seconds", grace_period_seconds)
        checked_span("give_up_after", give_up_after)
        checked_reason(reason)
        await termination.evict(
            self._turn,
            self.pod,
            grace_period_seconds=grace_period_seconds,
            give_up_after=give_up_after,
            reason=reason,
        )

    async def delete(self, *, reason: str, grace_period_seconds: int | None = None) -> None:
        """Delete the pod, and no other of its name, past all disruption budgets: say why.

        The reason is in an Event, and the pod's preStop hooks learn it, on one line and cut to 1024 bytes.
        """
        whole_number("grace_period_seconds", grace_period_seconds)
        word("reason", reason)
        await termination.delete(
            self._turn, self.pod, grace_period_seconds=grace_period_seconds, reason=reason
        )

    def event(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an Event about the request. Repeats are counted, and too many are dropped."""
        word("reason", reason)
        word("message", message)
        self._turn.event(reason, message, warning=warning)

    def finished(self, message: str = "") -> Finished:
        """To be returned: this interceptor has done its part."""
        return Finished(message)

    def declined(self, reason: str = "") -> Declined:
        """To be returned: this interceptor has nothing to do here."""
        return Declined(reason)
