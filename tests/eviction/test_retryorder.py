"""Who goes first when a budget opens."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eviction.given import NOW, ago
from vacate.eviction.retryorder import Waiting, first_in_line

pytestmark = pytest.mark.unit

OLD, YOUNG = Waiting(ago(hours=2), "shop", "b"), Waiting(ago(hours=1), "shop", "a")
TWIN, OTHER_PLACE = Waiting(ago(hours=1), "shop", "c"), Waiting(ago(hours=1), "base", "z")
ALL = [TWIN, YOUNG, OTHER_PLACE, OLD]


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (0, []),
        (-1, []),
        (1, [OLD]),
        (2, [OLD, OTHER_PLACE]),
        (3, [OLD, OTHER_PLACE, YOUNG]),
        (9, [OLD, OTHER_PLACE, YOUNG, TWIN]),
    ],
)
def test_as_many_as_the_budget_allows_the_oldest_first(allowed: int, expected: list[Waiting]) -> None:
    assert first_in_line(ALL, allowed) == expected


WAITING = st.builds(
    Waiting,
    created=st.integers(0, 3).map(lambda hours: NOW - dt.timedelta(hours=hours)),
    namespace=st.sampled_from("ab"),
    name=st.sampled_from("xyz"),
)


@given(st.lists(WAITING, unique=True), st.integers(-1, 6))
def test_nobody_who_came_later_goes_before_one_who_waits_on(waiting: list[Waiting], allowed: int) -> None:
    woken = first_in_line(waiting, allowed)
    assert len(woken) == min(max(allowed, 0), len(waiting))
    left = [one for one in waiting if one not in woken]
    assert all(one.created <= other.created for one in woken for other in left)
