"""Works off one turn: takes it on, calls the handler, keeps the heartbeat, and passes the turn on."""

from __future__ import annotations

import logging

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.decide.dialects.evictionrequest import has_responded
from vacate.errors import ApiError, VacateError
from vacate.runtime.deps import Deps
from vacate.sdk.calling import call
from vacate.sdk.errors import ContractError, TurnLost
from vacate.sdk.interceptor import Interceptor
from vacate.sdk.leave import EvictionContext
from vacate.sdk.ledger import Ledger
from vacate.sdk.pulse import Pulse
from vacate.sdk.standing import can_leave, is_wanted
from vacate.sdk.turn import Turn
from vacate.sdk.values import Declined, Finished, Outcome, Report

log = logging.getLogger(__name__)

FIRST_RETRY, LONGEST_RETRY = 10.0, 300.0
AFTER_REFUSAL = 60.0


class Work:
    """One turn, from taking it on to its end. Only cancellation gets out of `run`, and the turn is kept."""

    def __init__(self, interceptor: Interceptor, request: EvictionRequest, deps: Deps) -> None:
        deadline = request.spec.heartbeat_deadline
        self._interceptor = interceptor
        self._resumed = has_responded(request)
        interval = interceptor.heartbeat_for(deadline)
        self.ledger = Ledger(deps.client, deps.clock, request, interceptor.name, interval)
        self._pulse = Pulse(
            self.ledger,
            deps.clock,
            deps.entropy,
            progress_within=interceptor.progress_within,
            on_stall=self._tell_stall,
        )
        self._turn = Turn(
            interceptor.name,
            self.ledger,
            self._pulse,
            deps.client,
            deps.clock,
            deps.entropy,
            deps.recorder,
        )

    async def run(self) -> None:
        """Do all of it."""
        try:
            await self._run()
        except TurnLost as lost:
            log.info("%s: %s", self._turn.where, lost)
        except (ApiError, ContractError) as error:
            log.error("%s: this cannot be written: %s", self._turn.where, error)  # noqa: TRY400

    async def _run(self) -> None:
        request_type = self.ledger.request.spec.type
        if request_type not in self._interceptor.types:
            why = f"{self._interceptor.name} does not know evictions of type {request_type}."
            await self._pass_on(why)
            return
        pod = await self._turn.persist(self._turn.live_pod)
        if pod is None or not can_leave(self.ledger.request, pod) or not self._wanted(pod):
            return
        await self._take_on_in_the_end()
        if is_wanted(self.ledger.request):
            await self._work(pod)

    def _wanted(self, pod: Pod) -> bool:
        try:
            return self._interceptor.matches is None or self._interceptor.matches(pod)
        except Exception:
            log.exception("%s: whether it matches cannot be told, so it is left alone", self._turn.where)
            return False

    async def _take_on_in_the_end(self) -> None:
        """A refusal, of a clock that is ahead for example, is told, and may pass before the turn does."""
        while True:
            try:
                await self._turn.persist(self._take_on)
                return
            except (ApiError, ContractError) as error:
                log.warning("%s: the turn cannot be taken on: %s", self._turn.where, error)
                self._turn.event("InterceptorRefused", f"The turn cannot be taken on: {error}", warning=True)
                await self._turn.pause(AFTER_REFUSAL)

    async def _take_on(self) -> None:
        """The first heartbeat proves that the turn is ours before any work begins."""
        await self.ledger.say_now(Report(cancellation=self._interceptor.cancellation))
        self._pulse.progress()

    async def _work(self, pod: Pod) -> None:
        """Call the handler until it returns, a limited number of times."""
        for attempt in range(1, self._interceptor.attempts + 1):
            leave = EvictionContext(self._turn, pod, attempt=attempt, resumed=self._resumed)
            outcome = await call(self._interceptor, leave, self.ledger, self._pulse)
            if self.ledger.ended is not None or self.ledger.pod_ended:
                return
            if not isinstance(outcome, Exception):
                await self._pass_on(self._last_words(outcome))
                return
            await self._after_failure(outcome, attempt)

    async def _after_failure(self, error: Exception, attempt: int) -> None:
        """Say what went wrong, and wait before the next attempt; after the last one the turn passes on."""
        unexpected = None if isinstance(error, VacateError) else error
        log.warning("%s: attempt %d failed: %s", self._turn.where, attempt, _text(error), exc_info=unexpected)
        self._turn.event("InterceptorFailed", f"Attempt {attempt} failed: {_text(error)}", warning=True)
        if attempt >= self._interceptor.attempts:
            await self._pass_on(f"{self._interceptor.name} gave up after {attempt} attempts: {_text(error)}")
            return
        seconds = min(FIRST_RETRY * 2.0 ** (attempt - 1), LONGEST_RETRY)
        message = f"{self._interceptor.name} failed and tries again in {seconds:.0f} s: {_text(error)}"
        await self._turn.persist(lambda: self.ledger.note(message))
        await self._turn.pause(seconds)
        self._pulse.progress()

    async def _pass_on(self, message: str) -> None:
        await self._turn.persist(lambda: self.ledger.complete(message))

    def _last_words(self, outcome: Outcome) -> str:
        match outcome:
            case Declined(why):
                said = f"{self._interceptor.name} has nothing to do here"
                message = f"{said}: {why}" if why else f"{said}."
                self._turn.event("InterceptorDeclined", message)
                return message
            case Finished(message):
                return message or f"{self._interceptor.name} has done its part."

    def _tell_stall(self) -> None:
        limit = self._interceptor.progress_within
        why = f"{self._interceptor.name} has shown no progress for {limit}: heartbeats stop until it does."
        log.warning("%s: %s", self._turn.where, why)
        self._turn.event("InterceptorStalled", why, warning=True)


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
