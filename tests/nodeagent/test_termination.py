"""The termination of a container whose runtime cannot be asked for a while: it goes on when it can."""

from __future__ import annotations

import asyncio
import signal
from typing import cast

import pytest

from vacate.nodeagent.lifecycle.stages import ContainerTermination
from vacate.nodeagent.lifecycle.termination import Termination
from vacate.nodeagent.runtime.protocol import ContainerRuntime, RuntimeLost
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

FULL = OSError(28, "No space left on device")  # what starts a supervisor writes its log


class Runtime:
    """Answers the third time; its container ends by SIGTERM."""

    def __init__(self, error: Exception) -> None:
        self._errors = {"wait": [error] * 2, "signal": [error] * 2, "hook": [error] * 2}
        self._ended = asyncio.Event()
        self.sent: list[int] = []
        self.hooks: list[float] = []  # the seconds that each had

    async def hook(self, seconds: float, _ago: float | None) -> None:
        self._fail("hook")
        self.hooks.append(seconds)

    async def wait(self, container: str) -> None:
        self._fail("wait")
        await self._ended.wait()

    async def signal(self, container: str, number: int) -> None:
        self._fail("signal")
        self.sent.append(number)
        self._ended.set()

    def _fail(self, what: str) -> None:
        if self._errors[what]:
            raise self._errors[what].pop()


@pytest.mark.parametrize("error", [RuntimeLost("away"), FULL], ids=["lost", "full disk"])
def test_a_runtime_that_cannot_be_asked_ends_no_termination(error: Exception) -> None:
    async def main(sim: Sim) -> list[int]:
        runtime = Runtime(error)
        record = ContainerTermination(sim.clock.monotonic(), 30.0)
        await Termination(cast(ContainerRuntime, runtime), sim.clock, "c", record).run()
        return runtime.sent

    assert run_sim(main) == [signal.SIGTERM]


@pytest.mark.parametrize("error", [RuntimeLost("away"), FULL], ids=["lost", "full disk"])
def test_a_hook_that_does_not_get_to_the_runtime_runs_when_it_does(error: Exception) -> None:
    """The runtime runs it once, however often it is asked."""

    async def main(sim: Sim) -> None:
        runtime, failed = Runtime(error), list[Exception]()
        record = ContainerTermination(sim.clock.monotonic(), 30.0, hook=True)
        given = cast(ContainerRuntime, runtime), sim.clock, "c", record, runtime.hook, failed.append
        await Termination(*given).run()
        assert (len(runtime.hooks), runtime.sent, failed) == (1, [signal.SIGTERM], [])
        assert 29.0 < runtime.hooks[0] < 30.0  # of what is left by then

    run_sim(main)


def test_a_hook_that_never_gets_to_the_runtime_holds_up_nothing() -> None:
    async def main(sim: Sim) -> float:
        runtime = Runtime(RuntimeLost("away"))

        async def hook(_seconds: float, _ago: float | None) -> None:
            raise RuntimeLost("away")

        began = sim.clock.monotonic()
        record = ContainerTermination(began, 30.0, hook=True)
        await Termination(cast(ContainerRuntime, runtime), sim.clock, "c", record, hook).run()
        assert runtime.sent == [signal.SIGTERM]
        return sim.clock.monotonic() - began

    assert run_sim(main) == pytest.approx(30.0, abs=1.0)
