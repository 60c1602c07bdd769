"""A small process that starts the agent, starts it again when it crashes, and holds its delay lock meanwhile.

python -m vacate.nodeagent.shutdownagent.launcher COMMAND…

It imports nothing but the standard library and the supervisor's lock: what can fail is in the agent. The lock
of an agent that does not come back is closed after a while, since nobody acts on it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

from vacate.nodeagent.runtime.supervisor.heldlock import HeldLock

SOCKET = "VACATE_PARENT_SOCKET"
"""Names the descriptor over which the agent speaks to its parent."""
STOPPING = "VACATE_PARENT_STOPPING"
"""Is set for an agent that is started although its pod is to end: it finishes a shutdown, or ends at once."""
HOLD, HOLDS, RELEASE = "hold", "holds", "release"
LISTENS = "listens"
"""As HOLDS, from an agent that hears logind just now."""
HELD, FREE, DONE = "held", "free", "done"

_RESTART_SECONDS = 1.0


class Parent:
    """One agent at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._lock = HeldLock()
        self._connection: socket.socket | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._spoke = False  # the agent that runs; one that crashes before is of no use to the lock
        self._listened_at: float | None = None  # when the agent that runs last said that it hears logind
        self._stopping = False

    def run(self) -> int:
        """Until the agent ends by itself, or after a signal."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        while True:
            was_stopping = self._stopping
            self._child, self._connection = self._start()
            if self._stopping and not was_stopping:  # the signal came before there was a child
                self._child.send_signal(signal.SIGTERM)
            self._spoke = False
            while (code := self._child.poll()) is None:
                self._attend(self._connection, reader)
            self._lock.leave(str(self._child.pid), self._listened_at or time.monotonic())
            if self._spoke:  # it may have had nothing to say for days
                self._lock.look(time.monotonic(), agent=True)
            self._look_at_lock()
            self._connection.close()
            if code == 0 or (self._stopping and not self._lock):
                return code if code >= 0 else 128 - code
            _say(f"the shutdown agent ended with {code} and is started again")
            self._pause(reader)

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        self._listened_at = None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            environment = {**os.environ, SOCKET: str(theirs.fileno())}
            if self._stopping:
                environment[STOPPING] = "1"
            descriptors = [theirs.fileno()]
            child = subprocess.Popen(self._command, env=environment, pass_fds=descriptors)  # noqa: S603
        return child, ours

    def _attend(self, connection: socket.socket, signals: int) -> None:
        ready, _, _ = select.select([connection.fileno(), signals], [], [], _RESTART_SECONDS)
        if signals in ready:
            os.read(signals, 64)
        if connection.fileno() in ready:
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(connection, 256, 4)
            self._spoke = self._spoke or bool(message)  # it is empty at the end of the connection
            connection.send(self._do(message.decode().split(), descriptors).encode())
        except OSError:
            return  # it is about to end

    def _do(self, words: list[str], descriptors: list[int]) -> str:
        match words:
            case [verb, seconds] if verb == HOLD and len(descriptors) == 1:
                assert self._child is not None
                self._lock.hold(descriptors[0], float(seconds), str(self._child.pid))
                return DONE
            case [verb] if verb == RELEASE:
                self._lock.release()
                return DONE
            case [verb] if verb == LISTENS:
                self._listened_at = time.monotonic()
        for one in descriptors:
            os.close(one)
        if not self._lock:
            return FREE
        return HELD if self._lock.left_at is None else f"{HELD} {self._lock.left_at}"

    def _pause(self, signals: int) -> None:
        """Before the next agent; and see whether the lock is of use to anyone."""
        end = time.monotonic() + _RESTART_SECONDS
        while (left := end - time.monotonic()) > 0:
            if select.select([signals], [], [], left)[0]:
                os.read(signals, 64)
        self._look_at_lock()

    def _look_at_lock(self) -> None:
        """While no agent is there."""
        held = bool(self._lock)
        self._lock.look(time.monotonic(), agent=False)
        if held and not self._lock:
            _say("no agent comes up: the shutdown inhibitor is released")

    def _pass_on(self, number: int, _frame: object) -> None:
        if number == signal.SIGCHLD:
            return
        self._stopping = True
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(Parent(sys.argv[1:]).run())
