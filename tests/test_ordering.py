"""Workers that only compute and workers that mostly wait: what each gets, by the parts of pytest-xdist."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ordering import dealt

Test = tuple[str, int, bool]
FILES = st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=20)


def cases_of(files: list[tuple[int, bool]]) -> list[Test]:
    return [
        (f"file {number}", test, waits)
        for number, (size, waits) in enumerate(files)
        for test in range(size)
    ]  # fmt: skip


def order(tests: list[Test], workers: int) -> list[Test]:
    return dealt(tests, workers, lambda test: test[0], lambda test: test[2])


@pytest.mark.unit
@given(FILES, st.integers(1, 8))
def test_every_test_is_dealt_once(files: list[tuple[int, bool]], workers: int) -> None:
    tests = cases_of(files)
    assert sorted(order(tests, workers)) == sorted(tests)


@pytest.mark.unit
@given(FILES, st.integers(3, 8))
def test_a_file_that_waits_stays_whole_and_in_its_order(files: list[tuple[int, bool]], workers: int) -> None:
    tests = cases_of(files)
    found = order(tests, workers)
    for test, after in itertools.pairwise(tests):
        if test[2] and after[0] == test[0]:
            assert found.index(after) == found.index(test) + 1


@pytest.mark.unit
def test_two_parts_never_wait_and_the_others_begin_with_a_share() -> None:
    tests = cases_of([(10, True), *[(10, False)] * 8, (10, True)])
    parts = [order(tests, 4)[start : start + 25] for start in range(0, 100, 25)]
    assert [[test[2] for test in part].count(True) for part in parts] == [10, 10, 0, 0]
    assert all(test[2] for part in parts[:2] for test in part[:10])


@pytest.mark.unit
def test_what_computes_for_minutes_is_first_in_every_part() -> None:
    tests = cases_of([(10, True), *[(10, False)] * 9])
    long = tests[60:64]
    found = dealt(tests, 4, lambda one: one[0], lambda one: one[2], lambda one: one in long)
    assert sorted(found) == sorted(tests)
    assert [found[start] for start in range(0, 100, 25)] == long
    assert all(test[2] for test in found[1:11])


@pytest.mark.unit
def test_two_workers_keep_the_order_of_the_folders() -> None:
    tests = cases_of([(3, False), (3, True), (3, False)])
    assert order(tests, 2) == tests


WAITING = "import pytest\n\n@pytest.mark.process\ndef test_waits():\n    pass\n"
COMPUTING = "def test_computes():\n    pass\n"
NOTES = """
import json
from pathlib import Path

def pytest_collection_finish(session):
    if worker := getattr(session.config, "workerinput", {}).get("workerid"):
        Path(__file__).with_name(worker).write_text(json.dumps([item.name for item in session.items]))
"""


@pytest.mark.thorough
@pytest.mark.process
def test_workers_run_what_waits_first(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(COMPUTING)
    (tmp_path / "test_b.py").write_text(WAITING)
    (tmp_path / "conftest.py").write_text(NOTES)
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-n", "3", "--dist", "worksteal", "-p", "conftest"]
    subprocess.run(
        [*command, "-o", f"pythonpath={here}", "-o", "markers=process", "--rootdir", tmp_path, tmp_path],
        capture_output=True, text=True, timeout=100, check=True, cwd=here,
    )  # fmt: skip
    found = [json.loads((tmp_path / worker).read_text()) for worker in ("gw0", "gw1", "gw2")]
    assert found == [["test_waits", "test_computes"]] * 3
