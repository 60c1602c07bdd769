"""A turn whose hook is an HTTP service: calls it until it is done, has refused, or its time is over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import Any

from vacate.errors import TransportError
from vacate.interceptors.hooks.annotations import HttpHook
from vacate.interceptors.hooks.caller import Caller
from vacate.interceptors.hooks.decision import CallAgain, Deadline, Failed, Step, decide, pause_until
from vacate.interceptors.hooks.limits import CallLimits
from vacate.interceptors.hooks.protocol import (
    CANCEL,
    PREPARE,
    Done,
    InProgress,
    Meaning,
    Refused,
    Unavailable,
    call_body,
    meaning_of,
)
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.errors import PreparationFailed, TurnLost
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import NO_ESTIMATE, Finished, OnFailure, TurnEndReason

log = logging.getLogger(__name__)

CANCEL_SECONDS, CANCEL_CALLS = 20.0, 3
"""How long, and how often, a call is cancelled at its hook: a cancelled handler has 30 s."""
_KEPT = (TurnEndReason.SHUTDOWN, TurnEndReason.COMPLETED)
_RESULTS = {Done: "done", InProgress: "in-progress", Refused: "refused", Unavailable: "unavailable"}
LOOK_SECONDS = 5.0
"""How often it is looked whether the hook has less time than it had."""
TIMED_OUT = "the time of the hook is over"


@dataclass(frozen=True, slots=True)
class HttpTurns:
    """Handles turns of HTTP hooks."""

    deps: Dependencies
    caller: Caller
    limits: CallLimits

    async def run(
        self, context: EvictionContext, hook: HttpHook, deadline: Deadline, on_failure: OnFailure
    ) -> Finished:
        """Call until there is a result; PreparationFailed where that is a failure."""
        turn = _Turn(context, hook, deadline)
        try:
            step = await self._until_final(turn)
        except (asyncio.CancelledError, TurnLost):
            if turn.calls and context.end_reason not in _KEPT:
                await self._cancel(turn, str(context.end_reason or ""))
            raise
        if isinstance(step, Finished):
            return step
        if not turn.refused:
            await self._cancel(turn, TIMED_OUT)
        raise PreparationFailed(step.why, on_failure=on_failure)

    async def _until_final(self, turn: _Turn) -> Finished | Failed:
        context = turn.context
        while True:
            step = await self._step(turn)
            if not isinstance(step, CallAgain):
                return step
            turn.failures = step.failures
            await context.report(step.message, expected_finish=step.expected_finish or NO_ESTIMATE)
            await self._pause(turn, step.seconds * self.deps.entropy.uniform(0.9, 1.0))

    async def _pause(self, turn: _Turn, seconds: float) -> None:
        """Until the next call, or until the time is over: a node may begin to shut down meanwhile."""
        clock = self.deps.clock
        end = clock.monotonic() + seconds
        while (left := pause_until(end - clock.monotonic(), clock.now(), turn.deadline())) > 0:
            await clock.sleep(min(left, LOOK_SECONDS))

    async def _step(self, turn: _Turn) -> Step:
        meaning = await self._call(turn, PREPARE)
        turn.refused = isinstance(meaning, Refused)
        return decide(turn.hook.target.name, meaning, turn.failures, self.deps.clock.now(), turn.deadline())

    async def _call(self, turn: _Turn, action: str, cause: str = "") -> Meaning:
        pod, target = turn.context.pod, turn.hook.target
        async with self.limits.slot(target, pod.metadata.namespace):
            turn.calls += 1
            began = self.deps.clock.monotonic()
            meaning: Meaning
            try:
                meaning = meaning_of(await self.caller.call(turn.hook, turn.body(action, cause)))
            except TransportError as error:
                meaning = Unavailable(str(error))
        metrics = self.deps.metrics
        metrics.hook_call_seconds.labels(target.name).observe(self.deps.clock.monotonic() - began)
        metrics.hook_calls.labels(target.name, action.lower(), _RESULTS[type(meaning)]).inc()
        return meaning

    async def _cancel(self, turn: _Turn, cause: str) -> None:
        """Best effort: a hook must bound its work by the deadline that it was given, too."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                for _ in range(CANCEL_CALLS):
                    meaning = await self._call(turn, CANCEL, cause)
                    if not isinstance(meaning, Unavailable):
                        return
                    await self.deps.clock.sleep(1.0)
        log.warning("hook %s did not answer the cancellation of its call", turn.hook.target.name)


class _Turn:
    """What one turn remembers between two calls."""

    def __init__(self, context: EvictionContext, hook: HttpHook, deadline: Deadline) -> None:
        self.context = context
        self.hook = hook
        self.deadline = deadline
        self.calls = 0
        self.failures = 0
        self.refused = False  # by the last answer: there is nothing to be cancelled

    def body(self, action: str, cause: str) -> dict[str, Any]:
        """What is sent."""
        context = self.context
        body = call_body(
            action,
            context.pod,
            context.request,
            reason=context.termination_reason,
            deadline=self.deadline(),
            attempt=self.calls,
        )
        return {**body, "cause": cause} if cause else body
