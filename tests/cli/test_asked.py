"""What `vacate evict` says about a request that it made or joined."""

from __future__ import annotations

import pytest

from support.leave_play import Play
from vacate.cli.evict import how_asked

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
