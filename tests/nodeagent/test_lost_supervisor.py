"""Containers whose supervisor goes away in the middle: what was asked of it is seen to its end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.nodes.agents import AgentCluster, agent_place, ready
from support.processes.node import running
from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.runtime.protocol import ContainerSpec, ContainerState, RuntimeLost

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[AgentCluster]:
    async with agent_place(tmp_path) as made:
        yield made


def kill_supervisor(folder: Path) -> None:
    (found,) = running(folder, "supervisor")
    os.kill(found, signal.SIGKILL)


async def test_a_container_whose_poststart_hook_was_lost_is_probed_and_becomes_ready(
    place: AgentCluster,
) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "exec sleep 1000"]}}}
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    made = await place.create(
        "web", "echo on; exec sleep 1001", container={"lifecycle": hook, "readinessProbe": probe}
    )
    await place.logged(made, "on")
    while not (hooks := running(place.folder, "sleep\x001000")):  # noqa: ASYNC110  a process tells nobody
        await asyncio.sleep(0.1)
    kill_supervisor(place.folder)
    await place.until("web", ready)
    for pid in hooks:
        os.kill(pid, signal.SIGKILL)
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")


async def test_a_pod_whose_start_got_no_answer_goes_only_after_its_process(
    place: AgentCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, lost = ProcessRuntime.start, list[str]()

    async def losing(self: ProcessRuntime, spec: ContainerSpec) -> ContainerState:
        state = await start(self, spec)
        if not lost:
            lost.append(spec.id)
            raise RuntimeLost("the supervisor went away")
        return state

    monkeypatch.setattr(ProcessRuntime, "start", losing)
    made = await place.create("web", "echo on; exec sleep 1001")
    await place.logged(made, "on")
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")
    assert not running(place.folder, "1001")
