"""elogind: the same interface from another program, without systemd and so without its KillUnit."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hack.logindlab.elogind import LOG, OFF, SOCKET
from hack.logindlab.machine import REPOSITORY
from hack.nodelab.preconditions import missing

from support.nodes.shutdown_agents import LockHolder, eventually
from support.simulated.shutdown import SimPods, SimStorage
from vacate.clock import SystemClock
from vacate.nodeagent.shutdown.buckets import Bucket, ShutdownPod
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.logind import DBusLogind, DBusSession
from vacate.nodeagent.shutdown.manager import ShutdownManager
from vacate.nodeagent.shutdown.protocol import LogindUnavailable

pytestmark = [pytest.mark.dbus, pytest.mark.timeout(400)]

LIMIT = 20


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Path]:
    """A folder with the bus of an elogind of its own."""
    if why := missing():
        pytest.skip(why)
    place, folder = tmp_path / "place", tmp_path / "bus"
    place.mkdir()
    folder.mkdir()
    command = (
        *("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"),
        *(sys.executable, "-m", "hack.logindlab.elogind", str(place), str(folder), str(LIMIT)),
    )
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n", (folder / LOG).read_text()
        yield folder
        running.kill()


@pytest.fixture
def logind(bus: Path, tmp_path: Path) -> DBusLogind:
    return DBusLogind(f"unix:path={bus / SOCKET}", tmp_path / "logind.conf.d")


@pytest.fixture
async def session(logind: DBusLogind) -> AsyncIterator[DBusSession]:
    made = await logind.connect()
    yield made
    await made.aclose()


def power_off(bus: Path) -> None:
    place = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
    subprocess.run(
        ["busctl", f"--address=unix:path={bus / SOCKET}", "call", *place, "PowerOff", "b", "false"],
        check=True, timeout=120,
    )  # fmt: skip


@pytest.mark.thorough
async def test_a_lock_delays_a_power_off_and_is_listed(bus: Path, session: DBusSession) -> None:
    assert await session.delay_limit() == LIMIT
    assert not await session.preparing()
    fd = await session.inhibit("a test")
    (listed,) = await session.inhibitors()
    assert (listed.what, listed.who, listed.mode, listed.pid) == ("shutdown", "Vacate", "delay", os.getpid())
    with pytest.raises(LogindUnavailable, match="KillUnit"):
        await session.raise_delay_limit(60.0)
    await asyncio.to_thread(power_off, bus)
    await session.changed(120.0)
    assert await session.preparing()
    assert not (bus / OFF).exists()
    os.close(fd)
    await eventually((bus / OFF).exists)


@pytest.mark.thorough
async def test_pods_end_in_order_before_it_powers_off(bus: Path, logind: DBusLogind) -> None:
    clock, holder = SystemClock(), LockHolder()
    pods = {name: ShutdownPod(name, "default", name, value, 30.0) for name, value in (("a", 0), ("b", 1000))}
    ended = SimPods(clock, pods, {"a": 0.5, "b": 0.2})
    config = ShutdownConfig((Bucket(0, 8.0), Bucket(1000, 8.0)), "")
    manager = ShutdownManager(config, logind, ended, holder, SimStorage(), clock, "boot")
    running = asyncio.get_running_loop().create_task(manager.run())
    try:
        await eventually(lambda: manager.state.locked)
        await asyncio.to_thread(power_off, bus)
        await eventually((bus / OFF).exists)
        assert ended.ended["a"].gone <= ended.ended["b"].asked
        assert manager.state.finished
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.thorough
async def test_a_limit_that_cannot_be_raised_is_reported(bus: Path, logind: DBusLogind) -> None:
    config = ShutdownConfig((Bucket(0, 100.0),), "")
    clock = SystemClock()
    manager = ShutdownManager(config, logind, SimPods(clock), LockHolder(), SimStorage(), clock, "boot")
    running = asyncio.get_running_loop().create_task(manager.run())
    try:
        await eventually(lambda: manager.state.locked and manager.state.problem)
        assert "logind delays a shutdown by 20s at most, and pods have 1m40s" in manager.state.problem
        assert "KillUnit" in manager.state.problem
    finally:
        running.cancel()
        await asyncio.wait([running])
