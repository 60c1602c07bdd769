"""Forking: what happens in a child between fork and exec."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any

from vacate.nodeagent.runtime.supervisor import cgroups, procfs, records, views

Plan = dict[str, Any]

MAX_START = 10.0
"""Seconds that a child may take between fork and exec."""
GIVEN_UP = "start"
"""The step of a StartError where that was too long."""

_NAMED: dict[str, Callable[[Plan], str]] = {
    "program": lambda plan: str(plan["argv"][0]),
    "folder": lambda plan: str(plan["cwd"]),
}
"""Steps whose failure names what was not found or not allowed."""

_DEFAULTED = (signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXFSZ)
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class StartError(Exception):
    """The child ended before it ran the program; `step` says where: a folder, a mount, the program itself."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


def start_container(plan: Plan, folder: str, boot: str, now: float) -> Plan:
    """Fork the container and return its record, which the child wrote itself before it became the program."""
    record: Plan = {
        "id": plan["id"],
        "labels": plan.get("labels") or {},
        "boot": boot,
        "started_at": now,
        "cgroup": plan.get("cgroup") or "",
        "cgroup_top": plan.get("cgroup_top") or "",
        "log": plan["log"],
        "cwd": plan["cwd"],
        "view": bool(plan.get("view")),
        "user": plan.get("user"),
        "once": {},  # what was done to it and is not to be repeated
        "exit": None,
    }
    if record["cgroup"]:
        cgroups.create(record["cgroup"])

    def prepare(say: Callable[[str], None]) -> None:
        say("record")
        pid = os.getpid()
        record.update(pid=pid, start=procfs.start_time(pid))
        records.create(folder, record)
        say("log")
        _redirect(os.open(plan["log"], _LOG_FLAGS, 0o640))
        if plan.get("view"):
            say("view")
            views.enter_new(plan["view"])

    pid = _fork(plan, record["cgroup"], prepare)
    record.update(pid=pid, start=procfs.start_time(pid))
    return record


def start_exec(plan: Plan, record: Plan) -> tuple[int, int]:
    """Fork a command beside the container's processes; its PID, and where its output can be read."""
    reader, writer = os.pipe2(os.O_CLOEXEC)

    def prepare(say: Callable[[str], None]) -> None:
        _redirect(writer)
        if record["view"]:
            say("view")
            views.enter_existing(record["pid"])

    try:
        pid = _fork({"cwd": record["cwd"], "user": record["user"], **plan}, record["cgroup"], prepare)
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    os.set_blocking(reader, False)
    return pid, reader


def _fork(plan: Plan, cgroup: str, prepare: Callable[[Callable[[str], None]], None]) -> int:
    """Fork, prepare, exec; StartError where the child did not get as far as the program."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(plan, cgroup, prepare, writer)
    os.close(writer)
    try:
        answer = _read_all(reader)
    except TimeoutError:
        # Such as a volume whose file system does not answer: it must not hold up all other containers.
        os.kill(pid, signal.SIGKILL)
        raise StartError(GIVEN_UP, f"it did not get as far as the program within {MAX_START:g} s") from None
    finally:
        os.close(reader)
    if answer:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        failure = json.loads(answer)
        raise StartError(failure["step"], failure["message"])
    return pid


def _read_all(reader: int) -> bytes:
    """Everything up to the end, which comes when the child becomes the program, or TimeoutError."""
    poller, received = select.poll(), b""
    poller.register(reader, select.POLLIN)
    while True:
        if not poller.poll(MAX_START * 1000):
            raise TimeoutError
        chunk = os.read(reader, 4096)
        if not chunk:
            return received
        received += chunk


def _become(plan: Plan, cgroup: str, prepare: Callable[[Callable[[str], None]], None], failures: int) -> None:
    """In the child: never returns."""
    step = "group"

    def say(name: str) -> None:
        nonlocal step
        step = name

    try:
        os.setsid()
        if cgroup:
            cgroups.enter(cgroup)
        prepare(say)
        step = "folder"
        os.chdir(plan["cwd"])  # before: the pod's folder may lie below one that only root may enter
        step = "user"
        _drop_to(plan.get("user"))
        os.umask(0o022)
        step = "signals"
        signal.set_wakeup_fd(-1)
        for number in _DEFAULTED:
            signal.signal(number, signal.SIG_DFL)
        step = "program"
        os.execvpe(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606  that is what it is for
    except BaseException as error:  # whatever it is, the parent must hear of it
        message = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if step in _NAMED:
            message = f"{_NAMED[step](plan)}: {message}"
        with contextlib.suppress(OSError):
            os.write(failures, json.dumps({"step": step, "message": message}).encode())
    finally:
        os._exit(128)


def _drop_to(user: list[int] | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setgid(user[1])
        os.setuid(user[0])


def _redirect(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
