"""What the runtime makes of messages that reach it together, from a supervisor that the test plays."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.runtime.supervisor.connections import SOCKET

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
