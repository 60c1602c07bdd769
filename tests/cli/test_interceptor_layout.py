"""The rows of `vacate interceptors` on terminals of every width."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.cli.interceptors import interceptor_layout
from vacate.views.interceptors import InterceptorSummary

pytestmark = pytest.mark.unit

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NOW = T0 + dt.timedelta(seconds=3)
FOUND = [
    InterceptorSummary("absent.example.com", pods=2, turns=1, unanswered=1, accounts=()),
    InterceptorSummary(
        "backup.example.com",
        pods=1,
        active=1,
        turns=4,
        last_answer=T0,
        accounts=("system:serviceaccount:shop:a",),
    ),
]


def test_a_table_where_it_fits_and_in_a_pipe() -> None:
    table = interceptor_layout(FOUND, NOW)
    assert len(table) == 3
    assert interceptor_layout(FOUND, NOW, max(map(len, table))) == table


@pytest.mark.parametrize("width", [60, 78])
def test_a_narrow_terminal_shows_a_block_for_each(width: int) -> None:
    assert interceptor_layout(FOUND, NOW, width) == [
        "absent.example.com",
        "  NeverAnswered",
        "  pods 2, active 0, turns 1, unanswered 1, timed out 0",
        "  not bound to an account",
        "backup.example.com",
        "  Answers; last answer 3s ago",
        "  pods 1, active 1, turns 4, unanswered 0, timed out 0",
        "  bound to shop/a",
    ]
