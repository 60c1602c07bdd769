"""Texts of every script in the columns of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.cli.common.text import columns_of, cut, padded

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
