"""Child processes that never outlive their parent, however that ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def start_child(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] | None = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """A process in a group of its own: Ctrl-C reaches the parent alone, which ends its children in order.

    The kernel kills it when the thread that started it is gone, so this must be the main thread.
    """
    parent = os.getpid()

    def before_exec() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:  # it died before the kernel was asked
                os._exit(1)

    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=before_exec,  # noqa: PLW1509  the callers have one thread
    )


def end_child(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Ask the process to end, and end its whole group where it has not after so many seconds."""
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
    end_group(child)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Whatever is left of the process and its children is gone afterwards."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stderr is not None:
        child.stderr.close()
