"""Machines without a usable logind: each says what is missing, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from vacate.nodeagent.shutdown import logind
from vacate.nodeagent.shutdown.logind import DBusLogind
from vacate.nodeagent.shutdown.protocol import LogindUnavailable

pytestmark = pytest.mark.process


async def test_without_a_bus_it_names_the_socket(tmp_path: Path) -> None:
    with pytest.raises(
        LogindUnavailable, match=rf"no system bus at unix:path={tmp_path}/bus \(.*No such file"
    ):
        await DBusLogind(f"unix:path={tmp_path}/bus").connect()


async def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(LogindUnavailable, match="refuses"):
        await DBusLogind("nonsense").connect()


async def test_a_bus_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logind, "CALL_SECONDS", 0.3)
    ended = asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    async with await asyncio.start_unix_server(silent, tmp_path / "bus"):
        with pytest.raises(LogindUnavailable, match="does not answer within"):
            await DBusLogind(f"unix:path={tmp_path}/bus").connect()
        ended.set()


@pytest.fixture
def bus() -> Iterator[str]:
    """A bus on which there is no logind."""
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("needs dbus-daemon")
    command = [daemon, "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.dbus
async def test_a_bus_without_logind_says_so(bus: str) -> None:
    with pytest.raises(LogindUnavailable, match=r"was refused: .*login1"):
        await DBusLogind(bus).connect()
