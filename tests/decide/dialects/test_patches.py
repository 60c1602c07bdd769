"""Decisions as patches: exactly what is written, what is left alone, and that once is enough."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from decide.dialects.given import (
    FIRST,
    LAST,
    NOW,
    SECOND,
    at,
    condition,
    patched,
    read,
    request,
    when,
)
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import MAX_MESSAGE
from vacate.decide.dialects.evictionrequest import has_responded, process_of
from vacate.decide.dialects.evictionrequest_patch import (
    assign_patch,
    finish_patch,
    hold_patch,
    refusal_patch,
    unadmitted_patch,
)
from vacate.decide.process.engine import decide
from vacate.decide.process.model import Assign, Ending, Finish, Hold, Moment, Settled, Stage, Target, Turn

pytestmark = pytest.mark.unit

GUARD = {"resourceVersion": "7"}
THEIRS = condition(
    "example.com/Saved", "Unknown", "Copying", "2026-03-01T11:00:00Z", "half", observedGeneration=3
)
MINE_TOO = condition("Other", "True", "Yes", "2026-03-01T11:00:00.000001Z")
ASSIGNED = condition("InterceptorAssigned", "True", "FirstInterceptor", when(minutes=-5))
INTERCEPTING = condition("Progressing", "True", "Intercepting", when(minutes=-5), "Asked.")
BLOCKED = condition("Progressing", "False", "Blocked", when(minutes=-2), "Refused.")


def at_work(**status: Any) -> Obj:
    """The first of three is at work and has reported."""
    given: Obj = {
        "activeInterceptorName": FIRST,
        "heartbeatTime": when(minutes=-1),
        "message": "Copying.",
        "conditions": [THEIRS, ASSIGNED, INTERCEPTING, MINE_TOO],
    }
    return request(FIRST, SECOND, LAST, **(given | status))


def by_type(patch: Obj) -> dict[str, Obj]:
    return {one["type"]: one for one in patch["status"]["conditions"]}


# The end


@pytest.mark.parametrize(
    ("ending", "stage", "message"),
    [
        (Ending.POD_DELETED, "Complete", "The pod is gone."),
        (Ending.POD_TERMINATED, "Complete", "The pod has ended."),
        (Ending.CANCELLED, "Cancelled", "Nobody requests the eviction any more."),
    ],
)
def test_a_plain_request_ends_with_one_write(ending: Ending, stage: str, message: str) -> None:
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
    assert finish_patch(read(obj), Finish(Ending.POD_DELETED), NOW) == {
        "metadata": GUARD,
        "status": {
            "message": "The pod is gone.",
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
                    f"{FIRST} {when(minutes=-5)} ended {when()}",
                ),
                condition("Progressing", "False", "Complete", when(), "The pod is gone."),
                MINE_TOO,
                condition("Complete", "True", "PodDeleted", when(), "The pod is gone."),
            ],
        },
    }


def test_the_end_after_a_completed_turn_says_so() -> None:
    patch = finish_patch(read(at_work(activeInterceptorCompleted=True)), Finish(Ending.POD_DELETED), NOW)
    expected = f"{FIRST} {when(minutes=-5)} completed {when()}"
    assert by_type(patch)["InterceptorAssigned"]["message"] == expected


def test_an_expected_finish_of_nobody_is_cleared_too() -> None:
    obj = request(FIRST, expectedInterceptorFinishTime=when(hours=1))
    after = patched(obj, finish_patch(read(obj), Finish(Ending.CANCELLED), NOW))
    assert "expectedInterceptorFinishTime" not in after["status"]


def test_without_interceptors_name_completed_and_heartbeat_are_never_written() -> None:
    odd = request(activeInterceptorCompleted=True, heartbeatTime=when())
    patch = finish_patch(read(odd), Finish(Ending.POD_DELETED), NOW)
    assert not {"activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime"} & set(patch["status"])


def test_the_end_leaves_policy_heartbeat_and_counter_as_they_were() -> None:
    obj = at_work(
        evictionRequestCancellationPolicy="Forbid", podEvictionStatus={"failedAPIEvictionCounter": 3}
    )
    after = patched(obj, finish_patch(read(obj), Finish(Ending.POD_DELETED), NOW))["status"]
    assert after["evictionRequestCancellationPolicy"] == "Forbid"
    assert after["podEvictionStatus"] == {"failedAPIEvictionCounter": 3}
    assert after["heartbeatTime"] == when(minutes=-1)


def test_a_message_that_says_it_already_is_not_sent_again() -> None:
    obj = request(message="The pod is gone.")
    assert "message" not in finish_patch(read(obj), Finish(Ending.POD_DELETED), NOW)["status"]


def test_what_is_over_is_settled() -> None:
    for obj in (request(), at_work()):
        after = patched(obj, finish_patch(read(obj), Finish(Ending.POD_DELETED), NOW))
        assert decide(process_of(read(after)), Target(), Moment(NOW, NOW)) == Settled()


# The turn


def test_the_first_turn() -> None:
    patch = assign_patch(read(request(FIRST, SECOND)), Assign(FIRST, Turn.FIRST), NOW)
    message = f"{FIRST} is asked to prepare the pod's leave."
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
    ("turn", "status", "fate", "words"),
    [
        (Turn.PREVIOUS_COMPLETED, {"activeInterceptorCompleted": True}, "completed", "has done its part"),
        (Turn.PREVIOUS_TIMED_OUT, {}, "timed-out", "did not report in time"),
        (
            Turn.PREVIOUS_TIMED_OUT,
            {"heartbeatTime": when(minutes=-5)},
            "never-responded",
            "did not report in time",
        ),
    ],
)
def test_the_turn_passes_on(turn: Turn, status: Obj, fate: str, words: str) -> None:
    obj = at_work(expectedInterceptorFinishTime=when(hours=1), **status)
    patch = assign_patch(read(obj), Assign(SECOND, turn, FIRST), NOW)
    message = f"{FIRST} {words}. {SECOND} is asked next."
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
                    f"{FIRST} {when(minutes=-5)} {fate} {when()}",
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
    told = f"{FIRST} {when(minutes=-9)} timed-out {when(minutes=-5)}"
    assignment = ASSIGNED | {"message": told, "reason": "PreviousTimedOut"}
    obj = at_work(
        activeInterceptorName=SECOND, activeInterceptorCompleted=True, conditions=[assignment, INTERCEPTING]
    )
    patch = assign_patch(read(obj), Assign(LAST, Turn.PREVIOUS_COMPLETED, SECOND), NOW)
    lines = by_type(patch)["InterceptorAssigned"]["message"].splitlines()
    assert lines == [told, f"{SECOND} {when(minutes=-5)} completed {when()}"]


@pytest.mark.parametrize("seconds", [-10, 0, 10])
def test_a_heartbeat_never_falls_back_when_the_turn_passes_on(seconds: int) -> None:
    obj = at_work(heartbeatTime=when(seconds=seconds), activeInterceptorCompleted=True)
    after = patched(obj, assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST), NOW))
    assert after["status"]["heartbeatTime"] == when(seconds=max(seconds, 0))
    assert not has_responded(read(after))


def test_a_turn_without_a_record_of_the_one_before_counts_from_now() -> None:
    obj = at_work(conditions=[])
    patch = assign_patch(read(obj), Assign(SECOND, Turn.PREVIOUS_COMPLETED, FIRST), NOW)
    expected = f"{FIRST} {when()} completed {when()}"
    assert by_type(patch)["InterceptorAssigned"]["message"] == expected


# Waiting


@pytest.mark.parametrize(
    ("obj", "action"),
    [
        (at_work(), Hold(Stage.INTERCEPTING, until=at(minutes=1))),
        (request(FIRST), Hold(Stage.INTERCEPTING)),
        (request(), Hold(Stage.EVICTING, until=at(minutes=1))),
        (at_work(), Hold(Stage.EVICTING)),
        (request(), Hold(Stage.TERMINATING, until=at(minutes=1))),
        (request(conditions=[BLOCKED]), Hold(Stage.BLOCKED, until=at(minutes=1))),
        (request(conditions=[BLOCKED], message="No."), Hold(Stage.BLOCKED, "No.")),
        (
            at_work(conditions=[condition("Progressing", "True", "Terminating", when())], message="Going."),
            Hold(Stage.TERMINATING, "Going.", at(minutes=1)),
        ),
    ],
)
def test_nothing_is_written_where_nothing_is_new(obj: Obj, action: Hold) -> None:
    assert hold_patch(read(obj), action, NOW) is None


@pytest.mark.parametrize(
    ("obj", "action", "status"),
    [
        # The pod is not for the eviction API.
        (
            request(),
            Hold(Stage.BLOCKED, "A DaemonSet's."),
            {
                "message": "A DaemonSet's.",
                "conditions": [condition("Progressing", "False", "Blocked", when(), "A DaemonSet's.")],
            },
        ),
        # The pod has begun to go.
        (
            at_work(),
            Hold(Stage.TERMINATING, "Going.", at(minutes=1)),
            {
                "message": "Going.",
                "conditions": [
                    THEIRS,
                    ASSIGNED,
                    condition("Progressing", "True", "Terminating", when(minutes=-5), "Going."),
                    MINE_TOO,
                ],
            },
        ),
        # It was told that the pod goes, and now why it does not.
        (
            request(message="Going.", conditions=[condition("Progressing", "True", "Terminating", when())]),
            Hold(Stage.TERMINATING, "Held."),
            {
                "message": "Held.",
                "conditions": [condition("Progressing", "True", "Terminating", when(), "Held.")],
            },
        ),
        # A late heartbeat: back to the interceptor.
        (
            request(FIRST, message="Refused.", conditions=[BLOCKED]),
            Hold(Stage.INTERCEPTING, until=at(minutes=1)),
            {"conditions": [condition("Progressing", "True", "Intercepting", when())]},
        ),
        # Silent again, and the next attempt is not due.
        (
            at_work(conditions=[INTERCEPTING]),
            Hold(Stage.BLOCKED, until=at(minutes=1)),
            {"conditions": [condition("Progressing", "False", "Blocked", when())]},
        ),
        # The stage is known, the message is not.
        (
            request(conditions=[BLOCKED], message="Yes."),
            Hold(Stage.BLOCKED, "No."),
            {
                "message": "No.",
                "conditions": [condition("Progressing", "False", "Blocked", when(minutes=-2), "No.")],
            },
        ),
    ],
    ids=["unevictable", "terminating", "overstays", "late heartbeat", "silent again", "message"],
)
def test_what_is_new_is_written_once(obj: Obj, action: Hold, status: Obj) -> None:
    patch = hold_patch(read(obj), action, NOW)
    assert patch == {"metadata": GUARD, "status": status}
    assert hold_patch(read(patched(obj, patch)), action, at(seconds=1)) is None


# The refusal


def test_the_first_refusal_begins_to_count() -> None:
    message = "The eviction was refused: the budget web is spent."
    assert refusal_patch(read(request()), "the budget web is spent.", NOW) == {
        "metadata": GUARD,
        "status": {
            "message": message,
            "podEvictionStatus": {"failedAPIEvictionCounter": 1},
            "conditions": [condition("Progressing", "False", "Blocked", when(), message)],
        },
    }


def test_further_refusals_count_on_and_keep_the_instant_of_the_first() -> None:
    obj = request(
        message="Refused.", podEvictionStatus={"failedAPIEvictionCounter": 6}, conditions=[THEIRS, BLOCKED]
    )
    patch = refusal_patch(read(obj), "no.", NOW)
    assert patch["status"]["podEvictionStatus"] == {"failedAPIEvictionCounter": 7}
    assert patch["status"]["conditions"] == [
        THEIRS,
        condition("Progressing", "False", "Blocked", when(minutes=-2), "The eviction was refused: no."),
    ]


@pytest.mark.parametrize("letter", ["x", "ü", "🚪"])
def test_a_long_refusal_is_cut_to_what_a_condition_may_hold(letter: str) -> None:
    """The limit of a condition's message counts bytes."""
    patch = refusal_patch(read(request()), letter * (2 * MAX_MESSAGE), NOW)
    message = patch["status"]["message"]
    assert MAX_MESSAGE - 4 < len(message.encode()) <= MAX_MESSAGE
    assert message.startswith(f"The eviction was refused: {letter}")
    assert message.endswith(letter)
    assert by_type(patch)["Progressing"]["message"] == message


