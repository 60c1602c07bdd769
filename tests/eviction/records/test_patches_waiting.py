"""What is written while nothing moves: stages, refusals, and what did not pass admission."""

from __future__ import annotations

import pytest

from eviction.dialects.given import (
    ASSIGNED,
    BLOCKED,
    FIRST,
    GUARD,
    INTERCEPTING,
    MINE_TOO,
    NOW,
    THEIRS,
    at,
    at_work,
    by_type,
    condition,
    patched,
    read,
    request,
    when,
)
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import MAX_MESSAGE
from vacate.eviction.model import Hold, Stage
from vacate.eviction.records.patches import (
    hold_patch,
    refusal_patch,
    unadmitted_patch,
)

pytestmark = pytest.mark.unit


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
        # The status says that the pod goes, and now why it does not.
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


def test_a_long_explanation_is_cut_too_and_written_once() -> None:
    action = Hold(Stage.TERMINATING, "Held by " + "x" * (2 * MAX_MESSAGE))
    patch = hold_patch(read(request()), action, NOW)
    assert patch is not None
    assert len(patch["status"]["message"]) == MAX_MESSAGE
    assert hold_patch(read(patched(request(), patch)), action, NOW) is None


# What did not pass admission


def test_what_did_not_pass_admission_gets_a_condition_once() -> None:
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
