"""Start such a machine, run commands in it, shut it down. Nothing of it is left afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

BOOT = Path(__file__).with_name("boot.sh")
REPOSITORY = Path(__file__).resolve().parents[2]
SYSTEMD = Path("/lib/systemd/systemd")
BUS = "/run/dbus/system_bus_socket"
_PROGRAMS = ("unshare", "nsenter", "setpriv", "pivot_root", "chroot", "dbus-daemon", "busctl")


def cgroup2() -> Path | None:
    """Where the unified hierarchy is mounted, if it is."""
    for line in Path("/proc/mounts").read_text("utf-8").splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    return None


def missing() -> str:
    """What this machine lacks for it, or nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a logind in namespaces needs root on Linux"
    absent = [name for name in _PROGRAMS if not shutil.which(name)]
    if absent or not SYSTEMD.exists() or not SYSTEMD.with_name("systemd-logind").exists():
        return f"a logind in namespaces needs systemd, dbus and {', '.join(absent) or 'systemd-logind'}"
    tree = cgroup2()
    if tree is None or not os.access(tree, os.W_OK):
        return "a logind in namespaces needs a cgroup2 hierarchy that can be written"
    if subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False
    ).returncode:
        return "a logind in namespaces needs the right to make namespaces, which root does not have here"
    return ""


class LogindMachine:
    """PID 1 is systemd; the network is the machine's own."""

    def __init__(self, scratch: Path, shared: Path) -> None:
        tree = cgroup2()
        assert tree is not None
        self.shared = shared
        self._group = tree / f"vacate-logind-{os.getpid()}-{scratch.stat().st_ino}"
        self._group.mkdir()
        self._console: IO[bytes] = (shared / "console.log").open("ab")
        enter = f'echo $$ > "{self._group}/cgroup.procs"; exec "$@"'
        self.process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL", "sh", "-c", enter, "sh"),
                *("unshare", "--cgroup", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"),
                *("sh", str(BOOT), str(scratch), str(shared), str(REPOSITORY)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._console,
            stderr=self._console,
        )
        self._first = 0

    @property
    def console(self) -> str:
        """What systemd printed."""
        return (self.shared / "console.log").read_text("utf-8", "replace")

    @property
    def up(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def wait_up(self, seconds: float = 110.0) -> LogindMachine:
        """Return when logind answers."""
        end = time.monotonic() + seconds
        while not self._answers():
            assert self.up, self.console
            assert time.monotonic() < end, self.console
            time.sleep(0.1)
        return self

    def wait_off(self, seconds: float = 60.0) -> None:
        """Return when it has gone down."""
        self.process.wait(seconds)

    def enter(self, *command: str) -> list[str]:
        """The command line that runs a command inside."""
        return [
            *("nsenter", "--target", str(self._init()), "--mount", "--pid", "--uts", "--ipc", "--cgroup"),
            *("--root", "--wd=/", "--", *command),
        ]

    def run(self, *command: str, check: bool = True) -> str:
        """What a command prints inside."""
        done = subprocess.run(
            self.enter(*command), capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def logind(self, method: str, *arguments: str) -> str:
        """Call a method of logind's manager."""
        place = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
        return self.run("busctl", "call", *place, method, *arguments)

    def power_off(self) -> None:
        """Ask for it; without a lock it is down before the answer comes."""
        place = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
        self.run("busctl", "call", *place, "PowerOff", "b", "false", check=False)

    def property(self, name: str) -> str:
        """A property of logind's manager."""
        place = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
        return self.run("busctl", "get-property", *place, name).split(maxsplit=1)[1].strip()

    def inhibitors(self) -> list[str]:
        """Who holds a delay lock against shutdown."""
        lines = self.run("systemd-inhibit", "--list", "--no-legend", "--no-pager").splitlines()
        return [line.split()[0] for line in lines if " shutdown " in line and line.rstrip().endswith("delay")]

    def close(self) -> None:
        """End it, however far it came, and remove its group."""
        self.process.kill()
        self.process.wait(60)
        self._console.close()
        self._kill_group()

    def _kill_group(self) -> None:
        end = time.monotonic() + 60
        while self._group.exists():
            (self._group / "cgroup.kill").write_text("1")
            try:
                for folder in sorted(self._group.rglob("*"), reverse=True):
                    if folder.is_dir():
                        folder.rmdir()
                self._group.rmdir()
            except OSError:
                assert time.monotonic() < end, f"{self._group} cannot be removed"
                time.sleep(0.05)

    def _answers(self) -> bool:
        if not self._init():
            return False
        done = subprocess.run(
            self.enter("busctl", "--timeout=2", "get-property", "org.freedesktop.login1",
                       "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PreparingForShutdown"),
            capture_output=True, check=False, timeout=100,
        )  # fmt: skip
        return done.returncode == 0

    def _init(self) -> int:
        """PID 1 of the namespaces, as this machine numbers it: the child of unshare, once it is systemd."""
        if not self._first:
            try:
                children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(
                    "ascii"
                )
                for child in children.split():
                    if Path(f"/proc/{child}/comm").read_text("utf-8").strip() == "systemd":
                        self._first = int(child)
            except FileNotFoundError:
                return 0
        return self._first
