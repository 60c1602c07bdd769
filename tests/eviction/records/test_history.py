"""The lines that past turns leave."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eviction.dialects.given import FIRST, LAST, NOW, SECOND, at
from vacate.api.types.evictionrequest import MAX_INTERCEPTORS, MAX_MESSAGE
from vacate.eviction.records.history import PastTurn, TurnResult, read_history, write_history

pytestmark = pytest.mark.unit

TEXT = (
    "first.example.com 2026-03-01T11:59:00.250017Z completed 2026-03-01T12:00:00.250017Z\n"
    "second.example.com 2026-03-01T12:00:00.250017Z never-responded 2026-03-01T12:30:00.250017Z"
)
TURNS = [
    PastTurn(FIRST, at(minutes=-1), TurnResult.COMPLETED, NOW),
    PastTurn(SECOND, NOW, TurnResult.NEVER_RESPONDED, at(minutes=30)),
]


def test_one_line_for_each_turn() -> None:
    assert write_history(TURNS) == TEXT
    assert read_history(TEXT) == TURNS


def test_nothing_happened_yet() -> None:
    assert write_history([]) == ""
    assert read_history("") == []


@pytest.mark.parametrize(
    "line",
    [
        "The first interceptor has been asked.",
        "a b c d",
        "a 2026-03-01T12:00:00Z vanished 2026-03-01T12:00:00Z",
        "a 2026-03-01T12:00:00 completed 2026-03-01T12:00:00Z",
        "a 2026-03-01T12:00:00Z completed",
        "",
    ],
)
def test_lines_of_another_form_are_passed_over(line: str) -> None:
    assert read_history(f"{line}\n{TEXT}\n{line}") == TURNS


TIMES = st.integers(0, 10**15).map(lambda micros: NOW + dt.timedelta(microseconds=micros))
NAMES = st.from_regex(r"\A[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?\Z")
MESSAGES = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=40)
PAST = st.builds(PastTurn, NAMES, TIMES, st.sampled_from(TurnResult), TIMES, MESSAGES)


@given(st.lists(PAST, max_size=12))
def test_what_is_written_is_read_again_to_the_microsecond(turns: list[PastTurn]) -> None:
    assert read_history(write_history(turns)) == turns


def test_the_oldest_go_where_there_is_no_room_for_all() -> None:
    names = [f"{number:03}." + "x" * 249 for number in range(2 * MAX_INTERCEPTORS)]
    turns = [PastTurn(name, NOW, TurnResult.NEVER_RESPONDED, NOW) for name in names]
    text = write_history(turns)
    assert len(text) <= MAX_MESSAGE
    kept = read_history(text)
    assert kept == turns[-len(kept) :]
    assert len(kept) > 90


def test_messages_go_before_turns_do() -> None:
    turns = [PastTurn(LAST, NOW, TurnResult.FAILED, NOW, "x" * 256) for _ in range(MAX_INTERCEPTORS)]
    kept = read_history(write_history(turns))
    assert len(kept) == MAX_INTERCEPTORS
    assert not kept[0].message
    assert kept[-1].message


def test_as_many_as_fit_are_kept() -> None:
    turn = PastTurn(LAST, NOW, TurnResult.POD_GONE, NOW)
    fitting = MAX_MESSAGE // (len(str(turn)) + 1)
    assert len(read_history(write_history([turn] * (fitting + 5)))) == fitting
