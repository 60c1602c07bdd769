"""The limit of a test begins after its fixtures: what many share is not set up in the time of the first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

HOOK = """
def pytest_timeout_set_timer(item, settings):
    print("limit of", settings.timeout)
"""
TESTS = """
import pytest

@pytest.fixture(scope="module")
def shared():
    print("set up")

@pytest.mark.timeout(77)
def test_first(shared):
    print("first")

def test_second(shared):
    print("second")
"""


@pytest.mark.thorough
def test_the_time_of_a_test_begins_after_its_fixtures(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(HOOK)
    (tmp_path / "test_some.py").write_text(TESTS)
    settings = Path(__file__).parents[1] / "pyproject.toml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-q", "-c", str(settings), "--rootdir", str(tmp_path), "."],
        capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path,
    )  # fmt: skip
    lines = [line.lstrip(".") for line in done.stdout.splitlines()]
    expected = ["set up", "limit of 77.0", "first", "limit of 600.0", "second"]
    assert [line for line in lines if line in expected] == expected, done.stdout + done.stderr
