"""What next? Every question of the engine, in the order in which they are asked."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eviction.given import (
    DEADLINE,
    FIRST,
    LAST,
    NOW,
    SECOND,
    ago,
    ahead,
    chain,
    moment,
    process,
    terminating_target,
)
from vacate.eviction.engine import TERMINATION_OVERDUE_AFTER, cancelled, decide
from vacate.eviction.model import (
    Action,
    AlreadyComplete,
    Assign,
    CompletionReason,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    EvictionState,
    Finish,
    Hold,
    Limits,
    NotAdmitted,
    Presence,
    ReadTarget,
    Stage,
    Target,
    Termination,
    Turn,
)

pytestmark = pytest.mark.unit

LIVE, GONE, UNSEEN = Target(), Target(Presence.GONE), Target(Presence.UNSEEN)
ENDED = Target(terminal=True)
LEAVING = terminating_target(seconds=20)
DAEMON = Target(unevictable="The pod belongs to a DaemonSet.")
GRACE_AWAITED = "The pod is terminating; waiting for its grace period to end."
OVERDUE_AT = ahead(seconds=20) + TERMINATION_OVERDUE_AFTER


# Which question comes first


@pytest.mark.parametrize(
    ("a_process", "target", "expected"),
    [
        # Over is over, whatever else holds.
        (process(complete=True, admitted=False), GONE, AlreadyComplete()),
        (process(complete=True), LIVE, AlreadyComplete()),
        (process(complete=True, requesters=()), ENDED, AlreadyComplete()),
        (chain(complete=True, heartbeat=ago(days=1)), LIVE, AlreadyComplete()),
        # What did not pass admission is not processed at all.
        (process(admitted=False), LIVE, NotAdmitted()),
        (process(admitted=False), GONE, NotAdmitted()),
        (process(admitted=False, requesters=()), UNSEEN, NotAdmitted()),
        # A cache that lacks the target proves nothing, not even for a cancelled request.
        (process(), UNSEEN, ReadTarget()),
        (process(requesters=()), UNSEEN, ReadTarget()),
        (chain(), UNSEEN, ReadTarget()),
        # Nobody is left to evict the target: that is over too, unless the target is gone or goes.
        (process(exhausted=True), LIVE, ReadTarget()),
        (process(exhausted=True), Target(live=True), Finish(CompletionReason.CANCELLED)),
        (process(exhausted=True), GONE, Finish(CompletionReason.POD_DELETED)),
        # The target's end comes before cancellation, and a deletion before an end.
        (process(), GONE, Finish(CompletionReason.POD_DELETED)),
        (process(requesters=()), GONE, Finish(CompletionReason.POD_DELETED)),
        (process(), Target(Presence.GONE, terminal=True), Finish(CompletionReason.POD_DELETED)),
        (process(), ENDED, Finish(CompletionReason.POD_TERMINATED)),
        (process(requesters=()), ENDED, Finish(CompletionReason.POD_TERMINATED)),
        (
            process(),
            Target(terminal=True, termination=LEAVING.termination),
            Finish(CompletionReason.POD_TERMINATED),
        ),
        (chain(), ENDED, Finish(CompletionReason.POD_TERMINATED)),
        (process(forbids_cancellation=True), GONE, Finish(CompletionReason.POD_DELETED)),
        (process(forbids_cancellation=True), ENDED, Finish(CompletionReason.POD_TERMINATED)),
        # Cancellation comes before everything that prepares the target's end.
        (process(requesters=()), LIVE, Finish(CompletionReason.CANCELLED)),
        (process(being_deleted=True), LIVE, Finish(CompletionReason.CANCELLED)),
        (process(requesters=()), LEAVING, Finish(CompletionReason.CANCELLED)),
        (process(FIRST, requesters=()), LIVE, Finish(CompletionReason.CANCELLED)),
        (chain(requesters=()), LIVE, Finish(CompletionReason.CANCELLED)),
        (chain(being_deleted=True), LIVE, Finish(CompletionReason.CANCELLED)),
        (process(requesters=(), failed_evictions=3), DAEMON, Finish(CompletionReason.CANCELLED)),
        # While the target is going nobody's turn comes and nothing is evicted.
        (process(FIRST), LEAVING, Hold(Stage.TERMINATING, GRACE_AWAITED, OVERDUE_AT)),
        (chain(active_completed=True), LEAVING, Hold(Stage.TERMINATING, GRACE_AWAITED, OVERDUE_AT)),
        (chain(heartbeat=ago(days=1)), LEAVING, Hold(Stage.TERMINATING, GRACE_AWAITED, OVERDUE_AT)),
        (process(), LEAVING, Hold(Stage.TERMINATING, until=OVERDUE_AT)),
        # One after the other.
        (process(FIRST, SECOND), LIVE, Assign(FIRST, Turn.FIRST)),
        (process(FIRST), DAEMON, Assign(FIRST, Turn.FIRST)),
        # None left, or none at all: the eviction.
        (process(), LIVE, Evict(recheck=False)),
        (process(LAST, active=LAST, active_completed=True), LIVE, Evict(recheck=True)),
        (process(), DAEMON, Hold(Stage.BLOCKED, DAEMON.unevictable)),
    ],
)
def test_the_first_question_that_is_answered_with_yes_decides(
    a_process: EvictionState, target: Target, expected: Action
) -> None:
    assert decide(a_process, target, moment()) == expected


# Cancellation


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"requesters": ()}, True),
        ({"being_deleted": True}, True),
        ({"requesters": (), "being_deleted": True}, True),
        ({"requesters": (), "forbids_cancellation": True}, False),
        ({"being_deleted": True, "forbids_cancellation": True}, False),
        ({"forbids_cancellation": True}, False),
    ],
)
def test_nobody_wants_it_any_more_unless_cancellation_is_forbidden(
    changes: dict[str, bool], expected: bool
) -> None:
    assert cancelled(process(**changes)) is expected


@pytest.mark.parametrize(
    ("a_process", "expected"),
    [
        (process(FIRST), Assign(FIRST, Turn.FIRST)),
        (chain(active_completed=True), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST)),
        (chain(heartbeat=ago(hours=1)), Assign(SECOND, Turn.PREVIOUS_TIMED_OUT, FIRST)),
        (process(), Evict(recheck=False)),
    ],
)
def test_what_may_not_be_cancelled_goes_on_as_if_nobody_had_asked(
    a_process: EvictionState, expected: Action
) -> None:
    wanted = decide(a_process, LIVE, moment())
    forbidden = replace(a_process, requesters=(), being_deleted=True, forbids_cancellation=True)
    assert decide(forbidden, LIVE, moment()) == wanted == expected


def test_what_may_be_cancelled_again_is_cancelled_then() -> None:
    allowed = process(FIRST, requesters=(), forbids_cancellation=False)
    assert decide(allowed, LIVE, moment()) == Finish(CompletionReason.CANCELLED)


# Turns


@pytest.mark.parametrize(
    ("active", "following"), [(FIRST, SECOND), (SECOND, LAST)], ids=["from the first", "from the second"]
)
def test_a_completed_turn_passes_to_the_next_at_once(active: str, following: str) -> None:
    done = chain(active=active, active_completed=True, heartbeat=NOW)
    assert decide(done, LIVE, moment()) == Assign(following, Turn.PREVIOUS_COMPLETED, active)


@pytest.mark.parametrize("active", [FIRST, SECOND, LAST])
def test_within_the_deadline_the_active_one_is_left_alone(active: str) -> None:
    at_work = chain(active=active, heartbeat=ago(minutes=29))
    assert decide(at_work, LIVE, moment()) == Hold(Stage.INTERCEPTING, until=ahead(minutes=1))


@pytest.mark.parametrize(
    ("silence", "expected"),
    [
        (DEADLINE - dt.timedelta(microseconds=1), Hold(Stage.INTERCEPTING, until=ahead(microseconds=1))),
        (DEADLINE, Assign(SECOND, Turn.PREVIOUS_TIMED_OUT, FIRST)),
        (DEADLINE + dt.timedelta(days=1), Assign(SECOND, Turn.PREVIOUS_TIMED_OUT, FIRST)),
        (-dt.timedelta(seconds=10), Hold(Stage.INTERCEPTING, until=ahead(seconds=10) + DEADLINE)),
    ],
    ids=["a moment before", "at the deadline", "long after", "by a clock ahead of ours"],
)
def test_silence_beyond_the_deadline_passes_the_turn_on(silence: dt.timedelta, expected: Action) -> None:
    assert decide(chain(heartbeat=NOW - silence), LIVE, moment()) == expected


def test_without_a_heartbeat_the_creation_counts() -> None:
    young = chain(heartbeat=None, created=ago(minutes=29))
    assert decide(young, LIVE, moment()) == Hold(Stage.INTERCEPTING, until=ahead(minutes=1))
    old = chain(heartbeat=None, created=ago(minutes=31))
    assert decide(old, LIVE, moment()) == Assign(SECOND, Turn.PREVIOUS_TIMED_OUT, FIRST)


def test_with_a_heartbeat_the_creation_counts_no_more() -> None:
    a_process = chain(heartbeat=ago(minutes=29), created=ago(days=3))
    assert decide(a_process, LIVE, moment()) == Hold(Stage.INTERCEPTING, until=ahead(minutes=1))


def test_none_is_active_yet_however_old_the_request_is() -> None:
    assert decide(process(FIRST, created=ago(days=9)), LIVE, moment()) == Assign(FIRST, Turn.FIRST)


def test_whose_clock_is_behind_goes_along_with_who_has_given_up() -> None:
    """Two deciders at the deadline, their clocks apart, would otherwise write against each other."""
    heartbeat = NOW - DEADLINE + dt.timedelta(seconds=10)  # by this clock the deadline is ten seconds ahead
    last = process(LAST, active=LAST, heartbeat=heartbeat)
    blocked = replace(last, failed_evictions=1)
    assert isinstance(decide(last, LIVE, moment()), Hold)
    assert decide(blocked, LIVE, moment()) == Evict(recheck=True)
    newer = replace(blocked, heartbeat=NOW)
    assert isinstance(decide(newer, LIVE, moment()), Hold)


def test_nobody_is_given_up_before_a_tenth_of_the_deadline_was_watched() -> None:
    a_process = chain(heartbeat=ago(hours=1))
    tenth = DEADLINE / 10
    early = DecisionContext(NOW, NOW - tenth + dt.timedelta(microseconds=1))
    assert decide(a_process, LIVE, early) == Hold(Stage.INTERCEPTING, until=ahead(microseconds=1))
    enough = DecisionContext(NOW, NOW - tenth)
    assert decide(a_process, LIVE, enough) == Assign(SECOND, Turn.PREVIOUS_TIMED_OUT, FIRST)


def test_a_completed_turn_passes_on_however_short_the_watch_was() -> None:
    a_process = chain(active_completed=True, heartbeat=ago(hours=1))
    assert decide(a_process, LIVE, DecisionContext(NOW, NOW)) == Assign(
        SECOND, Turn.PREVIOUS_COMPLETED, FIRST
    )


def test_a_late_heartbeat_of_the_last_one_stops_the_eviction_for_one_deadline() -> None:
    overdue = chain(active=LAST, heartbeat=ago(hours=1), failed_evictions=4, stage=Stage.BLOCKED)
    assert decide(overdue, LIVE, moment()) == Evict(recheck=True)
    back = chain(active=LAST, heartbeat=NOW, failed_evictions=4, stage=Stage.BLOCKED)
    assert decide(back, LIVE, moment()) == Hold(Stage.INTERCEPTING, until=NOW + DEADLINE)


def test_after_the_last_one_completed_heartbeats_stop_nothing() -> None:
    done = chain(active=LAST, active_completed=True, heartbeat=NOW)
    assert decide(done, LIVE, moment()) == Evict(recheck=True)


def test_a_name_that_is_not_on_the_list_leads_to_the_eviction_once_it_is_silent() -> None:
    stranger = chain(active="stranger.example.com", heartbeat=NOW)
    assert decide(stranger, LIVE, moment()) == Hold(Stage.INTERCEPTING, until=NOW + DEADLINE)
    silent = chain(active="stranger.example.com", heartbeat=ago(hours=1))
    assert decide(silent, LIVE, moment()) == Evict(recheck=True)


def test_without_interceptors_name_completed_and_heartbeat_mean_nothing() -> None:
    odd = process(active=FIRST, active_completed=False, heartbeat=NOW)
    assert decide(odd, LIVE, moment()) == Evict(recheck=False)


# The departure


@pytest.mark.parametrize(
    ("termination", "awaited"),
    [
        (
            Termination(NOW, finalizers=("a.example/x", "b.example/y"), node="node-1"),
            "its finalizers keep it: a.example/x, b.example/y.",
        ),
        (
            Termination(NOW, node="node-1"),
            "node node-1 has not yet confirmed that its containers have stopped.",
        ),
        (Termination(NOW), "waiting for its deletion."),
    ],
    ids=["finalizers", "node", "nothing known"],
)
@pytest.mark.parametrize("a_process", [process(), chain()], ids=["plain", "intercepted"])
def test_an_overdue_termination_is_explained(
    a_process: EvictionState, termination: Termination, awaited: str
) -> None:
    late = NOW + TERMINATION_OVERDUE_AFTER
    assert decide(a_process, Target(termination=termination), moment(late)) == Hold(
        Stage.TERMINATING, f"The pod is terminating and its grace period is over; {awaited}"
    )
    in_time = decide(a_process, Target(termination=termination), moment(late - dt.timedelta(microseconds=1)))
    assert isinstance(in_time, Hold)
    assert in_time.until == late


def test_a_plain_eviction_has_no_message_until_its_termination_is_overdue() -> None:
    assert decide(process(), LEAVING, moment()) == Hold(Stage.TERMINATING, None, OVERDUE_AT)


def test_what_has_shown_a_stage_before_shows_this_one_too() -> None:
    blocked = process(stage=Stage.BLOCKED, failed_evictions=1)
    assert decide(blocked, LEAVING, moment()) == Hold(Stage.TERMINATING, GRACE_AWAITED, OVERDUE_AT)


def test_the_grace_period_is_reported_once() -> None:
    """A clock that is behind would otherwise write against one that is ahead, which finds it overdue."""
    shown = chain(stage=Stage.TERMINATING)
    assert decide(shown, LEAVING, moment()) == Hold(Stage.TERMINATING, None, OVERDUE_AT)


# The eviction


@pytest.mark.parametrize(("failed", "stage"), [(0, Stage.EVICTING), (1, Stage.BLOCKED), (9, Stage.BLOCKED)])
def test_the_next_attempt_waits_for_its_time(failed: int, stage: Stage) -> None:
    waiting = moment(next_attempt=ahead(seconds=5))
    assert decide(process(failed_evictions=failed), LIVE, waiting) == Hold(stage, until=ahead(seconds=5))


@pytest.mark.parametrize("next_attempt", [None, NOW, ago(seconds=1)])
def test_an_attempt_whose_time_has_come_is_made(next_attempt: dt.datetime | None) -> None:
    due = moment(next_attempt=next_attempt)
    assert decide(process(failed_evictions=3), LIVE, due) == Evict(recheck=True)
    assert decide(process(), LIVE, moment()) == Evict(recheck=False), "the first one costs no read"


def test_a_pod_that_is_not_for_the_eviction_api_is_blocked_whatever_is_due() -> None:
    due = moment(next_attempt=ahead(seconds=5))
    assert decide(process(failed_evictions=2), DAEMON, due) == Hold(Stage.BLOCKED, DAEMON.unevictable)


def test_interceptors_run_for_a_pod_that_is_not_for_the_eviction_api() -> None:
    assert decide(chain(active_completed=True), DAEMON, moment()) == Assign(
        SECOND, Turn.PREVIOUS_COMPLETED, FIRST
    )
    done = chain(active=LAST, active_completed=True)
    assert decide(done, DAEMON, moment()) == Hold(Stage.BLOCKED, DAEMON.unevictable)


# What holds for all of them

NAMES = (FIRST, SECOND, LAST)
TIMES = st.integers(-7200, 7200).map(lambda s: NOW + dt.timedelta(seconds=s))
PROCESSES = st.builds(
    EvictionState,
    interceptors=st.integers(0, 3).map(lambda n: NAMES[:n]),
    requesters=st.sampled_from([(), ("a.example.com",)]),
    deadline=st.sampled_from([600, 1800, 86400]).map(lambda s: dt.timedelta(seconds=s)),
    created=TIMES,
    being_deleted=st.booleans(),
    forbids_cancellation=st.booleans(),
    complete=st.booleans(),
    admitted=st.booleans(),
    active=st.sampled_from([None, *NAMES]),
    active_completed=st.booleans(),
    heartbeat=st.none() | TIMES,
    failed_evictions=st.integers(0, 20),
    stage=st.sampled_from([None, *Stage]),
)
TARGETS = st.builds(
    Target,
    presence=st.sampled_from(Presence),
    terminal=st.booleans(),
    termination=st.none() | st.builds(Termination, ends=TIMES, node=st.sampled_from(["", "node-1"])),
    unevictable=st.sampled_from(["", "no"]),
)
MOMENTS = st.builds(DecisionContext, now=TIMES, watching_since=TIMES, next_attempt=st.none() | TIMES)


@given(PROCESSES, TARGETS, MOMENTS)
def test_who_waits_until_a_time_waits_for_one_that_is_still_to_come(
    a_process: EvictionState, target: Target, a_moment: DecisionContext
) -> None:
    action = decide(a_process, target, a_moment)
    if isinstance(action, Hold) and action.until is not None:
        assert action.until > a_moment.now


@given(PROCESSES, TARGETS, MOMENTS)
def test_turns_go_down_the_list_one_by_one(
    a_process: EvictionState, target: Target, a_moment: DecisionContext
) -> None:
    action = decide(a_process, target, a_moment)
    if not isinstance(action, Assign):
        return
    turns = a_process.interceptors
    assert action.previous == a_process.active
    before = -1 if a_process.active is None else turns.index(a_process.active)
    assert turns.index(action.interceptor) == before + 1


@given(PROCESSES, TARGETS, MOMENTS)
def test_nothing_is_evicted_that_is_going_gone_or_over(
    a_process: EvictionState, target: Target, a_moment: DecisionContext
) -> None:
    if isinstance(decide(a_process, target, a_moment), Evict | Assign):
        assert target.presence is Presence.LIVE
        assert not target.terminal
        assert target.termination is None
        assert a_process.admitted
        assert not a_process.complete
        assert not cancelled(a_process)


@pytest.mark.parametrize("before", [process(), chain(active_completed=True), chain(heartbeat=ago(days=1))])
def test_who_has_not_seen_the_departure_yet_does_not_take_it_back(before: EvictionState) -> None:
    """A second decider with an older cache would otherwise write against the first, without an end."""
    leaving = replace(before, stage=Stage.TERMINATING)
    assert decide(leaving, LIVE, moment()) == ReadTarget()
    seen = replace(LEAVING, live=True)
    assert decide(leaving, seen, moment()) == Hold(Stage.TERMINATING, until=OVERDUE_AT)


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("before", [process(), chain(active_completed=True), chain(heartbeat=ago(days=1))])
def test_what_was_written_down_about_the_stage_decides_nothing(before: EvictionState, stage: Stage) -> None:
    """A condition is a report: whatever it says, the pod and the fields decide."""
    live = replace(LIVE, live=True)
    assert decide(replace(before, stage=stage), live, moment()) == decide(before, live, moment())


def test_a_heartbeat_from_the_future_is_set_back() -> None:
    assert decide(chain(heartbeat=ahead(seconds=21)), LIVE, moment()) == CorrectHeartbeat(NOW)
    within = decide(chain(heartbeat=ahead(seconds=20)), LIVE, moment())
    assert within == Hold(Stage.INTERCEPTING, until=ahead(seconds=10) + DEADLINE)
    done = chain(heartbeat=ahead(days=3650), active_completed=True)
    assert decide(done, LIVE, moment()) == Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST)


# What an administrator allows


def test_the_total_time_of_a_request_ends_all_turns() -> None:
    limits = Limits(duration=dt.timedelta(hours=3))
    working = chain(heartbeat=NOW)  # made two hours ago
    assert decide(working, LIVE, moment(limits=limits)) == Hold(Stage.INTERCEPTING, until=NOW + DEADLINE)
    later = moment(ahead(minutes=59), limits=limits)
    lively = replace(working, heartbeat=later.now)
    assert decide(lively, LIVE, later) == Hold(Stage.INTERCEPTING, until=ahead(hours=1))
    over = decide(lively, LIVE, moment(ahead(hours=1), limits=limits))
    assert isinstance(over, Evict)
    assert "limit of 3:00:00 for its total time" in over.limit
    assert decide(chain(requesters=()), LIVE, moment(ahead(hours=1), limits=limits)) == Finish(
        CompletionReason.CANCELLED
    )


def test_no_more_interceptors_are_asked_than_the_administrator_allows() -> None:
    limits = Limits(interceptors=2)
    assert decide(process(FIRST, SECOND, LAST), LIVE, moment(limits=limits)) == Assign(FIRST, Turn.FIRST)
    first = chain(active_completed=True)
    assert decide(first, LIVE, moment(limits=limits)) == Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST)
    second = chain(active=SECOND, heartbeat=ago(minutes=1))
    assert isinstance(decide(second, LIVE, moment(limits=limits)), Hold)
    for ended in (replace(second, active_completed=True), replace(second, heartbeat=ago(hours=1))):
        evicted = decide(ended, LIVE, moment(limits=limits))
        assert isinstance(evicted, Evict)
        assert "limit of 2 interceptors" in evicted.limit
    nobody = decide(process(FIRST), LIVE, moment(limits=Limits(interceptors=0)))
    assert isinstance(nobody, Evict)
    assert nobody.limit
