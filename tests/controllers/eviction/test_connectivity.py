"""When silence counts: an outage moves the moment, a hiccup or a refusal does not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest

from vacate.cache.informer import Informer
from vacate.controllers.eviction.watchhealth import WatchHealth
from vacate.errors import Conflict, ServiceUnavailable, Timeout, TransportError

pytestmark = pytest.mark.unit

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LOST, BUSY, SLOW, NO = TransportError("lost"), ServiceUnavailable("busy"), Timeout("slow"), Conflict("no")
OK = None


class Watch:
    """The two things that are asked of an informer and of a clock."""

    def __init__(self) -> None:
        self.unbroken_since: dt.datetime | None = START
        self.at = 0.0

    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self.at)

    def monotonic(self) -> float:
        return self.at


async def answer(watch: Watch, takes: float, error: Exception | None) -> None:
    watch.at += takes
    if error is not None:
        raise error


Step = tuple[float, float, Exception | None]  # when it begins, how long it takes, how it ends


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], 0),
        ([(100, 1, OK)], 0),
        ([(100, 30, OK)], 0),
        ([(100, 60, NO)], 0),  # a refusal is an answer
        ([(100, 1, LOST)], 0),  # a hiccup
        ([(100, 10, LOST)], 110),
        ([(100, 60, SLOW)], 160),
        ([(100, 1, LOST), (105, 1, BUSY), (112, 1, LOST)], 113),  # short ones, but nothing else for long
        ([(100, 1, LOST), (105, 1, OK), (112, 1, LOST)], 0),
        ([(100, 1, LOST), (105, 1, NO), (112, 1, LOST)], 0),
        ([(100, 20, LOST), (130, 1, OK)], 120),
        ([(100, 20, LOST), (130, 1, OK), (200, 1, LOST)], 120),
    ],
)  # fmt: skip
async def test_what_counts_as_an_outage(steps: Sequence[Step], expected: float) -> None:
    watch: Any = Watch()
    listening = WatchHealth(watch, watch)
    for begins, takes, error in steps:
        watch.at = begins
        try:
            await listening.ask(answer(watch, takes, error))
        except Exception as raised:
            assert raised is error  # noqa: PT017  it is passed on as it came
    watch.at = 1000.0
    assert listening.since(watch.now()) == START + dt.timedelta(seconds=expected)


def test_nothing_counts_while_the_watch_is_broken() -> None:
    watch: Any = Watch()
    listening = WatchHealth(watch, watch)
    watch.at, watch.unbroken_since = 500.0, None
    assert listening.since(watch.now()) == watch.now()
    assert isinstance(Informer.unbroken_since, property)
