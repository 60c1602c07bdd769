from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.ages import age, human_duration, since

pytestmark = pytest.mark.unit

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY
SPANS = [
    (-3, "<invalid>"), (-2, "<invalid>"), (-1.9, "0s"), (-1, "0s"), (0, "0s"), (1.9, "1s"), (119, "119s"),
    (2 * MINUTE, "2m"), (2 * MINUTE + 1, "2m1s"), (10 * MINUTE - 1, "9m59s"), (10 * MINUTE, "10m"),
    (10 * MINUTE + 59, "10m"), (3 * HOUR - 1, "179m"), (3 * HOUR, "3h"), (3 * HOUR + MINUTE, "3h1m"),
    (8 * HOUR - 1, "7h59m"), (8 * HOUR, "8h"), (48 * HOUR - 1, "47h"), (48 * HOUR, "2d"),
    (49 * HOUR, "2d1h"), (8 * DAY - 1, "7d23h"), (8 * DAY, "8d"), (2 * YEAR - 1, "729d"), (2 * YEAR, "2y"),
    (2 * YEAR + DAY, "2y1d"), (8 * YEAR - 1, "7y364d"), (8 * YEAR + DAY, "8y"),
]  # fmt: skip


@pytest.mark.parametrize(("seconds", "text"), SPANS)
def test_spans(seconds: float, text: str) -> None:
    assert human_duration(dt.timedelta(seconds=seconds)) == text


@given(st.timedeltas(min_value=dt.timedelta(0), max_value=dt.timedelta(days=36500)))
def test_spans_are_short(span: dt.timedelta) -> None:
    assert len(human_duration(span)) <= 6


def test_times_that_are_not_there_are_unknown() -> None:
    now = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert since(None, now) == since("", now) == age({}, now) == "<unknown>"
    assert since("2023-12-31T23:59:00Z", now) == "60s"
    assert age({"metadata": {"creationTimestamp": "2023-12-31T23:00:00.5+00:00"}}, now) == "59m"
