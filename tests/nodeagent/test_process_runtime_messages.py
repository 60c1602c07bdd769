"""What the runtime makes of messages that reach it together, from a supervisor that the test plays."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from vacate.nodeagent.runtime import connection
from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.runtime.protocol import RuntimeLost
from vacate.nodeagent.runtime.supervisor.connections import SOCKET
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.process

RUNS = {"id": "c", "labels": {}, "pid": 1, "started_at": 1000.0, "exit": None, "log": "/dev/null"}
ENDED = {**RUNS, "exit": {"code": 3, "finished_at": 1001.0}}


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


async def supervise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The container ends right after the list that the agent asks for when it comes back."""
    while request := await reader.readline():
        asked = json.loads(request)
        assert asked["op"] == "list"
        listed = line({"number": asked["number"], "ok": {"containers": [RUNS]}})
        writer.write(listed + line({"event": "ended", **ENDED}))
    writer.close()


async def test_an_end_that_comes_with_an_older_list_is_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # an address of a socket has at most 107 characters
    runtime = ProcessRuntime(tmp_path, use_cgroups=False, use_views=False)
    async with await asyncio.start_unix_server(supervise, SOCKET):
        try:
            (found,) = await runtime.open(lambda _: None)
            assert found.exit is not None
            ended = await asyncio.wait_for(runtime.wait("c"), 60)
            assert ended.exit is not None
            assert ended.exit.code == 3
        finally:
            await runtime.aclose()


async def test_a_supervisor_that_cannot_be_reached_is_tried_again_with_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing else of the agent would have a turn."""
    monkeypatch.chdir(tmp_path)
    real, tries = connection.open_stream, list[int]()

    async def full(folder: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tries.append(1)
        if 1 < len(tries) < 1000:
            raise OSError(24, "Too many open files")
        return await real(folder)

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(await reader.readline())
        writer.write(line({"number": asked["number"], "ok": {"containers": []}}))
        writer.close()

    monkeypatch.setattr(connection, "open_stream", full)
    runtime = ProcessRuntime(tmp_path, use_cgroups=False, use_views=False)
    async with await asyncio.start_unix_server(leave, SOCKET):
        try:
            await runtime.open(lambda _: None)
            while len(tries) < 2:  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.01)
            assert len(tries) < 100
        finally:
            await runtime.aclose()


@pytest.mark.parametrize("seconds", [30.0, 10_000.0])
def test_a_supervisor_that_a_busy_machine_starts_slowly_is_waited_for_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    listens, opened = asyncio.Event(), object()

    async def spawn(_: Path) -> None:
        await asyncio.sleep(seconds)
        listens.set()

    async def try_open(_: Path) -> object | None:
        return opened if listens.is_set() else None

    async def main(_: Sim) -> object:
        try:
            return await connection.open_stream(tmp_path)
        except RuntimeLost as error:
            return str(error)

    monkeypatch.setattr(connection, "_spawn", spawn)
    monkeypatch.setattr(connection, "_try_open", try_open)
    late = f"the supervisor of {tmp_path} does not start; see {tmp_path}/supervisor.log"
    assert run_sim(main) == (opened if seconds == 30.0 else late)
