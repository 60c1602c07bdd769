"""elogind on a bus of its own: logind's interface without systemd, in a mount namespace of its own.

    python -m hack.logindlab.elogind PLACE BUS SECONDS        runs until it is killed

PLACE and BUS are empty folders. The bus will be in the second as `system_bus_socket`, beside `log`, and
`off` when the machine would have gone down. SECONDS is how long shutdowns may be delayed. Processes keep
their numbers, so that elogind sees its clients.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from hack.nodelab.chroot import Chroot, mount
from hack.nodelab.packages import root_of

SOCKET, OFF, LOG = "system_bus_socket", "off", "log"
PACKAGES = ("elogind", "dbus-daemon", "mount")
_BUS = "/run/dbus"
_PROGRAM = "/usr/lib/elogind/elogind"
_START_SECONDS = 60.0
_DIES_WITH_ITS_PARENT = ("setpriv", "--pdeathsig", "KILL")
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_LOG_TARGET": "console"}

# Every client of this bus may do everything: it has no other clients than those of a test.
_CONFIG = f"""\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={_BUS}/{SOCKET}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
  </policy>
</busconfig>
"""
_POWER_OFF = f"#!/bin/sh\ndate +%s.%N > {_BUS}/{OFF}.new; mv {_BUS}/{OFF}.new {_BUS}/{OFF}\n"


class Elogind:
    """Used in a mount namespace of its own. `place` is an empty folder."""

    def __init__(self, place: Path, packages: Path, bus: Path, delay_seconds: int) -> None:
        self._bus = bus
        self._children: list[subprocess.Popen[bytes]] = []
        chroot = self._chroot = Chroot(place)
        chroot.populate(packages)
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", chroot.root / "run")
        for name in ("dbus", "systemd", "user"):
            (chroot.root / "run" / name).mkdir()
        mount("--bind", bus, chroot.inside(Path(_BUS)))
        # It would make a hierarchy of control groups of its own, for which a namespace gives no right.
        mount("-t", "cgroup2", "cgroup2", chroot.root / "sys/fs/cgroup")
        (chroot.root / "etc/bus.conf").write_text(_CONFIG)
        (chroot.root / "etc/elogind").mkdir(exist_ok=True)
        settings = f"[Login]\nInhibitDelayMaxSec={delay_seconds}\nHandlePowerKey=ignore\n"
        (chroot.root / "etc/elogind/logind.conf").write_text(settings)
        (chroot.root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
        for name in ("poweroff", "halt", "reboot"):
            program = chroot.root / "usr/sbin" / name
            program.write_text(_POWER_OFF)
            program.chmod(0o755)
        chroot.close()

    def start(self) -> None:
        """Return when elogind answers."""
        self._begin("dbus-daemon", "--config-file=/etc/bus.conf", "--nofork", "--nopidfile")
        self._wait((self._bus / SOCKET).exists)
        self._begin(_PROGRAM)
        self._wait(self._answers)

    def restart_ended(self) -> None:
        """Start elogind again where it was killed: one that has powered off says nothing else any more."""
        if self._children[-1].poll() is not None:
            self._children.pop()
            self._begin(_PROGRAM)

    def ended(self) -> bool:
        """Whether one of them has ended by itself."""
        return any(one.poll() is not None for one in self._children)

    def _begin(self, *words: str) -> None:
        with (self._bus / LOG).open("ab") as log:
            command = [*_DIES_WITH_ITS_PARENT, *self._chroot.command(words)]
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_ENVIRONMENT
            )
        self._children.append(child)

    def _answers(self) -> bool:
        words = ("dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.login1",
                 "/org/freedesktop/login1", "org.freedesktop.DBus.Peer.Ping")  # fmt: skip
        done = subprocess.run(
            self._chroot.command(words), capture_output=True, check=False, timeout=100, env=_ENVIRONMENT
        )
        return done.returncode == 0

    def _wait(self, holds: object) -> None:
        assert callable(holds)
        end = time.monotonic() + _START_SECONDS
        while not holds():
            log = (self._bus / LOG).read_text("utf-8", "replace")
            if self.ended() or time.monotonic() > end:
                raise OSError(f"elogind does not run:\n{log}")
            time.sleep(0.05)


def main() -> None:
    place, bus = map(Path, sys.argv[1:3])
    # What is mounted below the place goes with the namespace. Nothing may be removed there: it has /dev.
    running = Elogind(place, root_of("elogind", PACKAGES), bus, int(sys.argv[3]))
    running.start()
    print("ready", flush=True)
    while not running.ended():
        time.sleep(0.1)
    sys.exit("elogind has ended by itself")


if __name__ == "__main__":
    main()
