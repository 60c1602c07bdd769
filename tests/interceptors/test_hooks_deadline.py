"""Calls of a hook towards the end of its time: one last call when it is over, and no others beside it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from vacate.api.times import parse_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.httpclient.service import Answer
from vacate.interceptors.hooks.annotations import HttpHook
from vacate.interceptors.hooks.decision import deadline_of
from vacate.interceptors.hooks.http import HttpTurns
from vacate.interceptors.hooks.limits import CallLimits
from vacate.interceptors.hooks.protocol import PREPARE
from vacate.interceptors.hooks.targets import Target
from vacate.metrics import Metrics
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.errors import PreparationFailed
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import OnFailure
from vacate.sim.run import EPOCH, Sim, run_sim

pytestmark = pytest.mark.sim


class Busy:
    """A service that is never done, answers at once, and wants to be asked again in five minutes."""

    def __init__(self, sim: Sim) -> None:
        self._sim = sim
        self._began = sim.clock.now()
        self.calls: list[tuple[int, int]] = []  # when it was called, and the deadline that it was given

    async def call(self, hook: HttpHook, body: Mapping[str, Any]) -> Answer:
        if body["action"] == PREPARE:
            moments = (self._sim.clock.now(), parse_time(body["deadline"]))
            called, deadline = (round((one - self._began).total_seconds()) for one in moments)
            self.calls.append((called, deadline))
        return Answer(202, b'{"retryAfterSeconds": 300}')


def calls(seed: int, shutdown: Callable[[dt.datetime], dt.datetime | None]) -> list[tuple[int, int]]:
    """Those of a hook that has 100 seconds; `shutdown` says when its node ends the pod, as known by then."""

    async def main(sim: Sim) -> list[tuple[int, int]]:
        class Context:
            pod, request, termination_reason, end_reason = Pod(), EvictionRequest(), "", None

            @property
            def ends_at(self) -> dt.datetime | None:
                return shutdown(sim.clock.now())

            async def report(self, message: str, **more: Any) -> None:
                """Nobody reads it."""

        service, url = Busy(sim), "https://flush.svc/hook"
        hook = HttpHook(Target("flush", url, ("default",)), url, 100)
        began = sim.clock.now()
        context = cast(EvictionContext, Context())
        deps = cast(Dependencies, SimpleNamespace(clock=sim.clock, entropy=sim.entropy, metrics=Metrics()))
        with pytest.raises(PreparationFailed):
            await HttpTurns(deps, service, CallLimits()).run(
                context, hook, lambda: deadline_of(began, hook.timeout, context.ends_at), OnFailure.HOLD
            )
        return service.calls

    return run_sim(main, seed)


@pytest.mark.parametrize("seed", range(3))
def test_one_last_call_is_made_when_the_time_is_over(seed: int) -> None:
    assert calls(seed, lambda _: None) == [(0, 100), (100, 100)]


def test_a_node_that_begins_to_shut_down_meanwhile_brings_the_end_closer() -> None:
    def shutdown(now: dt.datetime) -> dt.datetime | None:
        return EPOCH + dt.timedelta(seconds=40) if now >= EPOCH + dt.timedelta(seconds=12) else None

    assert calls(0, shutdown) == [(0, 100), (40, 40)]
