"""Calls of a hook towards the end of its time: one last call when it is over, and no others beside it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.httpclient.service import Answer
from vacate.interceptors.hooks.annotations import HttpHook
from vacate.interceptors.hooks.http import HttpTurns
from vacate.interceptors.hooks.limits import CallLimits
from vacate.interceptors.hooks.protocol import PREPARE
from vacate.interceptors.hooks.targets import Target
from vacate.metrics import Metrics
from vacate.runtime.dependencies import Deps
from vacate.sdk.errors import PreparationFailed
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import OnFailure
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim


class Busy:
    """A service that is never done, answers at once, and wants to be asked again in five minutes."""

    def __init__(self, sim: Sim) -> None:
        self._sim = sim
        self.calls: list[float] = []

    async def call(self, hook: HttpHook, body: Mapping[str, Any]) -> Answer:
        if body["action"] == PREPARE:
            self.calls.append(self._sim.clock.monotonic())
        return Answer(202, b'{"retryAfterSeconds": 300}')


@pytest.mark.parametrize("seed", range(3))
def test_one_last_call_is_made_when_the_time_is_over(seed: int) -> None:
    async def main(sim: Sim) -> list[float]:
        async def report(message: str, **more: Any) -> None:
            """Nobody reads it."""

        deps = cast(Deps, SimpleNamespace(clock=sim.clock, entropy=sim.entropy, metrics=Metrics()))
        context = SimpleNamespace(
            pod=Pod(), request=EvictionRequest(), termination_reason="", end_reason=None, report=report
        )
        service = Busy(sim)
        url = "https://flush.svc/hook"
        hook = HttpHook(Target("flush", url, ("default",)), url, 100)
        deadline = sim.clock.now() + dt.timedelta(seconds=100)
        with pytest.raises(PreparationFailed):
            await HttpTurns(deps, service, CallLimits()).run(
                cast(EvictionContext, context), hook, deadline, OnFailure.HOLD
            )
        return service.calls

    assert [round(one) for one in run_sim(main, seed)] == [0, 100]
