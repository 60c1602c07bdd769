"""Which steps a status may take, for any two states: the rules of turns, heartbeats and endings."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedded.registry.cases_evictionrequests import condition
from embedded.registry.given import NOW, context, stored
from support.effort import examples
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time, parse_time
from vacate.embedded.registry.strategies import strategy_for

pytestmark = pytest.mark.unit

STRATEGY = strategy_for(KIND)
NAMES = ("third.example.com", "second.example.com", "first.example.com")
TURNS = (None, *reversed(NAMES))
SECOND = dt.timedelta(seconds=1)
TOLERANCE = 10 * SECOND
DEADLINE = 1800 * SECOND


def moments() -> st.SearchStrategy[str]:
    near = st.sampled_from([-3600, -1801, -1791, -1790, -1789, -70, -61, -60, -11, -10, -1, 0, 1, 10, 11, 60])
    return near.map(lambda seconds: format_exact_time(NOW + seconds * SECOND))


@st.composite
def statuses(draw: st.DrawFn) -> Obj:
    """A status as somebody might write it."""
    status: Obj = {"message": draw(st.sampled_from(["", "well"]))}
    status["evictionRequestCancellationPolicy"] = draw(st.sampled_from(["Allow", "Forbid"]))
    if name := draw(st.sampled_from([*TURNS, "stranger.example.com"])):
        status["activeInterceptorName"] = name
    if draw(st.booleans()):
        status["activeInterceptorCompleted"] = draw(st.booleans())
    if draw(st.booleans()):
        status["heartbeatTime"] = draw(moments())
    if draw(st.booleans()):
        status["podEvictionStatus"] = {"failedAPIEvictionCounter": draw(st.integers(0, 3))}
    if draw(st.integers(0, 3)) == 0:
        reason = draw(st.sampled_from(["PodDeleted", "PodTerminated", "Cancelled"]))
        status["conditions"] = [condition("Complete", reason=reason)]
    return status


def a_request(status: Obj, *, interceptors: bool = True) -> Obj:
    obj = stored(KIND)
    obj["spec"]["interceptors"] = [{"name": name} for name in NAMES] if interceptors else []
    obj["status"] = status
    return obj


def allowed(old: Obj, status: Obj) -> bool:
    new = copy.deepcopy(old)
    new["status"] = copy.deepcopy(status)
    ctx = context("status")
    STRATEGY.default(new, ctx)
    STRATEGY.prepare_update(new, old, ctx)
    return STRATEGY.validate_update(new, old, ctx) == []


def moment(status: Obj) -> dt.datetime | None:
    text: Any = status.get("heartbeatTime")
    return parse_time(text) if text else None


def complete(status: Obj) -> bool:
    return bool(status.get("conditions"))


@settings(max_examples=examples(400), deadline=None)
@given(statuses(), statuses(), st.booleans())
def test_no_step_breaks_the_contract(before: Obj, after: Obj, interceptors: bool) -> None:
    old = a_request(before, interceptors=interceptors)
    if not allowed(old, after):
        return
    if complete(before):
        assert after == before
        return
    _holds_for_turns(old, before, after)
    _holds_for_heartbeats(before, after)
    failed = [one.get("podEvictionStatus", {}).get("failedAPIEvictionCounter", -1) for one in (before, after)]
    assert failed[0] <= failed[1]
    if complete(after):
        assert "activeInterceptorName" not in after
        forbidden = after["evictionRequestCancellationPolicy"] == "Forbid"
        assert not (forbidden and after["conditions"][0]["reason"] == "Cancelled")


def _holds_for_turns(old: Obj, before: Obj, after: Obj) -> None:
    turn, next_ = before.get("activeInterceptorName"), after.get("activeInterceptorName")
    completed = [one.get("activeInterceptorCompleted", False) for one in (before, after)]
    listed = bool(old["spec"]["interceptors"])
    if next_ == turn:
        if turn is None and listed:
            assert not completed[1]
            assert before.get("heartbeatTime") or not after.get("heartbeatTime")
        elif not complete(after):
            assert completed[0] <= completed[1]
        return
    if next_ is None:
        assert complete(after)
        return
    # The turn goes to the very next one, when the one before is done or was silent for too long.
    assert listed
    assert TURNS.index(next_) == TURNS.index(turn) + 1
    assert not completed[1]
    assert NOW - (moment(after) or NOW) <= 60 * SECOND
    assert moment(after) is not None
    silent_since = moment(before) or NOW - 3600 * SECOND
    assert turn is None or completed[0] or silent_since + DEADLINE - TOLERANCE <= NOW


def _holds_for_heartbeats(before: Obj, after: Obj) -> None:
    was, is_ = moment(before), moment(after)
    if was is not None:
        assert is_ is not None
        # The controller sets back what lies in the future.
        assert is_ >= (NOW if was > NOW + TOLERANCE and is_ != was else was) - TOLERANCE
    if is_ is not None and is_ != was:
        assert is_ <= NOW + TOLERANCE


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2), moments(), st.booleans())
@example(1, format_exact_time(NOW - 1790 * SECOND), False)
def test_a_turn_passes_on_exactly_when_it_may(turn: int, heartbeat: str, completed: bool) -> None:
    before: Obj = {"message": "", "evictionRequestCancellationPolicy": "Allow", "heartbeatTime": heartbeat}
    before |= {"activeInterceptorName": TURNS[turn + 1], "activeInterceptorCompleted": completed}
    began = format_exact_time(max(NOW, parse_time(heartbeat)))
    after = {**before, "activeInterceptorCompleted": False, "heartbeatTime": began}
    after["activeInterceptorName"] = TURNS[(turn + 2) % len(TURNS)] or NAMES[-1]
    may = completed or parse_time(heartbeat) + DEADLINE - TOLERANCE <= NOW
    readable = parse_time(began) <= NOW + TOLERANCE or began == heartbeat
    assert allowed(a_request(before), after) == (may and turn < 2 and readable)


@pytest.mark.parametrize("seconds", [-10, 0, 10])
def test_honest_clocks_differ(seconds: int) -> None:
    before = {"message": "", "evictionRequestCancellationPolicy": "Allow", "activeInterceptorName": NAMES[-1]}
    old = a_request({**before, "heartbeatTime": format_exact_time(NOW)})
    assert allowed(old, {**before, "heartbeatTime": format_exact_time(NOW + seconds * SECOND)})
