"""A quick run takes the first cases of a test or file that repeats itself, and says how many it left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.effort import VARIABLE

pytestmark = pytest.mark.process

CASES = """
import pytest

@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.thorough), 1, 2, 3, 4])
def test_repeats(number):
    pass

@pytest.mark.thorough
def test_long():
    pass

def test_short():
    pass

@pytest.mark.parametrize("number", range(20))
def test_table(number):
    pass
"""

ONE_IN_MANY = """
import pytest

@pytest.mark.thorough(beyond=2, each=4)
@pytest.mark.parametrize("number", range(80))
def test_large(number):
    pass
"""

FILE = """
import pytest

pytestmark = pytest.mark.thorough(beyond=1)

def test_first():
    pass

def test_second():
    pass
"""


@pytest.mark.parametrize(("thorough", "runs", "left_out"), [("", 12, "and 17 tests"), ("1", 29, "")])
def test_cases_beyond_a_number_are_for_thorough_runs(
    tmp_path: Path, thorough: str, runs: int, left_out: str
) -> None:
    (tmp_path / "test_some.py").write_text(CASES)
    (tmp_path / "test_others.py").write_text(FILE)
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "--collect-only", "-q"]
    done = subprocess.run(
        [*command, "-o", f"pythonpath={here}", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, timeout=100, check=True, cwd=here,
        env={**os.environ, VARIABLE: thorough},
    )  # fmt: skip
    assert len(re.findall(r"::test_", done.stdout)) == runs, done.stdout
    assert left_out in done.stdout
    assert ("test_table[0]" in done.stdout) is bool(thorough)
    assert "test_table[19]" in done.stdout
    assert ("left out" in done.stdout) is bool(left_out)


@pytest.mark.parametrize(("named", "at_least", "at_most"), [(False, 8, 40), (True, 80, 80)])
def test_of_a_large_table_a_thorough_run_takes_a_part_and_all_where_it_is_named(
    tmp_path: Path, named: bool, at_least: int, at_most: int
) -> None:
    (tmp_path / "test_some.py").write_text(ONE_IN_MANY)
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "--collect-only", "-q"]
    done = subprocess.run(
        [*command, "-o", f"pythonpath={here}", "--rootdir", str(tmp_path), "test_some.py" if named else "."],
        capture_output=True, text=True, timeout=100, check=True, cwd=tmp_path,
        env={**os.environ, VARIABLE: "1"},
    )  # fmt: skip
    assert at_least <= len(re.findall(r"::test_", done.stdout)) <= at_most, done.stdout
