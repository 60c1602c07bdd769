"""Decisions as patches: exactly what is written, what is left alone, and that once is enough."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from eviction.dialects.given import (
    ASSIGNED,
    FIRST,
    GUARD,
    INTERCEPTING,
    LAST,
    MINE_TOO,
    NOW,
    SECOND,
    THEIRS,
    at_work,
    by_type,
    condition,
    patched,
    read,
    request,
    when,
)
from vacate.api.objects import Obj
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    AlreadyComplete,
    Assign,
    CompletionReason,
    DecisionContext,
    Finish,
    Target,
    Turn,
)
from vacate.eviction.records.patches import (
    assign_patch,
    finish_patch,
    last_turn_patch,
)
from vacate.eviction.records.reader import has_responded, process_of

pytestmark = pytest.mark.unit


# The end


@pytest.mark.parametrize(
    ("ending", "stage", "message"),
    [
        (CompletionReason.POD_DELETED, "Complete", "The pod is deleted."),
        (CompletionReason.POD_TERMINATED, "Complete", "The pod has terminated."),
        (CompletionReason.CANCELLED, "Cancelled", "The eviction request is cancelled."),
    ],
)
def test_a_plain_request_ends_with_one_write(ending: CompletionReason, stage: str, message: str) -> None:
    assert finish_patch(read(request()), Finish(ending), NOW) == {
        "metadata": GUARD,
        "status": {
            "message": message,
            "conditions": [
                condition("Complete", "True", ending.value, when(), message),
                condition("Progressing", "False", stage, when(), message),
            ],
        },
    }


def test_the_end_clears_what_was_of_the_active_one_and_keeps_its_turn() -> None:
    obj = at_work(expectedInterceptorFinishTime=when(hours=1))
    assert finish_patch(read(obj), Finish(CompletionReason.POD_DELETED), NOW) == {
        "metadata": GUARD,
        "status": {
            "message": "The pod is deleted.",
            "activeInterceptorName": None,
            "activeInterceptorCompleted": None,
            "expectedInterceptorFinishTime": None,
            "conditions": [
                THEIRS,
                condition(
                    "InterceptorAssigned",
                    "False",
                    "RequestComplete",
                    when(),
                    f"{FIRST} {when(minutes=-5)} pod-gone {when()} Copying.",
                ),
                condition("Progressing", "False", "Complete", when(), "The pod is deleted."),
                MINE_TOO,
                condition("Complete", "True", "PodDeleted", when(), "The pod is deleted."),
            ],
        },
    }


def test_the_end_after_a_completed_turn_says_so() -> None:
    patch = finish_patch(
        read(at_work(activeInterceptorCompleted=True)), Finish(CompletionReason.POD_DELETED), NOW
    )
    expected = f"{FIRST} {when(minutes=-5)} completed {when()} Copying."
    assert by_type(patch)["InterceptorAssigned"]["message"] == expected


def test_an_expected_finish_of_nobody_is_cleared_too() -> None:
    obj = request(FIRST, expectedInterceptorFinishTime=when(hours=1))
    after = patched(obj, finish_patch(read(obj), Finish(CompletionReason.CANCELLED), NOW))
    assert "expectedInterceptorFinishTime" not in after["status"]


def test_without_interceptors_name_completed_and_heartbeat_are_never_written() -> None:
    odd = request(activeInterceptorCompleted=True, heartbeatTime=when())
    patch = finish_patch(read(odd), Finish(CompletionReason.POD_DELETED), NOW)
    assert not {"activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime"} & set(patch["status"])


def test_the_end_leaves_policy_heartbeat_and_counter_as_they_were() -> None:
    obj = at_work(
        evictionRequestCancellationPolicy="Forbid", podEvictionStatus={"failedAPIEvictionCounter": 3}
    )
    after = patched(obj, finish_patch(read(obj), Finish(CompletionReason.POD_DELETED), NOW))["status"]
    assert after["evictionRequestCancellationPolicy"] == "Forbid"
    assert after["podEvictionStatus"] == {"failedAPIEvictionCounter": 3}
    assert after["heartbeatTime"] == when(minutes=-1)


def test_a_message_that_says_it_already_is_not_sent_again() -> None:
    obj = request(message="The pod is deleted.")
    assert "message" not in finish_patch(read(obj), Finish(CompletionReason.POD_DELETED), NOW)["status"]


def test_what_is_over_is_settled() -> None:
    for obj in (request(), at_work()):
        after = patched(obj, finish_patch(read(obj), Finish(CompletionReason.POD_DELETED), NOW))
        assert decide(process_of(read(after)), Target(), DecisionContext(NOW, NOW)) == AlreadyComplete()


# The turn


def test_the_first_turn() -> None:
    patch = assign_patch(read(request(FIRST, SECOND)), Assign(FIRST, Turn.FIRST), NOW)
    message = f"Interceptor {FIRST} is active."
    assert patch == {
        "metadata": GUARD,
        "status": {
            "activeInterceptorName": FIRST,
            "activeInterceptorCompleted": False,
            "heartbeatTime": when(),
            "expectedInterceptorFinishTime": None,
            "message": message,
            "conditions": [
                condition("InterceptorAssigned", "True", "FirstInterceptor", when()),
                condition("Progressing", "True", "Intercepting", when(), message),
            ],
        },
    }
    assert not has_responded(read(patched(request(FIRST, SECOND), patch)))


@pytest.mark.parametrize(
    ("turn", "status", "result", "words", "recorded"),
    [
        (
            Turn.PREVIOUS_COMPLETED,
            {"activeInterceptorCompleted": True},
            "completed",
            "has completed",
            "Copying.",
        ),
        (Turn.PREVIOUS_TIMED_OUT, {}, "timed-out", "timed out", "Copying."),
        (
            Turn.PREVIOUS_TIMED_OUT,
            {"heartbeatTime": when(minutes=-5)},
            "never-responded",
            "timed out",
            "",
        ),
    ],
)
def test_the_turn_passes_on(turn: Turn, status: Obj, result: str, words: str, recorded: str) -> None:
    obj = at_work(expectedInterceptorFinishTime=when(hours=1), **status)
    patch = assign_patch(read(obj), Assign(SECOND, turn, FIRST), NOW)
    message = f"{FIRST} {words}. Interceptor {SECOND} is active."
    assert patch == {
        "metadata": GUARD,
        "status": {
            "activeInterceptorName": SECOND,
            "activeInterceptorCompleted": False,
            "heartbeatTime": when(),
            "expectedInterceptorFinishTime": None,
            "message": message,
            "conditions": [
                THEIRS,
                condition(
                    "InterceptorAssigned",
                    "True",
                    turn.value,
                    when(),
                    f"{FIRST} {when(minutes=-5)} {result} {when()} {recorded}".rstrip(),
                ),
                # Still progressing, since the same instant.
                condition("Progressing", "True", "Intercepting", when(minutes=-5), message),
                MINE_TOO,
            ],
        },
    }


def test_the_policy_outlives_the_turn() -> None:
    obj = at_work(evictionRequestCancellationPolicy="Forbid", activeInterceptorCompleted=True)
    after = patched(obj, assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST), NOW))
    assert after["status"]["evictionRequestCancellationPolicy"] == "Forbid"


def test_turns_before_are_remembered_in_their_order() -> None:
    first_line = f"{FIRST} {when(minutes=-9)} timed-out {when(minutes=-5)}"
    assignment = ASSIGNED | {"message": first_line, "reason": "PreviousTimedOut"}
    obj = at_work(
        activeInterceptorName=SECOND, activeInterceptorCompleted=True, conditions=[assignment, INTERCEPTING]
    )
    patch = assign_patch(read(obj), Assign(LAST, Turn.PREVIOUS_COMPLETED, SECOND), NOW)
    lines = by_type(patch)["InterceptorAssigned"]["message"].splitlines()
    assert lines == [first_line, f"{SECOND} {when(minutes=-5)} completed {when()} Copying."]


@pytest.mark.parametrize("seconds", [-10, 0, 10])
def test_a_heartbeat_never_falls_back_when_the_turn_passes_on(seconds: int) -> None:
    obj = at_work(heartbeatTime=when(seconds=seconds), activeInterceptorCompleted=True)
    after = patched(obj, assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST), NOW))
    assert after["status"]["heartbeatTime"] == when(seconds=max(seconds, 0))
    assert not has_responded(read(after))


def test_a_turn_without_a_record_of_the_one_before_counts_from_now() -> None:
    obj = at_work(conditions=[], activeInterceptorCompleted=True)
    patch = assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST), NOW)
    expected = f"{FIRST} {when()} completed {when()}"
    assert by_type(patch)["InterceptorAssigned"]["message"] == expected


@pytest.mark.parametrize(
    ("kind", "reason", "result", "words"),
    [("Failed", "HandedOver", "failed", "failed"), ("Declined", "NothingToDo", "declined", "has declined")],
)
def test_a_turn_that_failed_or_was_declined_is_not_called_completed(
    kind: str, reason: str, result: str, words: str
) -> None:
    theirs = condition(f"{FIRST}/{kind}", "True", reason, when(), "The disk\nis full")
    obj = at_work(activeInterceptorCompleted=True, conditions=[ASSIGNED, INTERCEPTING, theirs])
    patch = assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST), NOW)
    assert patch["status"]["message"] == f"{FIRST} {words}. Interceptor {SECOND} is active."
    assignment = by_type(patch)["InterceptorAssigned"]
    assert assignment["reason"] == f"Previous{kind}"
    assert assignment["message"] == f"{FIRST} {when(minutes=-5)} {result} {when()} The disk is full"


def test_a_failure_counts_only_where_the_interceptor_has_completed_its_turn() -> None:
    theirs = condition(f"{FIRST}/Failed", "True", "Held", when(), "The disk is full")
    obj = at_work(conditions=[ASSIGNED, INTERCEPTING, theirs])
    patch = assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_TIMED_OUT, FIRST), NOW)
    assert " timed-out " in by_type(patch)["InterceptorAssigned"]["message"]


# The last turn


def last(**status: Any) -> Obj:
    return at_work(activeInterceptorName=LAST, **status)


def test_a_time_out_of_the_last_one_leaves_a_trace_once() -> None:
    obj = last(heartbeatTime=when(minutes=-31))
    patch = last_turn_patch(read(obj), NOW)
    assert patch is not None
    message = f"{LAST} timed out. The pod is evicted unprepared."
    assert patch["status"]["message"] == message
    assignment = by_type(patch)["InterceptorAssigned"]
    assert (assignment["status"], assignment["lastTransitionTime"]) == ("True", when(minutes=-5))
    assert assignment["message"] == f"{LAST} {when(minutes=-5)} timed-out {when()} Copying."
    assert by_type(patch)["Progressing"]["reason"] == "Evicting"
    after = patched(obj, patch)
    assert last_turn_patch(read(after), NOW) is None
    over = patched(after, finish_patch(read(after), Finish(CompletionReason.POD_DELETED), NOW))
    assert by_type(over)["InterceptorAssigned"]["message"] == assignment["message"]


def test_who_comes_back_after_a_time_out_is_not_remembered_as_timed_out() -> None:
    obj = last(heartbeatTime=when(minutes=-31))
    late = patched(obj, last_turn_patch(read(obj), NOW) or {})
    late["status"]["heartbeatTime"] = when(minutes=1)
    over = finish_patch(read(late), Finish(CompletionReason.POD_DELETED), NOW)
    assert " pod-gone " in by_type(over)["InterceptorAssigned"]["message"]
    late["status"]["activeInterceptorCompleted"] = True
    done = last_turn_patch(read(late), NOW)
    assert done is not None
    (line,) = by_type(done)["InterceptorAssigned"]["message"].splitlines()
    assert " completed " in line


def test_a_failure_of_the_last_one_says_that_the_pod_is_not_prepared() -> None:
    theirs = condition(f"{LAST}/Failed", "True", "HandedOver", when(), "The disk is full.")
    obj = last(activeInterceptorCompleted=True, conditions=[ASSIGNED, INTERCEPTING, theirs])
    patch = last_turn_patch(read(obj), NOW)
    assert patch is not None
    assert patch["status"]["message"] == f"{LAST} failed: The disk is full. The pod is evicted unprepared."


def test_after_a_completed_last_turn_its_own_words_stay() -> None:
    patch = last_turn_patch(read(last(activeInterceptorCompleted=True)), NOW)
    assert patch is not None
    assert "message" not in patch["status"]


def test_without_interceptors_there_is_no_last_turn() -> None:
    assert last_turn_patch(read(request()), NOW) is None


# The conditions of others


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-01T11:00:00Z",
        "2026-03-01T11:00:00.000001Z",
        "2026-03-01T11:00:00.250000Z",
    ],
)
def test_times_of_others_come_back_as_they_were(written: str) -> None:
    theirs = THEIRS | {"lastTransitionTime": written}
    patch = finish_patch(read(request(conditions=[theirs])), Finish(CompletionReason.POD_DELETED), NOW)
    assert patch["status"]["conditions"][0] == theirs


@pytest.mark.parametrize("written", ["2026-03-01T13:00:00+02:00", "2026-03-01T11:00:00.000Z"])
def test_other_forms_of_a_time_keep_their_instant(written: str) -> None:
    theirs = THEIRS | {"lastTransitionTime": written}
    patch = finish_patch(read(request(conditions=[theirs])), Finish(CompletionReason.POD_DELETED), NOW)
    assert patch["status"]["conditions"][0] == THEIRS


def test_empty_fields_of_others_come_back() -> None:
    bare = {"type": "Bare", "status": "True", "reason": "", "message": ""}
    patch = finish_patch(read(request(conditions=[bare])), Finish(CompletionReason.POD_DELETED), NOW)
    assert patch["status"]["conditions"][0] == bare


def test_our_own_times_are_exact_to_the_microsecond() -> None:
    exact = dt.datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=dt.UTC)
    patch = assign_patch(read(request(FIRST)), Assign(FIRST, Turn.FIRST), exact)
    assert patch["status"]["heartbeatTime"] == "2026-03-01T12:00:00.000001Z"
    assert {one["lastTransitionTime"] for one in patch["status"]["conditions"]} == {
        "2026-03-01T12:00:00.000001Z"
    }
