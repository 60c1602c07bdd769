"""A further kind of workload is one row: its pods are registered, early and late, and reach the webhook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]


@pytest.mark.sim
def test_a_kind_of_workload_is_one_row() -> None:
    path = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-m", "support.added_workload"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *outcomes, condition = done.stdout.splitlines()
    assert outcomes == [
        "registered after its workload was opted in",
        "registered when it is created",
        "no longer registered",
    ]
    assert "['ReplicaSet', 'StatefulSet', 'Job']" in condition
