"""`kill -9` in a loop under write load: what was acknowledged or seen is still there, in one sequence."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from random import Random

import pytest

from embedded.store import killed
from embedded.store.harness import available, opened
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.types import Scope

pytestmark = pytest.mark.process

ROUNDS = 6


async def run_and_kill(path: Path, lines_before: int) -> list[tuple[str, int, str]]:
    """Let the process print so many lines, kill it, and return all that it printed."""
    script = Path(killed.__file__)
    environment = {**os.environ, "PYTHONPATH": str(script.parents[2])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), str(path), stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(lines_before)]
    process.send_signal(signal.SIGKILL)
    rest = await process.stdout.read()
    assert await process.wait() == -signal.SIGKILL
    parsed = [line.decode().split(" ") for line in [*lines, *rest.splitlines(keepends=True)]]
    return [(what, int(revision), name.strip()) for what, revision, name in parsed]


@pytest.mark.thorough
async def test_what_was_confirmed_before_the_kill_is_there_after_it(tmp_path: Path) -> None:
    random = Random(7)
    path = tmp_path / "log.db"
    newest = 1
    for _ in range(ROUNDS):
        printed = await run_and_kill(path, random.randrange(100, 1200))
        assert printed[0] == ("opened", newest, "")  # what the last round left, not more and not less
        confirmed = {revision: name for what, revision, name in printed if what != "opened"}
        assert confirmed
        newest = await check(path, confirmed)


async def check(path: Path, confirmed: dict[int, str]) -> int:
    """Everything is still there, or was replaced by something newer; the rest of the sequence has no gap."""
    store = await opened(SqliteLog(path))
    assert store.revision >= max(confirmed)
    living = {entry.key.name: entry.revision for entry in store.list("pods").entries}
    for revision, name in confirmed.items():
        assert living[name] >= revision
    history = await available(store.watch(Scope("pods"), store.compacted))
    assert [c.revision for c in history] == list(range(store.compacted + 1, store.revision + 1))
    for change in history:
        assert confirmed.get(change.revision, change.key.name) == change.key.name
        assert change.after.value.startswith(f"{change.revision}|".encode())
    await store.aclose()
    return store.revision
