"""Texts of every script in the columns of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.cli.common.text import columns_of, cut, folded, padded, safe

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "columns"), [("web", 3), ("日本", 4), ("e\u0301", 1), ("Zoë", 3), ("🚀", 2)]
)
def test_columns(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    assert columns_of(padded(text, 10)) == 10


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_cut_text_fits(text: str, columns: int) -> None:
    shown = cut(text, columns)
    assert columns_of(shown) <= columns
    assert shown == text or shown.endswith("…")
    assert shown != text or columns_of(text) <= columns


@given(st.lists(st.text(max_size=12) | st.just("日本語"), max_size=20), st.integers(8, 40))
def test_a_folded_text_fits_and_loses_nothing(words: list[str], columns: int) -> None:
    text = safe(" ".join(words))
    lines = folded(text, columns)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        whole = len(line.split()) == 1 or "`" in line  # a word, or a command
        assert columns_of(line) <= columns or whole or (lines == [text] and not text.strip())


@pytest.mark.parametrize("columns", [10, 40, 60])
def test_a_folded_command_is_on_one_line(columns: int) -> None:
    command = "vacate explain held -n default"
    text = f"  pod/held is not evicted; the request continues; see: {command}"
    assert f"    {command}" in folded(text, columns)
