"""What `vacate evict` says about a request that it made or joined."""

from __future__ import annotations

import pytest

from support.leave_play import Play
from vacate.cli.evict.command import how_asked, unprepared
from vacate.sdk.results import result_of

pytestmark = pytest.mark.unit

ME, OTHER, THIRD = "me.example.com", "other.example.com", "third.example.com"


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (Play(requesters=(ME,)), "is asked to leave"),
        (Play("a.example.com", requesters=(ME,)), "is asked to leave; a.example.com prepares it first"),
        (
            Play("a.example.com", "b.example.com", requesters=(OTHER, ME, THIRD)),
            f"is asked to leave, as {OTHER} and {THIRD} asked before; a.example.com prepares it first",
        ),
        (
            Play(requesters=(OTHER,)).status(evictionRequestCancellationPolicy="Forbid"),
            f"leaves already, asked by {OTHER}; nobody can join or cancel that",
        ),
        (Play(requesters=()), "leaves already, asked by others; nobody can join or cancel that"),
        (
            Play("a.example.com", requesters=(ME,)).metadata(annotations=None),
            "is asked to leave; but this did not pass Vacate's admission, and nobody processes it",
        ),
    ],
    ids=["alone", "with an interceptor", "joined", "forbidden", "nobody", "unadmitted"],
)
def test_what_is_said(play: Play, said: str) -> None:
    assert how_asked(play.typed, ME) == said


def test_who_failed_and_why_is_said_and_who_completed_is_not() -> None:
    play = Play("a.example.com", "b.example.com").controller().after(seconds=5)
    play.fails("True", "HandedOver", "the disk\x1b[2J is full.", activeInterceptorCompleted=True).controller()
    play.after(seconds=1801).controller().pod_goes().controller()
    result = result_of(play.typed)
    assert result is not None
    assert unprepared(result) == [
        "interceptor a.example.com failed (the disk [2J is full); the pod went on without its preparation",
        "interceptor b.example.com timed out and never responded; the pod went on without its preparation",
    ]
    done = (
        Play("a.example.com").controller().responds(activeInterceptorCompleted=True).pod_goes().controller()
    )
    assert unprepared(result_of(done.typed) or result) == []
