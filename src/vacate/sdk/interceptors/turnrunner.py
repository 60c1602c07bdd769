"""Works off one turn: takes it on, calls the handler, keeps the heartbeat, and passes the turn on."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable

from vacate.api.text import plain
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.errors import ApiError, VacateError
from vacate.eviction.dialects.turn_conditions import (
    MESSAGE_LENGTH,
    FailureReason,
    attempt_failed,
    declined_type,
    failed_type,
    failure_of,
    is_held,
)
from vacate.eviction.records.reader import has_responded
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.arguments import checked_policy
from vacate.sdk.errors import ContractError, PreparationFailed, TurnLost
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.handlercall import call
from vacate.sdk.interceptors.heartbeat import HeartbeatLoop
from vacate.sdk.interceptors.interceptor import DEFAULT_PROGRESS_WITHIN, Interceptor
from vacate.sdk.interceptors.statuswriter import StatusWriter
from vacate.sdk.interceptors.turn import Turn
from vacate.sdk.turnstate import is_wanted, needs_preparation
from vacate.sdk.values import Condition, Declined, Finished, OnFailure, Outcome, Report, TurnEndReason
from vacate.views.phrases import counted

log = logging.getLogger(__name__)

FIRST_RETRY, MAX_RETRY_DELAY = 10.0, 300.0
REFUSAL_RETRY_SECONDS = 60.0


class TurnRunner:
    """One turn, from taking it on to its end. Only cancellation gets out of `run`, and the turn is kept."""

    def __init__(self, interceptor: Interceptor, request: EvictionRequest, deps: Dependencies) -> None:
        deadline = request.spec.heartbeat_deadline
        self._interceptor = interceptor
        self._handed_over = False  # by this program, not by others
        self._interval = interceptor.heartbeat_for(deadline).total_seconds()
        self._resumed = has_responded(request)
        interval = interceptor.heartbeat_for(deadline)
        self.status_writer = StatusWriter(deps.client, deps.clock, request, interceptor.name, interval)
        self._heartbeats = HeartbeatLoop(
            self.status_writer,
            deps.clock,
            deps.entropy,
            progress_within=interceptor.progress_within,
            on_stall=self._report_stall,
        )
        default_limit = interceptor.progress_within == DEFAULT_PROGRESS_WITHIN
        self._turn = Turn(
            interceptor.name,
            self.status_writer,
            self._heartbeats,
            deps.client,
            deps.clock,
            deps.entropy,
            deps.recorder,
            estimates_count=default_limit,
        )

    async def run(self) -> None:
        """Do all of it."""
        try:
            with contextlib.suppress(TurnLost):
                await self._run()
        except (ApiError, ContractError) as error:
            log.error("%s: this cannot be written: %s", self._turn.where, error)  # noqa: TRY400
        self._log_end()

    def _log_end(self) -> None:
        """Say in the program's log why a turn is over that did not end by the handler's own return."""
        ended = self.status_writer.ended
        if ended is None or self._handed_over:
            return
        lost = ended in (TurnEndReason.TAKEN_AWAY, TurnEndReason.DELETED)
        log.log(
            logging.WARNING if lost else logging.INFO, "%s: the turn is over: %s", self._turn.where, ended
        )

    async def _run(self) -> None:
        request_type = self.status_writer.request.spec.type
        if request_type not in self._interceptor.types:
            why = f"evictions of type {request_type} are not supported"
            await self._pass_on(f"{self._interceptor.name} has declined: {why}.", self._declined(why))
            return
        pod = await self._turn.persist(self._turn.live_pod)
        if pod is None or not needs_preparation(self.status_writer.request, pod) or not self._wanted(pod):
            return
        await self._take_on_in_the_end()
        if is_wanted(self.status_writer.request):
            await self._work(pod)

    def _wanted(self, pod: Pod) -> bool:
        try:
            return self._interceptor.matches is None or self._interceptor.matches(pod)
        except Exception:
            log.exception("%s: whether it matches cannot be determined, so it is skipped", self._turn.where)
            return False

    async def _take_on_in_the_end(self) -> None:
        """A refusal, of a clock that is ahead for example, is reported, and may pass before the turn does."""
        while True:
            try:
                await self._turn.persist(self._take_on)
                return
            except (ApiError, ContractError) as error:
                log.warning("%s: the turn cannot be taken on: %s", self._turn.where, error)
                self._turn.event("InterceptorRefused", f"The turn cannot be taken on: {error}", warning=True)
                await self._turn.pause(REFUSAL_RETRY_SECONDS)

    async def _take_on(self) -> None:
        """The first heartbeat proves that the turn is ours before any work begins."""
        again: tuple[Condition, ...] = ()
        if is_held(self.status_writer.request, self._interceptor.name):
            message = "The interceptor was restarted and tries again."
            again = (self._failure(FailureReason.RETRYING, message),)
        policy = checked_policy(self._interceptor.cancellation)
        await self.status_writer.report_now(Report(conditions=again, cancellation=policy))
        self._heartbeats.progress()

    async def _work(self, pod: Pod) -> None:
        """Call the handler until it returns, a limited number of times."""
        for attempt in range(1, self._interceptor.attempts + 1):
            context = EvictionContext(self._turn, pod, attempt=attempt, resumed=self._resumed)
            outcome = await call(self._interceptor, context, self.status_writer, self._heartbeats)
            if self.status_writer.ended is not None or self.status_writer.pod_ended:
                return
            if not isinstance(outcome, Exception):
                await self._pass_on(*self._closing_report(outcome))
                return
            await self._after_failure(outcome, attempt)
            if isinstance(outcome, PreparationFailed):
                return

    async def _after_failure(self, error: Exception, attempt: int) -> None:
        """Say what went wrong, and wait before the next attempt; after the last one the turn has failed."""
        unexpected = None if isinstance(error, VacateError) else error
        given_up = isinstance(error, PreparationFailed)
        limit = attempt if given_up else self._interceptor.attempts
        hold = self._mode_after(error) == OnFailure.HOLD
        failed = attempt_failed(attempt, limit, described(error))
        log.warning("%s: %s", self._turn.where, failed, exc_info=unexpected)
        self._turn.event("InterceptorAttemptFailed", failed, warning=True)
        if attempt >= limit:
            why = described(error) + ("" if given_up else f" (after {counted(limit, 'attempt')})")
            await (self._hold(why) if hold else self._fail(why))
            return
        seconds = retry_pause(attempt)
        message = f"{failed.rstrip('.')}. Attempt {attempt + 1} starts in {seconds:.0f} s."
        reason = FailureReason.RETRYING_THEN_HOLD if hold else FailureReason.RETRYING
        condition = self._failure(reason, message)
        await self._report_if_possible(lambda: self.status_writer.note(message, condition))
        await self._turn.pause(seconds)
        self._heartbeats.progress()

    def _mode_after(self, error: Exception) -> OnFailure:
        chosen = error.on_failure if isinstance(error, PreparationFailed) else None
        return chosen or self._interceptor.on_failure

    async def _fail(self, why: str) -> None:
        """The turn has failed and is handed over: the same write says so, for everyone to see."""
        log.error("%s: the turn has failed and is handed over: %s", self._turn.where, why)
        failed = self._failure(FailureReason.HANDED_OVER, why)
        await self._pass_on(f"{self._interceptor.name} failed: {why}", failed)

    async def _hold(self, why: str) -> None:
        """The turn has failed and is kept, with heartbeats, until someone else ends it."""
        log.error("%s: the turn has failed and is held for an administrator: %s", self._turn.where, why)
        message = f"{self._interceptor.name} failed and waits for an administrator: {why}"
        condition = self._failure(FailureReason.HELD, why)
        self._turn.trouble("InterceptorHeld", message)
        await self._report_if_possible(lambda: self.status_writer.note(message, condition))
        while True:
            await self._turn.pause(self._interval)
            await self._report_if_possible(self.status_writer.beat)

    async def _report_if_possible(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write it. What is refused, as where a clock is ahead, must not end what the turn is about."""
        try:
            await self._turn.persist(write)
        except (ApiError, ContractError) as error:
            log.warning("%s: a report was refused: %s", self._turn.where, error)

    async def _pass_on(self, message: str, *conditions: Condition) -> None:
        """A refusal may pass before the turn does: the next interceptor need not wait for the deadline."""
        self._handed_over = True
        while True:
            try:
                await self._turn.persist(lambda: self.status_writer.complete(message, *conditions))
                return
            except (ApiError, ContractError) as error:
                log.error("%s: the turn cannot be handed over: %s", self._turn.where, error)  # noqa: TRY400
                await self._turn.pause(REFUSAL_RETRY_SECONDS)

    def _closing_report(self, outcome: Outcome) -> tuple[str, *tuple[Condition, ...]]:
        """The message of a turn that ends by the handler's return, and the conditions that go with it."""
        match outcome:
            case Declined(reason):
                sentence = f"{self._interceptor.name} has declined"
                return f"{sentence}: {reason}" if reason else f"{sentence}.", self._declined(reason)
            case Finished(message):
                words = message or f"{self._interceptor.name} has done its part."
                if failure_of(self.status_writer.request, self._interceptor.name) is None:
                    return (words,)
                return words, self._failure(FailureReason.RECOVERED, "A later attempt succeeded.")

    def _failure(self, reason: FailureReason, message: str) -> Condition:
        final = reason in (FailureReason.HANDED_OVER, FailureReason.HELD)
        return Condition(failed_type(self._interceptor.name), final, reason.value, message)

    def _declined(self, why: str) -> Condition:
        return Condition(declined_type(self._interceptor.name), True, "NothingToDo", why)

    def _report_stall(self) -> None:
        limit = self._interceptor.progress_within
        why = f"{self._interceptor.name} has shown no progress for {limit}: heartbeats stop until it does."
        log.warning("%s: %s", self._turn.where, why)
        self._turn.trouble("InterceptorStalled", why)


def retry_pause(attempt: int) -> float:
    """Seconds after a failed attempt; authors may allow any number of them."""
    return min(FIRST_RETRY * 2.0 ** min(attempt - 1, 10), MAX_RETRY_DELAY)


def described(error: Exception) -> str:
    """What an exception says, in one line; its kind where it says nothing, or is a bare key or number."""
    text = plain(str(error), MESSAGE_LENGTH)
    return text if " " in text else f"{type(error).__name__}: {text}" if text else type(error).__name__
