"""Tests that share a server stay together."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ONE_GROUP = """
import pytest

pytestmark = pytest.mark.xdist_group("one")

@pytest.mark.parametrize("number", range(8))
def test_together(number):
    pass
"""


@pytest.mark.thorough
def test_a_group_stays_on_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(ONE_GROUP)
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "-p", "support.groups"]
    here = Path(__file__).parent
    done = subprocess.run(
        [*command, "-o", f"pythonpath={here}", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, timeout=100, check=True, cwd=here,
    )  # fmt: skip
    assert re.search(r"\b8 passed", done.stdout), done.stdout
    assert len(set(re.findall(r"\[gw\d\]", done.stdout))) == 1, done.stdout
