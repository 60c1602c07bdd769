"""The supervisor's loop: requests of the agent, ends of children, and a look at the logs now and then."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from vacate.nodeagent.runtime.supervisor import cgroups, children, containers, procfs, records, views
from vacate.nodeagent.runtime.supervisor.connections import Client
from vacate.nodeagent.runtime.supervisor.containers import Container
from vacate.nodeagent.runtime.supervisor.execs import Exec
from vacate.nodeagent.runtime.supervisor.heldlock import HeldLock
from vacate.nodeagent.runtime.supervisor.logtimes import rotate

RECORDS = "containers"

_POLL = 0.01  # while processes that were killed go away
_LOG_CHECK_SECONDS = 1.0  # how often the size of logs is read; the times of their lines are as exact
_FIRST_CLIENT = 30.0  # how long it stays for an agent that started it and never came


class Supervisor:
    """Serves one folder until no container runs, no lock is held and no agent is there."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.home = folder
        self.records = f"{folder}/{RECORDS}"
        self.boot = procfs.boot_id()
        self.selector = selectors.DefaultSelector()
        self.clients: list[Client] = []
        self.containers = containers.adopt(self.records, folder, self.boot)
        self.by_pid: dict[int, Container] = {}
        self.execs: dict[int, Exec] = {}
        self.groups_left: dict[str, str] = {}  # of starts that failed, with the group above
        self.lock = HeldLock()
        self.next_look = time.monotonic() + _LOG_CHECK_SECONDS
        self.exit_at = time.monotonic() + _FIRST_CLIENT

    def run(self, listener: socket.socket) -> None:
        """Serve until there is nothing left to do."""
        views.become_subreaper()
        gc.disable()  # no cycles are made; a collection in a child would copy the memory that it shares
        readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writable)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # it goes when its containers are gone
        self.selector.register(readable, selectors.EVENT_READ, lambda: self._drain(readable))
        self.selector.register(listener, selectors.EVENT_READ, lambda: self._accept(listener))
        for container in self.containers.values():
            if container.pidfd >= 0:
                self._follow(container)
        while not self._idle():
            for key, _ in self.selector.select(self._wait_seconds()):
                key.data()
            self._reap()
            now = time.monotonic()
            for command in self.execs.values():
                command.end_late(now)
            self._settle()
            self._remove_groups_left()
            self._look_at_logs()
            self.lock.look(time.monotonic(), agent=bool(self.clients))

    def _idle(self) -> bool:
        if self.clients or self.groups_left or any(not one.ended for one in self.containers.values()):
            return False
        # An agent that comes back after the last pod ended still needs the lock to report how it ended.
        return not self.lock and time.monotonic() >= self.exit_at

    def _wait_seconds(self) -> float | None:
        now = time.monotonic()
        if any((one.main_gone or one.dying) and not one.ended for one in self.containers.values()):
            return _POLL
        moments = [one.deadline for one in self.execs.values() if not one.timed_out]
        if not self.clients and now < self.exit_at:
            moments.append(self.exit_at)
        if self.groups_left or any(not one.ended for one in self.containers.values()):
            moments.append(self.next_look)
        if (left_alone := self.lock.next_look) is not None:
            moments.append(left_alone)
        return max(min(moments) - now, 0.0) if moments else None

    def _drain(self, readable: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(readable, 4096)

    def _accept(self, listener: socket.socket) -> None:
        sock, _ = listener.accept()
        sock.settimeout(5.0)
        client = Client(sock)
        self.clients.append(client)
        self.exit_at = 0.0
        self.selector.register(sock, selectors.EVENT_READ, lambda: self._read(client))

    def _read(self, client: Client) -> None:
        lines = client.receive()
        if lines is None:
            self.selector.unregister(client.socket)
            client.close()
            self.clients.remove(client)
            self.lock.leave(client.agent, client.listened_at or time.monotonic())
            for container in self.containers.values():
                if client.containers_end_too and not container.ended:
                    container.signal(signal.SIGKILL)
            return
        for line in lines:
            self._answer(client, line)

    def _answer(self, client: Client, line: bytes) -> None:
        request: dict[str, Any] = {}
        try:
            request = json.loads(line)
            result = getattr(self, f"do_{request['op']}")(client, request)
            answer: dict[str, Any] = {"ok": result}
        except children.StartError as error:
            answer = {"error": str(error), "step": error.step}
        except Exception as error:  # one bad request must not end the parent of all containers
            answer = {"error": f"{type(error).__name__}: {error}", "step": "request"}
        if "error" in answer or answer["ok"] is not None:
            client.send({"number": request.get("number"), **answer})

    def do_list(self, client: Client, request: dict[str, Any]) -> dict[str, Any]:
        """Every container that was not removed; whether they are to end with this connection."""
        client.containers_end_too = bool(request.get("ends_with_agent"))
        client.agent = request.get("agent", "")
        self.lock.come_back(client.agent)
        return {"containers": [containers.describe(one) for one in self.containers.values()]}

    def do_start(self, _client: Client, request: dict[str, Any]) -> dict[str, Any]:
        """Run a container; one that is known is not run again."""
        known = self.containers.get(request["id"])
        if known is not None:
            return containers.describe(known)
        try:
            record = children.start_container(request, self.records, self.boot, time.time())
        except BaseException:
            records.remove(self.records, request["id"])
            if request.get("cgroup"):
                self.groups_left[request["cgroup"]] = request["cgroup_top"]
                self._remove_groups_left()
            raise
        container = self.containers[request["id"]] = Container(record, self.home, child=True)
        self.by_pid[record["pid"]] = container
        return containers.describe(container)

    def do_exec(self, client: Client, request: dict[str, Any]) -> dict[str, Any] | None:
        """Run a command in a container; the answer comes when it has ended.

        One with a name is run once, also if an agent that has restarted asks again: that one waits for it.
        """
        container, once = self.containers[request["id"]], request.get("once") or ""
        if container.ended or container.main_gone:
            raise children.StartError("container", "the container is not running")
        begun = container.record["once"]
        if once and once in begun:
            for command in self.execs.values():
                if (command.container, command.once) == (container.id, once):
                    command.waiting.append((client, request["number"]))
                    return None
            if begun[once] is None:
                raise children.StartError(once, "it was begun, and how it ended is lost; it is not repeated")
            return dict(begun[once])
        if once:
            self._remember(container, once, None)
        record = container.record
        if request.get("outside"):
            record = {**record, "view": False, "user": None, "cwd": "/"}
        pid, output = children.start_exec(request, record)
        deadline = time.monotonic() + request["timeout"]
        waiting = [(client, request["number"])]
        self.execs[pid] = Exec(pid, output, deadline, waiting, container.id, once)
        self.selector.register(output, selectors.EVENT_READ, lambda: self.execs[pid].collect(self.selector))
        return None

    def do_signal(self, _client: Client, request: dict[str, Any]) -> dict[str, Any]:
        """Send a signal; to one that is gone nothing is sent, and SIGTERM is sent once."""
        container, number = self.containers.get(request["id"]), request["signal"]
        if container is not None and (number != signal.SIGTERM or "TERM" not in container.record["once"]):
            if number == signal.SIGTERM:
                self._remember(container, "TERM", {})
            container.signal(number)
        return {}

    def _remember(self, container: Container, once: str, result: dict[str, Any] | None) -> None:
        """What was done to a container once, also for the next supervisor."""
        container.record["once"][once] = result
        try:
            records.write(self.records, container.record)
        except OSError as error:
            self._log(f"{container.id}: {once} is not on disk: {error}")

    def do_remove(self, _client: Client, request: dict[str, Any]) -> dict[str, Any]:
        """Forget a container that has ended."""
        container = self.containers.get(request["id"])
        if container is not None:
            if not container.ended:
                raise children.StartError("container", "the container is still running")
            del self.containers[container.id]
        records.remove(self.records, request["id"])
        return {}

    def do_hold(self, client: Client, request: dict[str, Any]) -> dict[str, Any]:
        """Hold the lock whose descriptor came with the request, close it, or say where it stands."""
        return self.lock.answer(client, request, time.monotonic())

    do_holds = do_release = do_hold

    def _reap(self) -> None:
        """Take the exit codes of children.

        A container without a cgroup stays a zombie until its other processes are gone: as long as it does,
        its PID, by which they are found, cannot become a stranger's.
        """
        for pid, container in list(self.by_pid.items()):
            if _ended(os.P_PID, pid) and (container.record["cgroup"] or container.emptied()):
                container.code, container.main_gone = _reaped(pid), True
                del self.by_pid[pid]
            elif not container.record["cgroup"]:
                container.dying = bool(_ended(os.P_PID, pid))
        for pid in list(self.execs):
            if _ended(os.P_PID, pid):
                self._finish(self.execs.pop(pid), _reaped(pid))
        # One of those above may have ended since; its signal wakes us again.
        while (pid := _ended(os.P_ALL, 0)) and pid not in self.by_pid and pid not in self.execs:
            _reaped(pid)  # an orphan that a container left, which nobody asks for

    def _finish(self, command: Exec, code: int) -> None:
        result = command.finish(self.selector, code)
        if command.once and (container := self.containers.get(command.container)) is not None:
            self._remember(container, command.once, result)
        for client, number in command.waiting:
            if client in self.clients:
                client.send({"number": number, "ok": result})

    def _settle(self) -> None:
        """When the first process of a container ends, all others end with it: only then is it over."""
        for container in self.containers.values():
            if not container.main_gone or container.ended or not container.settled():
                continue
            record = container.record
            record["exit"] = {"code": container.code, "finished_at": time.time()}
            if record["cgroup"]:
                cgroups.remove(record["cgroup"], record.get("cgroup_top") or record["cgroup"])
            try:
                records.write(self.records, record)
            except OSError as error:
                self._log(f"{container.id}: its end is not on disk: {error}")
            for client in list(self.clients):
                client.send({"event": "ended", **containers.describe(container)})

    def _remove_groups_left(self) -> None:
        """Of a start that was given up the child may still be there: its group can go only after it."""
        for group, top in list(self.groups_left.items()):
            if cgroups.remove(group, top):
                del self.groups_left[group]

    def _follow(self, container: Container) -> None:
        def ended() -> None:
            self.selector.unregister(container.pidfd)
            os.close(container.pidfd)
            container.pidfd, container.main_gone = -1, True

        self.selector.register(container.pidfd, selectors.EVENT_READ, ended)

    def _look_at_logs(self) -> None:
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + _LOG_CHECK_SECONDS
        for container in self.containers.values():
            if not container.ended:
                with contextlib.suppress(OSError):  # such as a full disk: the times are the price
                    container.marks.look(rotate(container.record["log"]), time.time())

    def _log(self, text: str) -> None:
        with contextlib.suppress(OSError):  # its log may be on the disk that is full
            os.write(sys.stderr.fileno(), f"{text}\n".encode())


def _ended(kind: int, pid: int) -> int:
    """The PID of a child that has ended and is still to be reaped, or 0."""
    try:
        found = os.waitid(kind, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found is not None else 0


def _reaped(pid: int) -> int:
    """The child's exit code, as a shell has it: 128 and more for a signal."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return 128 - code if code < 0 else code
