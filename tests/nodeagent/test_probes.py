"""Loops of probes: whatever a probe names, each question has a result, and the next one follows."""

from __future__ import annotations

import asyncio
from typing import cast

import msgspec
import pytest

from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.nodeagent.containers.probes import ProbeLoop, ProbeState
from vacate.nodeagent.model import RunningContainer
from vacate.nodeagent.runtime.protocol import ContainerRuntime, ExecResult
from vacate.nodeagent.view import AgentContainer, Probe

pytestmark = pytest.mark.unit


class Impatient(SystemClock):
    """A clock by which no time passes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class FullDisk:
    """A runtime that cannot be started at first, for lack of space."""

    def __init__(self) -> None:
        self._errors = [OSError(28, "No space left on device")] * 2

    async def exec(self, container: str, argv: list[str], env: dict[str, str], timeout: float) -> ExecResult:
        if self._errors:
            raise self._errors.pop()
        return ExecResult(0)


async def test_a_runtime_that_cannot_be_asked_ends_no_probe_and_is_no_failure() -> None:
    seen: list[tuple[ProbeState, str]] = []
    probe = msgspec.convert({"exec": {"command": ["true"]}}, Probe)
    target = RunningContainer("c", AgentContainer("main"), {}, "127.0.0.1")
    await ProbeLoop(
        cast(ContainerRuntime, FullDisk()), Impatient(), system_entropy(), target, probe,
        lambda state, why: seen.append((state, why)),
    ).run(until_healthy=True)  # fmt: skip
    assert [(state.healthy, why) for state, why in seen] == [(True, "")]


# API servers check no host, and these cannot even be looked up.
@pytest.mark.parametrize("host", ["a..b", f"{'x' * 64}.example"])
@pytest.mark.parametrize("action", ["tcpSocket", "httpGet"])
async def test_a_host_that_cannot_be_a_name_is_a_failure_each_time(action: str, host: str) -> None:
    seen: list[tuple[ProbeState, str]] = []
    three = asyncio.Event()

    def changed(state: ProbeState, why: str) -> None:
        seen.append((state, why))
        if len(seen) == 3:
            three.set()

    probe = msgspec.convert({action: {"host": host, "port": 80}}, Probe)
    target = RunningContainer("c", AgentContainer("main"), {}, "127.0.0.1")
    runtime = cast(ContainerRuntime, None)  # it is not asked
    loop = asyncio.create_task(
        ProbeLoop(runtime, Impatient(), system_entropy(), target, probe, changed).run()
    )
    done, _ = await asyncio.wait([loop, asyncio.create_task(three.wait())], return_when="FIRST_COMPLETED")
    assert loop not in done
    loop.cancel()
    assert [(state.row, bool(why)) for state, why in seen[:3]] == [(1, True), (2, True), (3, True)]
