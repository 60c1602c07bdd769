"""systemd-logind over D-Bus, and its drop-in. dbus-fast is needed only with the feature: extra `node`."""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vacate.client.privatefile import write_private
from vacate.clock import SystemClock
from vacate.nodeagent.shutdown.protocol import Inhibitor, LogindUnavailable

T = TypeVar("T")

log = logging.getLogger(__name__)

DROP_IN, DROP_INS = "99-vacate.conf", Path("/etc/systemd/logind.conf.d")
"""The file that raises the limit of delays, `InhibitDelayMaxSec`, and where it lies."""
CALL_SECONDS = 5.0
LISTEN_SECONDS, STOPPED_SECONDS = 0.5, 0.5
"""How long to listen at a time; an agent that comes back so much later was stopped."""
ENDED = "the connection to the system bus ended"
DEFAULT_BUS = "unix:path=/var/run/dbus/system_bus_socket"
BUS, BUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
LOGIND, LOGIND_PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
MANAGER, PROPERTIES = "org.freedesktop.login1.Manager", "org.freedesktop.DBus.Properties"
SYSTEMD, SYSTEMD_PATH = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"

_MANAGER = (LOGIND, LOGIND_PATH, MANAGER)
_MATCHES = (
    f"type='signal',sender='{LOGIND}',interface='{MANAGER}',member='PrepareForShutdown',path='{LOGIND_PATH}'",
    f"type='signal',sender='{BUS}',interface='{BUS}',member='NameOwnerChanged',arg0='{LOGIND}'",
)


class DBusLogind:
    """The logind of the system bus, or of the bus at another address."""

    def __init__(self, address: str = "", drop_ins: Path = DROP_INS, node: str = "") -> None:
        self._address = address
        self._drop_in = DropIn(drop_ins / DROP_IN, f"# Written by Vacate: node {node}")

    async def connect(self) -> DBusSession:
        """A connection on which signals arrive."""
        try:
            library: Any = importlib.import_module("dbus_fast")
            bus_class: Any = importlib.import_module("dbus_fast.aio").MessageBus
        except ImportError:
            raise LogindUnavailable("the Python package dbus-fast is missing; install vacate[node]") from None
        address = self._address or os.environ.get("DBUS_SYSTEM_BUS_ADDRESS") or DEFAULT_BUS
        try:
            async with asyncio.timeout(CALL_SECONDS):
                # Without unix descriptors a lock never arrives.
                bus = bus_class(address, library.BusType.SYSTEM, negotiate_unix_fd=True)
                await bus.connect()
        except TimeoutError:
            raise LogindUnavailable(f"the system bus does not answer within {CALL_SECONDS:g} s") from None
        except (OSError, EOFError) as error:
            raise LogindUnavailable(
                f"no system bus at {address} ({_reason(error)}); this machine may not run systemd"
            ) from error
        except Exception as error:  # of addresses and authentication: dbus-fast has a tree of its own
            raise LogindUnavailable(f"the system bus refuses: {_reason(error)}") from error
        session = DBusSession(bus, library, self._drop_in)
        try:
            await session.open()
        except BaseException:
            await session.aclose()
            raise
        return session

    async def restore(self) -> None:
        """Take back what was written for longer delays: the feature is off."""
        path = self._drop_in.path
        try:
            if not self._drop_in.remove():
                return
        except OSError as error:
            log.warning("%s cannot be removed: %s", path, error.strerror)
            return
        log.info("removed %s: nothing here delays a shutdown any more", path)
        try:
            session = await self.connect()
            try:
                await session.reload()
            finally:
                await session.aclose()
        except LogindUnavailable as error:
            log.warning("logind keeps the longer delay until it is started again: %s", error)


