"""The cluster for a person: it comes, it goes, and nothing of it stays behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hack.kubelab.lock import Lock
from hack.kubelab.up import down

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("up")]


def programs_of(folder: Path) -> list[str]:
    """The processes whose command line names the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in command:
                found.append(command.replace(b"\0", b" ").decode())
    return found


def up(folder: Path, nodes: int) -> subprocess.CompletedProcess[str]:
    """As a person does it: the command returns, and the cluster runs on."""
    command = [sys.executable, "-m", "hack.kubelab.up", "up", "--dir", str(folder), "--nodes", str(nodes)]
    return subprocess.run(command, capture_output=True, text=True, timeout=230, check=False)


def wait_until_gone(folder: Path) -> None:
    end = time.monotonic() + 60
    while left := programs_of(folder):
        assert time.monotonic() < end, left
        time.sleep(0.05)


def test_up_and_down(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    assert f"export KUBECONFIG={folder}/kubeconfig" in up(folder, 2).stdout
    try:
        assert len(programs_of(folder)) == 6  # four of Kubernetes, the nodes, the supervisor
        assert "a cluster runs here already" in up(folder, 2).stderr
    finally:
        assert down(folder)
    assert not folder.exists()
    wait_until_gone(folder)
    assert not down(folder)


def test_a_killed_supervisor_takes_everything_along(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    assert up(folder, 1).returncode == 0
    try:
        os.kill(Lock(folder / "lock").holder(), signal.SIGKILL)
        wait_until_gone(folder)
    finally:
        down(folder)
    assert not folder.exists()


def test_a_program_that_does_not_start_is_shown_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for real in Path(os.environ["KUBEBUILDER_ASSETS"]).iterdir():
        (programs / real.name).symlink_to(real)
    broken = programs / "kube-scheduler"
    broken.unlink()
    broken.write_text("#!/bin/sh\necho my last words\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(programs))
    folder = tmp_path / "cluster"
    ended = up(folder, 1)
    assert ended.returncode == 1
    assert re.search(r"kube-scheduler ended with 3:\n.*\nmy last words", ended.stderr)
    wait_until_gone(folder)
