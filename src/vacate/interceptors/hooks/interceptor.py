"""The interceptor: finds the hook that a pod names, and has it run."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.records.reader import assigned
from vacate.interceptors.hooks.annotations import HookRefused, JobHook, failure_mode, hook_of
from vacate.interceptors.hooks.caller import Caller
from vacate.interceptors.hooks.decision import deadline_of
from vacate.interceptors.hooks.http import HttpTurns
from vacate.interceptors.hooks.jobs import JobTurns, hook_jobs
from vacate.interceptors.hooks.limits import CallLimits
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, JOB, TARGET
from vacate.interceptors.hooks.targets import AllowList
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.errors import PreparationFailed, TurnLost
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.controller import build as build_interceptor
from vacate.sdk.interceptors.interceptor import Interceptor
from vacate.sdk.values import Declined, Outcome

CONCURRENCY = 5_000
"""Turns mostly wait for hooks; those beyond wait without a heartbeat, and pods of others must not."""


@dataclass(frozen=True, slots=True)
class HookOptions:
    """What the interceptor is given: the allow-list as it is now, and how services are called."""

    allowed: Callable[[], AllowList]
    caller: Caller
    limits: CallLimits
    jobs: bool = False  # whether Jobs may be run anywhere


def build(deps: Dependencies, options: HookOptions, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    handler = HookTurns(deps, options).handle
    interceptor = Interceptor(HOOKS_INTERCEPTOR, handler, concurrency=CONCURRENCY)
    return build_interceptor(deps, interceptor, dialect)


def build_evacuator(deps: Dependencies, options: HookOptions) -> Controller:
    """The same for Evacuations."""
    return build(deps, options, EVACUATION)


class HookTurns:
    """Handles turns."""

    def __init__(self, deps: Dependencies, options: HookOptions) -> None:
        self._allowed = options.allowed
        self._clock = deps.clock
        self._ended = deps.metrics.hooks_ended
        self._http = HttpTurns(deps, options.caller, options.limits)
        # Without the permission Jobs are not even watched: a cluster may have none of that kind.
        self._jobs = JobTurns(deps, hook_jobs(deps)) if options.jobs else None

    async def handle(self, context: EvictionContext) -> Outcome:
        """Run the hook; PreparationFailed where it does not succeed, whatever the reason."""
        annotations, result = context.pod.metadata.annotations, "failed"
        sort = "job" if JOB in annotations else "http" if TARGET in annotations else "none"
        try:
            outcome = await self._run(context)
            result = "declined" if isinstance(outcome, Declined) else "completed"
            return outcome
        except (asyncio.CancelledError, TurnLost):
            result = "cancelled"
            raise
        finally:
            self._ended.labels(sort, result).inc()

    async def _run(self, context: EvictionContext) -> Outcome:
        pod = context.pod.metadata
        on_failure = failure_mode(pod.annotations)
        try:
            hook = hook_of(pod.annotations, pod.namespace, self._allowed())
        except HookRefused as error:
            raise PreparationFailed(str(error), on_failure=on_failure) from None
        if hook is None:
            return Declined(f"the pod names no hook in its annotations {TARGET} and {JOB}")
        began, timeout = self._began(context), hook.timeout

        def deadline() -> dt.datetime:
            """Asked for anew each time: that the node shuts down may be known only later."""
            return deadline_of(began, timeout, context.ends_at)

        if isinstance(hook, JobHook):
            if self._jobs is None:
                why = "vacate hooks was started without permission to run Jobs; the administrator restarts it"
                raise PreparationFailed(why, on_failure=on_failure)
            return await self._jobs.run(context, hook, deadline, on_failure)
        return await self._http.run(context, hook, deadline, on_failure)

    def _began(self, context: EvictionContext) -> dt.datetime:
        """When the turn was given, also before a restart of this process: a crash buys no time."""
        found = assigned(context.request)
        return (found and found.last_transition_time) or self._clock.now()