def test_a_long_explanation_is_cut_too_and_told_once() -> None:
    action = Hold(Stage.TERMINATING, "Held by " + "x" * (2 * MAX_MESSAGE))
    patch = hold_patch(read(request()), action, NOW)
    assert patch is not None
    assert len(patch["status"]["message"]) == MAX_MESSAGE
    assert hold_patch(read(patched(request(), patch)), action, NOW) is None


# What did not pass admission


def test_what_did_not_pass_admission_is_told_so_once() -> None:
    obj = request(conditions=[THEIRS])
    patch = unadmitted_patch(read(obj), NOW)
    assert patch is not None
    assert patch["metadata"] == GUARD
    assert set(patch["status"]) == {"conditions"}
    theirs, refused = patch["status"]["conditions"]
    assert theirs == THEIRS
    assert refused.pop("message").startswith("The request did not pass Vacate's admission")
    assert refused == {
        "type": "Admitted",
        "status": "False",
        "reason": "NotAdmitted",
        "lastTransitionTime": when(),
    }
    assert unadmitted_patch(read(patched(obj, patch)), at(hours=1)) is None


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
    patch = finish_patch(read(request(conditions=[theirs])), Finish(Ending.POD_DELETED), NOW)
    assert patch["status"]["conditions"][0] == theirs


@pytest.mark.parametrize("written", ["2026-03-01T13:00:00+02:00", "2026-03-01T11:00:00.000Z"])
def test_other_forms_of_a_time_keep_their_instant(written: str) -> None:
    theirs = THEIRS | {"lastTransitionTime": written}
    patch = finish_patch(read(request(conditions=[theirs])), Finish(Ending.POD_DELETED), NOW)
    assert patch["status"]["conditions"][0] == THEIRS


def test_empty_fields_of_others_come_back() -> None:
    bare = {"type": "Bare", "status": "True", "reason": "", "message": ""}
    patch = finish_patch(read(request(conditions=[bare])), Finish(Ending.POD_DELETED), NOW)
    assert patch["status"]["conditions"][0] == bare


def test_our_own_times_are_exact_to_the_microsecond() -> None:
    exact = dt.datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=dt.UTC)
    patch = assign_patch(read(request(FIRST)), Assign(FIRST, Turn.FIRST), exact)
    assert patch["status"]["heartbeatTime"] == "2026-03-01T12:00:00.000001Z"
    assert {one["lastTransitionTime"] for one in patch["status"]["conditions"]} == {
        "2026-03-01T12:00:00.000001Z"
    }