class DBusSession:
    """One connection. Any client of the bus may send signals: only logind's own count."""

    def __init__(self, bus: Any, library: Any, drop_in: DropIn) -> None:
        self._bus = bus
        self._library = library
        self._drop_in = drop_in
        self._owner = ""
        self._changed = asyncio.Event()
        self._ended = asyncio.get_running_loop().create_task(self._follow())

    async def open(self) -> None:
        """Listen, and find out who logind is."""
        self._bus.add_message_handler(self._hear)
        for match in _MATCHES:
            await self._call(BUS, BUS_PATH, BUS, "AddMatch", "s", [match])
        await self.preparing()  # starts logind where the bus can do that
        owner = await self._call(BUS, BUS_PATH, BUS, "GetNameOwner", "s", [LOGIND])
        # Signals arrive in their order: one that was heard by now is newer than this answer.
        self._owner = self._owner or str(owner.body[0])

    async def preparing(self) -> bool:
        """`PreparingForShutdown`."""
        return await self._property("PreparingForShutdown", bool)

    async def delay_limit(self) -> float:
        """`InhibitDelayMaxUSec`."""
        return max(await self._property("InhibitDelayMaxUSec", int), 0) / 1e6

    async def raise_delay_limit(self, seconds: float) -> None:
        """Write a drop-in, never with less than what is in effect, and have logind read it."""
        path = self._drop_in.path
        try:
            self._drop_in.write(max(seconds, await self.delay_limit()))
        except OSError as error:
            raise LogindUnavailable(f"{path} cannot be written: {error.strerror}") from error
        log.info("wrote %s: logind may delay a shutdown by %g s", path, seconds)
        await self.reload()

    async def reload(self) -> None:
        """Have logind read its configuration."""
        body = ["systemd-logind.service", "all", int(signal.SIGHUP)]
        await self._call(SYSTEMD, SYSTEMD_PATH, f"{SYSTEMD}.Manager", "KillUnit", "ssi", body)

    async def inhibitors(self) -> list[Inhibitor]:
        """`ListInhibitors`."""
        reply = await self._call(*_MANAGER, "ListInhibitors", "", [])
        listed = reply.body[0] if reply.body else None
        if not isinstance(listed, (list, tuple)) or not all(_is_inhibitor(one) for one in listed):
            raise LogindUnavailable("ListInhibitors has an answer that no logind gives")
        return [Inhibitor(*one) for one in listed]

    async def inhibit(self, why: str) -> int:
        """A delay lock against shutdown."""
        reply = await self._call(*_MANAGER, "Inhibit", "ssss", ["shutdown", "Vacate", why, "delay"])
        if not reply.unix_fds:
            raise LogindUnavailable("logind granted a lock without a descriptor")
        first, *others = reply.unix_fds
        for fd in others:
            os.close(fd)
        os.set_inheritable(first, False)
        return int(first)

    async def reboot(self) -> None:
        """Reboot the machine, after every delay lock is released."""
        await self._call(*_MANAGER, "Reboot", "b", [False])

    async def changed(self, timeout: float) -> float | None:
        """Wait for a signal of logind, for its restart, or for the time to pass.

        In short steps: a signal does not say when it was sent, and an agent that comes back late from a step
        was stopped, and heard nothing.
        """
        clock = SystemClock()
        end, late = clock.monotonic() + timeout, None
        waiting = asyncio.get_running_loop().create_task(self._changed.wait())
        try:
            while late is None and not self._changed.is_set() and not self._ended.done():
                before = clock.monotonic()
                if (left := end - before) <= 0:
                    break
                step = min(left, LISTEN_SECONDS)
                await asyncio.wait([waiting, self._ended], timeout=step, return_when=asyncio.FIRST_COMPLETED)
                late = before if clock.monotonic() - before > step + STOPPED_SECONDS else None
        finally:
            waiting.cancel()
        self._changed.clear()
        if self._ended.done():
            raise LogindUnavailable(ENDED)
        return late

    async def aclose(self) -> None:
        """Close the connection."""
        self._bus.disconnect()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await asyncio.wait([self._ended])
        except TimeoutError:
            self._ended.cancel()

    async def _follow(self) -> None:
        try:
            await self._bus.wait_for_disconnect()
        except (OSError, EOFError) as error:
            log.info("the system bus went away: %s", _reason(error))
        except Exception:
            log.exception("the connection to the system bus failed")

    def _hear(self, message: Any) -> None:
        if message.message_type is not self._library.MessageType.SIGNAL:
            return
        if message.member == "NameOwnerChanged" and message.sender == BUS:
            if message.body and message.body[0] == LOGIND:
                self._owner = str(message.body[2])
                self._changed.set()
        elif message.member == "PrepareForShutdown" and message.interface == MANAGER:
            if message.sender == self._owner:
                self._changed.set()
            else:
                log.warning(
                    "a PrepareForShutdown signal of %s, which is not logind, is ignored", message.sender
                )

    async def _property(self, name: str, wanted: type[T]) -> T:
        reply = await self._call(LOGIND, LOGIND_PATH, PROPERTIES, "Get", "ss", [MANAGER, name])
        value = getattr(reply.body[0], "value", None) if reply.body else None
        if type(value) is not wanted:
            raise LogindUnavailable(f"{name} has a value that no logind gives: {value!r:.80}")
        return value

    async def _call(
        self, name: str, path: str, interface: str, member: str, signature: str, body: list[Any]
    ) -> Any:
        message = self._library.Message(
            destination=name, path=path, interface=interface, member=member, signature=signature, body=body
        )
        try:
            async with asyncio.timeout(CALL_SECONDS):
                reply = await self._bus.call(message)
        except TimeoutError:
            self._bus.disconnect()  # an answer that comes too late must not bring a lock that nobody holds
            raise LogindUnavailable(f"{member} got no answer within {CALL_SECONDS:g} s") from None
        except (OSError, EOFError) as error:
            log.info("%s failed: %s", member, _reason(error))
            raise LogindUnavailable(ENDED) from error
        except self._library.DBusError as error:
            raise LogindUnavailable(f"{member} failed: {_reason(error)}") from error
        if reply is None:
            raise LogindUnavailable(f"{member} got no answer")
        if reply.message_type is self._library.MessageType.ERROR:
            text = reply.body[0] if reply.body else reply.error_name
            raise LogindUnavailable(f"{member} was refused: {text}")
        return reply


def _is_inhibitor(found: Any) -> bool:
    return isinstance(found, (list, tuple)) and [type(one) for one in found] == [str, str, str, str, int, int]


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


@dataclass(frozen=True, slots=True)
class DropIn:
    """The file with a longer limit of delays; by its first words it is known whose it is."""

    path: Path
    owner: str

    def write(self, seconds: float) -> None:
        """Write the file whole; raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        text = f"{self.owner} needs this long to terminate its pods in order.\n"
        text += f"[Login]\nInhibitDelayMaxSec={math.ceil(seconds)}\n"
        write_private(self.path, text.encode("ascii"), mode=0o644)

    def remove(self) -> bool:
        """Remove the file where it was written for this node; raises OSError."""
        if not self.path.exists() or not self.path.read_text("utf-8", "replace").startswith(self.owner):
            return False
        self.path.unlink()
        return True
