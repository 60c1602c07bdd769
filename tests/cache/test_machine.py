"""The list-and-watch machine: every input in every state that can get it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from vacate.cache.listwatch import (
    Amend,
    Apply,
    Collect,
    Effect,
    Ended,
    Events,
    Failed,
    FetchPage,
    Forget,
    Input,
    Opened,
    OpenStream,
    Page,
    Pause,
    Phase,
    Position,
    ReadStream,
    Started,
    Swap,
    step,
)
from vacate.client.codec import WatchEvent
from vacate.errors import Forbidden, Gone, Invalid, TooManyRequests, TransportError

pytestmark = pytest.mark.unit

TAKES_TIME = (FetchPage, OpenStream, ReadStream, Pause)
LOST = TransportError("cut")
EXPIRED = Gone("too old")
BUSY = TooManyRequests("busy", details={"retryAfterSeconds": 9})
REFUSED = Invalid("sendInitialEvents is forbidden")


def event(type_: str, version: str, *, end: bool = False) -> WatchEvent[Any]:
    return WatchEvent(type_, None if type_ == "BOOKMARK" else version, version, end)


ADDED = event("ADDED", "8")
BOOKMARK = event("BOOKMARK", "9")
END = event("BOOKMARK", "7", end=True)

EMPTY = Position()
STREAMING = Position(Phase.STREAMING)
LISTING = Position(Phase.LISTING, stream_lists=False)
CONNECTING = Position(Phase.CONNECTING, "5")
WATCHING = Position(Phase.WATCHING, "5")
STREAM_NOW = (Forget(), OpenStream("", initial_events=True))
LIST_NOW = (Forget(), FetchPage(500))
RESUME = OpenStream("5", initial_events=False)


@pytest.mark.parametrize(
    ("position", "input_", "phase", "effects"),
    [
        # Beginning.
        (EMPTY, Started(), Phase.STREAMING, STREAM_NOW),
        (replace(EMPTY, stream_lists=False), Started(), Phase.LISTING, LIST_NOW),
        (CONNECTING, Started(), Phase.CONNECTING, (RESUME,)),
        # A streamed listing.
        (STREAMING, Opened(), Phase.STREAMING, (ReadStream(),)),
        (STREAMING, Events([ADDED]), Phase.STREAMING, (Amend([ADDED]), ReadStream())),
        (STREAMING, Events([BOOKMARK]), Phase.STREAMING, (Amend([]), ReadStream())),
        (STREAMING, Events([ADDED, END]), Phase.WATCHING, (Amend([ADDED]), Swap("7"), ReadStream())),
        (
            STREAMING,
            Events([END, ADDED]),
            Phase.WATCHING,
            (Amend([]), Swap("7"), Apply([ADDED], "8"), ReadStream()),
        ),
        (STREAMING, Failed(REFUSED), Phase.LISTING, LIST_NOW),
        (STREAMING, Ended(600), Phase.LISTING, LIST_NOW),
        (STREAMING, Failed(LOST), Phase.EMPTY, (Pause(1),)),
        (STREAMING, Failed(EXPIRED), Phase.EMPTY, (Pause(1),)),
        # A listing in pages.
        (LISTING, Page(["a"], "5", "t"), Phase.LISTING, (Collect(["a"]), FetchPage(500, "t"))),
        (LISTING, Page(["b"], "5"), Phase.CONNECTING, (Collect(["b"]), Swap("5"), RESUME)),
        (LISTING, Failed(LOST), Phase.EMPTY, (Pause(1),)),
        (LISTING, Failed(EXPIRED), Phase.LISTING, (Forget(), FetchPage(0))),
        (
            LISTING,
            Failed(BUSY),
            Phase.EMPTY,
            (Pause(1, 9),),
        ),
        # Opening a watch.
        (CONNECTING, Opened(), Phase.WATCHING, (ReadStream(),)),
        (CONNECTING, Failed(EXPIRED), Phase.STREAMING, STREAM_NOW),
        (CONNECTING, Failed(LOST), Phase.CONNECTING, (Pause(1),)),
        (CONNECTING, Failed(Forbidden("no")), Phase.CONNECTING, (Pause(1),)),
        (CONNECTING, Ended(0.1), Phase.CONNECTING, (Pause(1),)),
        # Watching.
        (WATCHING, Events([ADDED]), Phase.WATCHING, (Apply([ADDED], "8"), ReadStream())),
        (WATCHING, Events([ADDED, BOOKMARK]), Phase.WATCHING, (Apply([ADDED], "9"), ReadStream())),
        (WATCHING, Failed(EXPIRED), Phase.STREAMING, STREAM_NOW),
        (WATCHING, Failed(LOST), Phase.CONNECTING, (Pause(1),)),
        (WATCHING, Ended(300), Phase.CONNECTING, (RESUME,)),
        (WATCHING, Ended(0.1), Phase.CONNECTING, (Pause(1),)),
        (replace(WATCHING, progress=True), Ended(0.1), Phase.CONNECTING, (RESUME,)),
    ],
)
def test_step(position: Position, input_: Input, phase: Phase, effects: tuple[Effect, ...]) -> None:
    after, done = step(position, input_)
    assert after.phase is phase
    assert done == effects


def test_a_bookmark_moves_the_place_to_resume_from() -> None:
    watching, _ = step(WATCHING, Events([BOOKMARK]))
    waiting, _ = step(watching, Failed(LOST))
    assert step(waiting, Started())[1] == (OpenStream("9", initial_events=False),)


def test_what_a_resumed_watch_repeats_is_passed_over() -> None:
    again, news = [event("ADDED", "3"), event("DELETED", "5")], event("MODIFIED", "12")
    watching, effects = step(WATCHING, Events(again))
    assert effects == (Apply([], "5"), ReadStream())
    assert watching.resource_version == "5"
    watching, effects = step(watching, Events([*again, news]))
    assert effects == (Apply([news], "12"), ReadStream())


def test_revisions_that_are_no_numbers_are_all_news() -> None:
    odd = [event("ADDED", "abc"), event("MODIFIED", "")]
    watching, effects = step(WATCHING, Events(odd))
    assert effects == (Apply(odd, "5"), ReadStream())
    assert watching.resource_version == "5"


def test_a_server_that_keeps_saying_gone_is_not_pestered() -> None:
    relisting, effects = step(WATCHING, Failed(EXPIRED))
    assert effects == STREAM_NOW
    watching, _ = step(relisting, Events([event("BOOKMARK", "7", end=True)]))
    assert watching.failures == 0
    again, _ = step(relisting, Failed(EXPIRED))
    assert step(relisting, Failed(EXPIRED))[1] == (Pause(2),)
    assert again.phase is Phase.EMPTY


def test_a_server_that_is_back_and_has_forgotten_is_asked_at_once() -> None:
    position = CONNECTING
    for _ in range(4):
        position, _ = step(position, Failed(LOST))
    opened, _ = step(position, Opened())
    relisting, effects = step(opened, Failed(EXPIRED))
    assert effects == STREAM_NOW
    assert step(relisting, Failed(EXPIRED))[1] == (Pause(6),)
    watching, _ = step(relisting, Events([END]))
    assert (watching.failures, watching.expired) == (0, False)


def test_pages_that_expire_are_replaced_by_one_answer_and_pages_come_back() -> None:
    all_at_once, effects = step(LISTING, Failed(EXPIRED))
    assert effects == (Forget(), FetchPage(0))
    connecting, _ = step(all_at_once, Page([], "6"))
    assert connecting.page_size == 500


def test_failures_add_up_until_something_goes_well() -> None:
    position = CONNECTING
    for expected in (1, 2, 3):
        position, effects = step(position, Failed(LOST))
        assert effects == (Pause(expected),)
    opened, _ = step(position, Opened())
    assert opened.failures == 3
    assert step(opened, Events([ADDED]))[0].failures == 0


def inputs_after(effect: Effect) -> st.SearchStrategy[Input]:
    """What can come of an effect."""
    failed = st.sampled_from([LOST, EXPIRED, REFUSED, Forbidden("no")]).map(Failed)
    events = st.lists(st.sampled_from([ADDED, BOOKMARK, END]), min_size=1, max_size=4).map(Events)
    ended = st.sampled_from([Ended(0.1), Ended(300)])
    match effect:
        case FetchPage():
            return st.one_of(failed, st.sampled_from([Page(["a"], "5", "t"), Page(["b"], "5")]))
        case OpenStream():
            return st.one_of(failed, ended, st.just(Opened()))
        case ReadStream():
            return st.one_of(failed, ended, events)
        case _:
            return st.just(Started())


def run(data: st.DataObject, steps: int) -> Iterator[tuple[Position, tuple[Effect, ...]]]:
    position, effects = step(Position(), Started())
    for _ in range(steps):
        yield position, effects
        position, effects = step(position, data.draw(inputs_after(effects[-1])))


@pytest.mark.thorough
@settings(deadline=None)
@given(st.data())
def test_in_any_history(data: st.DataObject) -> None:
    collecting = False
    for position, effects in run(data, 30):
        # Exactly the last effect takes time, or the informer could neither stop nor go on.
        assert [isinstance(effect, TAKES_TIME) for effect in effects] == [False] * (len(effects) - 1) + [True]
        for effect in effects:
            match effect:
                case Forget():
                    collecting = True
                case Swap():
                    assert collecting, "a swap without a whole listing would shrink what readers see"
                    collecting = False
                case Apply():
                    assert not collecting, "changes must not meet a half-collected listing"
                case OpenStream(version, initial):
                    assert initial == (version == "")
        assert position.phase is not Phase.WATCHING or position.resource_version
