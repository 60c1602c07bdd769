"""A small process that starts the agent, starts it again when it crashes, and holds its delay lock meanwhile.

python -m vacate.nodeagent.shutdownagent.launcher COMMAND…

It imports nothing but the standard library and what the supervisor has of the lock: what can fail is in the
agent. The lock of an agent that does not come back is closed after a while, since nobody acts on it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

from vacate.nodeagent.runtime.supervisor.connections import Client
from vacate.nodeagent.runtime.supervisor.heldlock import HeldLock

SOCKET = "VACATE_PARENT_SOCKET"
"""Names the descriptor over which the agent speaks to its parent."""
STOPPING = "VACATE_PARENT_STOPPING"
"""Is set for an agent that is started although its pod is to end: it finishes a shutdown, or ends at once."""

_RESTART_SECONDS = 1.0


class Parent:
    """One agent at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._lock = HeldLock()
        self._child: subprocess.Popen[bytes] | None = None
        self._spoke = False  # the agent that runs; one that crashes before is of no use to the lock
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
            self._child, client = self._start()
            if self._stopping and not was_stopping:  # the signal came before there was a child
                self._child.send_signal(signal.SIGTERM)
            self._spoke = False
            while (code := self._child.poll()) is None:
                self._attend(client, reader)
            self._lock.leave(client.agent, client.listened_at or time.monotonic())
            if self._spoke:  # it may have had nothing to say for days
                self._lock.look(time.monotonic(), agent=True)
            self._look_at_lock()
            client.close()
            if code == 0 or (self._stopping and not self._lock):
                return code if code >= 0 else 128 - code
            _say(f"the shutdown agent ended with {code} and is started again")
            self._pause(reader)

    def _start(self) -> tuple[subprocess.Popen[bytes], Client]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            environment = {**os.environ, SOCKET: str(theirs.fileno())}
            if self._stopping:
                environment[STOPPING] = "1"
            child = subprocess.Popen(self._command, env=environment, pass_fds=[theirs.fileno()])  # noqa: S603
        client = Client(ours)
        client.agent = str(child.pid)
        return child, client

    def _attend(self, client: Client, signals: int) -> None:
        connection = client.socket.fileno()
        ready, _, _ = select.select([connection, signals], [], [], _RESTART_SECONDS)
        if signals in ready:
            os.read(signals, 64)
        if connection in ready:
            for line in client.receive() or ():  # none when it is about to end
                self._spoke = True
                request = {**json.loads(line), "agent": client.agent}
                client.send(self._lock.answer(client, request, time.monotonic()))

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
