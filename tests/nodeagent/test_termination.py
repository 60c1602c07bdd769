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
        self._errors = {"wait": [error] * 2, "signal": [error] * 2}
        self._ended = asyncio.Event()
        self.sent: list[int] = []

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
