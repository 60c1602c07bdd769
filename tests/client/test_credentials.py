"""Credentials that change: token files by the clock, plugins by their expiry."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.waiting import until
from vacate.client.config import ClusterConfig, ExecPlugin
from vacate.client.credentials import source_of
from vacate.client.exec_plugin import run_plugin
from vacate.errors import ConfigError

pytestmark = pytest.mark.process


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


async def test_a_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", HandClock()
    file.write_text("one\n")
    source = source_of(ClusterConfig("https://h", token_file=file), clock)
    assert (await source.current()).token == "one"
    file.write_text("two")
    clock.seconds = 59
    assert (await source.current()).token == "one"
    clock.seconds = 60
    assert (await source.current()).token == "two"
    file.write_text("three")
    source.rejected()
    assert (await source.current()).token == "three"
    file.unlink()
    clock.seconds = 300
    assert (await source.current()).token == "three"


async def test_a_token_file_that_never_was(tmp_path: Path) -> None:
    source = source_of(ClusterConfig("https://h", token_file=tmp_path / "token"), HandClock())
    with pytest.raises(ConfigError, match="correct tokenFile"):
        await source.current()


def plugin(folder: Path, body: str, *, hint: str = "") -> ClusterConfig:
    script = folder / "plugin.py"
    script.write_text(body)
    made = ExecPlugin(sys.executable, (str(script),), (("COLOUR", "blue"),), install_hint=hint)
    return ClusterConfig("https://h", exec_plugin=made)


COUNTING = """
import json, os, pathlib
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["kind"] == "ExecCredential" and info["spec"]["interactive"] is False
file = pathlib.Path(__file__).with_name("runs")
runs = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(runs))
status = {"token": os.environ["COLOUR"] + str(runs), "expirationTimestamp": "2026-01-01T00:10:00Z"}
if runs == 2:
    del status["expirationTimestamp"]
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


async def test_a_plugin_runs_again_when_its_credentials_expire_or_are_rejected(tmp_path: Path) -> None:
    clock = HandClock()
    source = source_of(plugin(tmp_path, COUNTING), clock)
    assert [(await source.current()).token for _ in range(2)] == ["blue1", "blue1"]
    clock.seconds = 600
    assert (await source.current()).token == "blue2"
    clock.seconds = 1e6
    assert (await source.current()).token == "blue2"
    source.rejected()
    assert (await source.current()).token == "blue3"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "import sys; print('no login', file=sys.stderr); sys.exit(3)",
            "exit code 3: no login; log in first",
        ),
        ("print('hello')", "did not print an ExecCredential"),
        ("print('{}')", "neither a token nor a client certificate"),
        ("print('[]')", "neither a token nor a client certificate"),
        ("""print('{"status": {"token": 7}}')""", "whose status has a value that is not a string"),
        (
            """print('{"status": {"token": "t", "expirationTimestamp": "9999-12-31T23:59:59-23:59"}}')""",
            "an expirationTimestamp that is not a time",
        ),
        ("print('x' * 2_000_000)", "printed more than 1048576 bytes"),
    ],
)
async def test_a_plugin_that_fails_says_why(tmp_path: Path, body: str, message: str) -> None:
    source = source_of(plugin(tmp_path, body, hint="log in first"), HandClock())
    with pytest.raises(ConfigError, match=message):
        await source.current()


async def test_a_plugin_that_is_not_installed() -> None:
    made = ExecPlugin("/nowhere/plugin", install_hint="install it with make")
    with pytest.raises(ConfigError, match="cannot be run: No such file or directory; install it with make"):
        await source_of(ClusterConfig("https://h", exec_plugin=made), HandClock()).current()


HANGING = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
here = pathlib.Path(__file__)
draft = here.with_name("draft")
draft.write_text(str(child.pid))
draft.rename(here.with_name("child"))
time.sleep(600)
"""


async def test_a_plugin_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    made = plugin(tmp_path, HANGING, hint="log in first").exec_plugin
    assert made is not None
    for seconds in (3, 20, 60):  # longer where the machine stands still before it has begun
        with pytest.raises(
            ConfigError, match=f"did not end within {seconds} s, and was killed; log in first"
        ):
            await run_plugin(made, os.environ, seconds)
        if (tmp_path / "child").exists():
            break
    child = int((tmp_path / "child").read_text())
    await asyncio.to_thread(until, lambda: not alive(child))


async def test_who_is_interrupted_leaves_no_plugin_behind(tmp_path: Path) -> None:
    source = source_of(plugin(tmp_path, HANGING), HandClock())
    running = asyncio.create_task(source.current())
    await asyncio.to_thread(until, (tmp_path / "child").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    child = int((tmp_path / "child").read_text())
    await asyncio.to_thread(until, lambda: not alive(child))


async def test_who_is_interrupted_while_a_plugin_starts_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program may run, and have children, before whoever starts it knows that it does."""
    start, interrupted = asyncio.create_subprocess_exec, asyncio.Event()

    async def start_slowly(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*args, **options)
        await interrupted.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_slowly)
    running = asyncio.create_task(source_of(plugin(tmp_path, HANGING), HandClock()).current())
    await asyncio.to_thread(until, (tmp_path / "child").exists)
    running.cancel()
    asyncio.get_running_loop().call_soon(interrupted.set)
    with pytest.raises(asyncio.CancelledError):
        await running
    child = int((tmp_path / "child").read_text())
    await asyncio.to_thread(until, lambda: not alive(child))


def alive(pid: int) -> bool:
    """Whether the process runs: one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
