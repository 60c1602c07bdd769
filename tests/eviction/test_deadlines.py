"""Deadlines, the ear that must have listened, and who is next."""

from __future__ import annotations

import datetime as dt

import pytest

from eviction.given import DEADLINE, FIRST, LAST, LONG_AGO, NOW, SECOND, ago, ahead, chain, process
from vacate.eviction.deadlines import CLOCK_TOLERANCE, deadline_of, next_turn, overdue_at
from vacate.eviction.model import EvictionState, Stage

pytestmark = pytest.mark.unit

SECOND_LONG = dt.timedelta(seconds=1)


def test_the_deadline_counts_from_the_heartbeat_and_else_from_the_creation() -> None:
    assert deadline_of(chain(heartbeat=ago(minutes=5))) == ago(minutes=5) + DEADLINE
    assert deadline_of(chain(heartbeat=None, created=ago(minutes=7))) == ago(minutes=7) + DEADLINE


@pytest.mark.parametrize("seconds", [600, 1800, 86_400])
def test_a_tenth_of_the_deadline_must_have_been_watched(seconds: int) -> None:
    deadline = dt.timedelta(seconds=seconds)
    silent = chain(deadline=deadline, heartbeat=LONG_AGO)
    assert overdue_at(silent, NOW, NOW) == NOW + deadline / 10
    lively = chain(deadline=deadline, heartbeat=NOW)
    assert overdue_at(lively, NOW, NOW) == NOW + deadline


@pytest.mark.parametrize(
    ("failed", "heartbeat", "waits_again"),
    [
        (1, ago(hours=5), False),
        (7, NOW - DEADLINE + CLOCK_TOLERANCE, False),
        (7, NOW - DEADLINE + CLOCK_TOLERANCE + SECOND_LONG, True),
        (0, ago(hours=5), True),
    ],
)
def test_who_was_given_up_before_a_restart_is_not_waited_for_again(
    failed: int, heartbeat: dt.datetime, waits_again: bool
) -> None:
    a_process = chain(active=LAST, heartbeat=heartbeat, failed_evictions=failed)
    watched = NOW + DEADLINE / 10
    assert overdue_at(a_process, NOW, NOW) == (watched if waits_again else heartbeat + DEADLINE)


@pytest.mark.parametrize("stage", [None, *Stage])
def test_no_stage_that_was_written_down_gives_anyone_up(stage: Stage | None) -> None:
    silent = chain(active=LAST, heartbeat=ago(hours=5), stage=stage)
    assert overdue_at(silent, NOW, NOW) == NOW + DEADLINE / 10


def test_a_heartbeat_from_the_future_counts_for_ten_seconds_ahead_at_most() -> None:
    assert overdue_at(chain(heartbeat=ahead(hours=9)), LONG_AGO, NOW) == NOW + CLOCK_TOLERANCE + DEADLINE
    assert overdue_at(chain(heartbeat=ahead(seconds=9)), LONG_AGO, NOW) == ahead(seconds=9) + DEADLINE


@pytest.mark.parametrize(
    ("a_process", "expected"),
    [
        (process(), None),
        (process(FIRST, SECOND), FIRST),
        (chain(active=FIRST), SECOND),
        (chain(active=SECOND), LAST),
        (chain(active=LAST), None),
        (chain(active="stranger.example.com"), None),
    ],
)
def test_the_next_turn_is_the_next_of_the_list(a_process: EvictionState, expected: str | None) -> None:
    assert next_turn(a_process) == expected


def test_honest_clocks_are_at_most_ten_seconds_apart() -> None:
    assert dt.timedelta(seconds=10) == CLOCK_TOLERANCE
