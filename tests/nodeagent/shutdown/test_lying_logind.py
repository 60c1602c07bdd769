"""A logind that answers what no real one does: it is reported, and nothing of the agent ends by it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from support.nodes.shutdown_agents import LockHolder, eventually
from support.simulated.shutdown import SimPods, SimStorage
from vacate.clock import SystemClock
from vacate.nodeagent.shutdown import logind as module
from vacate.nodeagent.shutdown.buckets import Bucket, ShutdownPod
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.logind import LOGIND, DBusLogind
from vacate.nodeagent.shutdown.manager import ShutdownManager
from vacate.nodeagent.shutdown.protocol import Inhibitor, LogindUnavailable

pytestmark = pytest.mark.dbus

Answer = tuple[str, list[Any]] | None
HONEST: dict[str, Answer] = {
    "PreparingForShutdown": ("v", [Variant("b", False)]),
    "InhibitDelayMaxUSec": ("v", [Variant("t", 60_000_000)]),
    "ListInhibitors": ("a(ssssuu)", [[]]),
}


@pytest.fixture
def address() -> Iterator[str]:
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("needs dbus-daemon")
    command = [daemon, "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


class FakeLogind:
    """Answers by a table, by method or property; None: not at all."""

    def __init__(self) -> None:
        self.answers = dict(HONEST)
        self.bus: MessageBus | None = None

    async def start(self, address: str) -> None:
        self.bus = await MessageBus(address, negotiate_unix_fd=True).connect()
        self.bus.add_message_handler(self._handle)
        await self.bus.request_name(LOGIND)

    def _handle(self, message: Message) -> Message | bool | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        name = str(message.body[1]) if message.member == "Get" else str(message.member)
        answer = self.answers.get(name)
        if answer is None:
            return True  # handled, and never answered
        return Message.new_method_return(message, *answer)


@pytest.fixture
async def fake(address: str) -> AsyncIterator[FakeLogind]:
    made = FakeLogind()
    await made.start(address)
    yield made
    assert made.bus is not None
    made.bus.disconnect()


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("PreparingForShutdown", ("v", [Variant("s", "soon")]), "PreparingForShutdown has a value"),
        ("PreparingForShutdown", ("", []), "PreparingForShutdown has a value"),
        ("PreparingForShutdown", ("s", ["true"]), "PreparingForShutdown has a value"),
        ("PreparingForShutdown", None, "got no answer within"),
        ("InhibitDelayMaxUSec", ("v", [Variant("d", float("nan"))]), "InhibitDelayMaxUSec has a value"),
        ("InhibitDelayMaxUSec", ("v", [Variant("as", ["x" * 5000])]), "InhibitDelayMaxUSec has a value"),
        ("InhibitDelayMaxUSec", ("v", [Variant("x", -5)]), "delays no shutdown"),
        ("InhibitDelayMaxUSec", ("v", [Variant("t", 0)]), "delays no shutdown"),
        ("Inhibit", ("", []), "without a descriptor"),
        ("Inhibit", ("s", ["3"]), "without a descriptor"),
    ],
)
async def test_a_lie_is_reported(
    fake: FakeLogind, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, answer: Answer, message: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "CALL_SECONDS", 1.0)
    fake.answers[name] = answer
    clock = SystemClock()
    pods = SimPods(clock, {"a": ShutdownPod("a", "default", "a", 0, 30.0)}, {"a": 1.0})
    manager = ShutdownManager(
        ShutdownConfig((Bucket(0, 10.0),), ""), DBusLogind(address, tmp_path), pods, LockHolder(),
        SimStorage(), clock, "boot",
    )  # fmt: skip
    running = asyncio.get_running_loop().create_task(manager.run())
    try:
        await eventually(lambda: message in manager.state.problem)
        assert len(manager.state.problem) < 500
        assert not manager.state.locked
        assert not running.done()
        assert not pods.ended
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.parametrize("answer", [("", []), ("s", ["x"]), ("as", [["kubelet"]]), ("a(s)", [[["kubelet"]]])])
async def test_inhibitors_that_are_none_are_no_answer(
    fake: FakeLogind, address: str, tmp_path: Path, answer: Answer
) -> None:
    fake.answers["ListInhibitors"] = answer
    session = await DBusLogind(address, tmp_path).connect()
    try:
        with pytest.raises(LogindUnavailable, match="ListInhibitors has an answer"):
            await session.inhibitors()
    finally:
        await session.aclose()


async def test_inhibitors_are_read(fake: FakeLogind, address: str, tmp_path: Path) -> None:
    lock = ["shutdown", "kubelet", "why", "delay", 0, 7]
    fake.answers["ListInhibitors"] = ("a(ssssuu)", [[lock]])
    session = await DBusLogind(address, tmp_path).connect()
    try:
        assert await session.inhibitors() == [Inhibitor("shutdown", "kubelet", "why", "delay", 0, 7)]
    finally:
        await session.aclose()
