"""A logind that restarts while the agent connects: its signals count, and those of the one before do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import dbus_fast
import pytest
from dbus_fast import Message, MessageType, Variant

from vacate.nodeagent.shutdown.logind import BUS, LOGIND, LOGIND_PATH, MANAGER, DBusSession, DropIn

pytestmark = pytest.mark.unit

OLD, NEW = ":1.5", ":1.9"


class Bus:
    """Answers who logind is, and has the signal of its restart arrive together with that answer."""

    def __init__(self) -> None:
        self.hear: Callable[[Message], object] = lambda _: None
        self._ended = asyncio.Event()

    def add_message_handler(self, hear: Callable[[Message], object]) -> None:
        self.hear = hear

    async def call(self, message: Message) -> Message:
        if message.member == "GetNameOwner":
            for before, after in ((OLD, ""), ("", NEW)):
                self.hear(signal(BUS, "NameOwnerChanged", "sss", [LOGIND, before, after], sender=BUS))
            return Message(message_type=MessageType.METHOD_RETURN, reply_serial=1, signature="s", body=[OLD])
        value = Variant("b", False)
        return Message(message_type=MessageType.METHOD_RETURN, reply_serial=1, signature="v", body=[value])

    async def wait_for_disconnect(self) -> None:
        await self._ended.wait()

    def disconnect(self) -> None:
        self._ended.set()


def signal(interface: str, member: str, signature: str, body: list[object], *, sender: str) -> Message:
    return Message(
        message_type=MessageType.SIGNAL, path=LOGIND_PATH, interface=interface, member=member,
        signature=signature, body=body, sender=sender,
    )  # fmt: skip


@pytest.mark.parametrize(("sender", "heard"), [(NEW, True), (OLD, False)])
async def test_the_signal_of_the_logind_that_runs_is_heard(sender: str, heard: bool) -> None:
    bus = Bus()
    session = DBusSession(bus, dbus_fast, DropIn(Path("unused"), "laptop"))
    try:
        await session.open()
        await session.changed(0.01)  # of its restart
        bus.hear(signal(MANAGER, "PrepareForShutdown", "b", [True], sender=sender))
        assert session._changed.is_set() is heard
    finally:
        await session.aclose()
