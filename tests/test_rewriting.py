"""Workers divide the test files of a fresh checkout, and pytest reads what they have rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, get_cache_dir

from support.rewriting import rewrite, share

pytestmark = pytest.mark.unit


def test_every_file_is_in_one_share(tmp_path: Path) -> None:
    files = [tmp_path / "deep" / f"test_{number}.py" for number in range(5)]
    files[0].parent.mkdir()
    for file in files:
        file.touch()
    shares = [share([str(tmp_path), f"{files[0]}::test_x"], number, 2) for number in range(2)]
    assert list(map(len, shares)) == [3, 2]
    assert sorted(shares[0] + shares[1]) == files


def test_pytest_reads_what_was_rewritten_until_the_file_changes(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("def test_it(): assert 1 == 2, 'no'\n")
    rewrite([file], pytestconfig)
    kept = get_cache_dir(file) / f"test_it{PYC_TAIL}"
    code = _read_pyc(file, kept)
    assert code is not None
    assert "@pytest_ar" in code.co_names
    file.write_text("def test_it(): assert 2 == 3, 'no'\n")
    assert _read_pyc(file, kept) is None
