"""How many requests may be under way after a pause: one, and more with each good answer."""

from __future__ import annotations

import pytest

from vacate.runtime.slowstart import SUCCESSES_PER_STEP, UNLIMITED_ABOVE, SlowStart

pytestmark = pytest.mark.unit


def burst(slow: SlowStart, count: int) -> int:
    """So many leave together; what is given back with their answers."""
    for _ in range(count):
        slow.take()
    return slow.sent()


def good(slow: SlowStart, answers: int) -> None:
    for _ in range(answers):
        slow.take()
        slow.answered(slow.sent())
        slow.leave()


def refuse(slow: SlowStart, count: int) -> None:
    """A burst of so many, of which all are refused."""
    sent = burst(slow, count)
    for _ in range(count):
        slow.refused(sent)
        slow.leave()


def test_without_a_refusal_there_is_no_limit() -> None:
    slow = SlowStart()
    burst(slow, 10_000)
    assert slow.has_room
    assert slow.width is None


def test_after_a_refusal_one_goes_alone() -> None:
    slow = SlowStart()
    refuse(slow, 40)
    assert slow.width == 1
    room = [slow.has_room]
    slow.take()
    room.append(slow.has_room)
    slow.leave()
    assert [*room, slow.has_room] == [True, False, True]


def test_it_grows_with_each_answer_to_half_of_what_was_too_much_and_slowly_from_there() -> None:
    slow = SlowStart()
    refuse(slow, 8)
    good(slow, 3)
    assert slow.width == 4
    good(slow, SUCCESSES_PER_STEP - 1)
    assert slow.width == 4
    good(slow, 1)
    assert slow.width == 5


def test_where_there_is_room_for_one_two_are_tried_seldom() -> None:
    slow = SlowStart()
    refuse(slow, 25)
    good(slow, 1)
    refuse(slow, 2)
    good(slow, SUCCESSES_PER_STEP - 1)
    assert slow.width == 1
    good(slow, 1)
    assert slow.width == 2


def test_those_that_were_refused_together_count_once() -> None:
    slow = SlowStart()
    sent = burst(slow, 10)
    slow.refused(sent)
    for _ in range(9):
        slow.leave()
        slow.refused(sent)  # by then fewer are under way
    slow.leave()
    good(slow, 4)
    assert slow.width == 5


def test_answers_to_what_was_sent_before_the_refusal_say_nothing_about_the_time_after() -> None:
    slow = SlowStart()
    sent = burst(slow, 30)
    slow.refused(sent)
    for _ in range(29):
        slow.answered(sent)
    assert slow.width == 1


def test_in_the_end_the_limit_is_lifted() -> None:
    slow = SlowStart()
    refuse(slow, 2)
    good(slow, UNLIMITED_ABOVE * SUCCESSES_PER_STEP)
    assert slow.width is None
