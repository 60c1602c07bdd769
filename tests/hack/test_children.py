"""Programs that are started never outlive the one who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hack.kubelab.children import end_child, start_child
from hack.kubelab.lock import Lock
from hack.kubelab.release import KubeError

pytestmark = pytest.mark.process

_PARENT = """
import time
from hack.kubelab.children import start_child
print(start_child(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def wait_gone(pid: int) -> None:
    end = time.monotonic() + 60
    while alive(pid):
        assert time.monotonic() < end, f"{pid} is still there"
        time.sleep(0.01)


def test_a_child_ends_with_its_killed_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        assert alive(child)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    wait_gone(child)


def test_a_child_that_does_not_listen_is_killed_with_its_group(tmp_path: Path) -> None:
    script = f"trap '' TERM; sleep 600 & echo $! > {tmp_path / 'pid'}; wait"
    child = start_child(["sh", "-c", script])
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.01)
    grandchild = int((tmp_path / "pid").read_text())
    end_child(child, 0.05)
    assert child.returncode == -signal.SIGKILL
    wait_gone(grandchild)


def test_a_lock_names_its_holder_and_keeps_others_out(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    assert lock.holder() == 0
    with lock.held():
        assert lock.holder() == os.getpid()
        with pytest.raises(KubeError), Lock(tmp_path / "lock").held():
            pass
    assert lock.holder() == 0
