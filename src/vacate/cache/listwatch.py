"""List and watch as a state machine without I/O: `step(position, input) -> (position, effects)`.

    EMPTY ──▶ STREAMING ──(bookmark: all sent)──▶ WATCHING ◀──▶ CONNECTING
      ▲  └──▶ LISTING ──────(last page)─────────────────────────▲   │
      └──────────────────────(410 Gone)─────────────────────────────┘

A listing, streamed or paged, is collected aside and swapped in when it is complete, so that readers keep
the old whole state until then. A watch that breaks is resumed from the last revision seen. Of the effects of
a step exactly the last one is work that takes time; its outcome is the next input.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec
from msgspec.structs import replace

from vacate.api.objectidentity import Unreadable
from vacate.client.codec import WatchEvent
from vacate.errors import ApiError, BadRequest, Gone, Invalid, VacateError
from vacate.wire.framing import BOOKMARK

PAGE_SIZE = 500
SHORT_LIFE = 1.0
"""A stream that ends sooner than this, in seconds, without an event counts as a failure."""


class Value(msgspec.Struct, frozen=True):
    """Base of positions, inputs and effects: a watch makes several for each event, so they are light."""


class Phase(Enum):
    """What the machine is about."""

    EMPTY = "empty"  # nothing is under way; next comes a listing
    STREAMING = "streaming"  # a watch sends the present state first; it is being collected
    LISTING = "listing"  # pages are being collected
    CONNECTING = "connecting"  # the state is whole up to a revision; a watch from there is being opened
    WATCHING = "watching"  # changes arrive


class Position(Value, frozen=True):
    """The machine's whole state."""

    phase: Phase = Phase.EMPTY
    resource_version: str = ""  # all changes up to here are applied; empty before the first listing
    failures: int = 0  # in a row, since the last thing that went well
    stream_lists: bool = True  # until the server has refused to stream a listing
    page_size: int = PAGE_SIZE  # 0 after a page's token had expired: then all in one answer
    progress: bool = False  # whether the open stream has brought anything
    expired: bool = False  # whether a revision has expired since then, and all was asked for anew at once


# Inputs: what happened.


class Started(Value, frozen=True):
    """The machine was switched on, or a pause is over."""


class Opened(Value, frozen=True):
    """The server accepted the watch."""


class Page(Value, frozen=True):
    """A page of a listing arrived."""

    items: Sequence[Any]
    resource_version: str
    continue_token: str = ""
    unreadable: Sequence[Unreadable] = ()


class Events(Value, frozen=True):
    """Part of a watch arrived, never empty."""

    events: Sequence[WatchEvent[Any]]


class Ended(Value, frozen=True):
    """The server ended the watch in good order after so many seconds."""

    lasted: float


class Failed(Value, frozen=True):
    """The server refused, or there was no answer, or the stream broke or fell silent."""

    error: VacateError


Input = Started | Opened | Page | Events | Ended | Failed


# Effects: what is to be done. The first group is done at once, the second takes time.


class Forget(Value, frozen=True):
    """Drop what was collected; a new listing begins."""


class Collect(Value, frozen=True):
    """Put items of a listing aside."""

    items: Sequence[Any]
    unreadable: Sequence[Unreadable] = ()


class Amend(Value, frozen=True):
    """Apply events to what was put aside: they belong to a streamed listing."""

    events: Sequence[WatchEvent[Any]]


class Swap(Value, frozen=True):
    """The listing is whole as of this revision: show it to the readers."""

    resource_version: str


class Apply(Value, frozen=True):
    """Apply changes to what readers see, which is then whole as of this revision."""

    events: Sequence[WatchEvent[Any]]
    resource_version: str


class FetchPage(Value, frozen=True):
    """Ask for a page."""

    limit: int
    continue_token: str = ""


class OpenStream(Value, frozen=True):
    """Open a watch, from a revision or with the present state first."""

    resource_version: str
    initial_events: bool


class ReadStream(Value, frozen=True):
    """Wait for the next part of the open watch."""


class Pause(Value, frozen=True):
    """Wait before the next attempt: the longer the more failures, and at least so many seconds."""

    failures: int
    at_least: float = 0.0


Effect = Forget | Collect | Amend | Swap | Apply | FetchPage | OpenStream | ReadStream | Pause
Step = tuple[Position, tuple[Effect, ...]]


def step(position: Position, input_: Input) -> Step:
    """The next position, and what to do to get further."""
    match input_:
        case Events():
            return _events(position, input_.events)
        case Started():
            return _start(position)
        case Opened():
            return _opened(position)
        case Page():
            return _page(position, input_)
        case Ended():
            return _ended(position, input_)
        case Failed():
            return _failed(position, input_.error)


def _start(position: Position) -> Step:
    if position.phase is Phase.CONNECTING:
        return position, (OpenStream(position.resource_version, initial_events=False),)
    if position.stream_lists:
        streaming = replace(position, phase=Phase.STREAMING, progress=False)
        return streaming, (Forget(), OpenStream("", initial_events=True))
    listing = replace(position, phase=Phase.LISTING)
    return listing, (Forget(), FetchPage(position.page_size))


def _opened(position: Position) -> Step:
    if position.phase is Phase.CONNECTING:
        return replace(position, phase=Phase.WATCHING, progress=False), (ReadStream(),)
    return position, (ReadStream(),)


def _page(position: Position, page: Page) -> Step:
    if page.continue_token:
        collect = Collect(page.items, page.unreadable)
        return position, (collect, FetchPage(position.page_size, page.continue_token))
    listed = replace(
        position,
        phase=Phase.CONNECTING,
        resource_version=page.resource_version,
        failures=0,
        page_size=PAGE_SIZE,
        expired=False,
    )
    return listed, (
        Collect(page.items, page.unreadable),
        Swap(page.resource_version),
        OpenStream(page.resource_version, initial_events=False),
    )


def _events(position: Position, events: Sequence[WatchEvent[Any]]) -> Step:
    if position.phase is Phase.STREAMING:
        return _initial_events(position, events)
    known = position.resource_version
    latest = events[-1].resource_version
    version = known if not latest or _was_seen(latest, known) else latest
    changes = [one for one in events if one.type != BOOKMARK and not _was_seen(one.resource_version, known)]
    watching = replace(position, resource_version=version, failures=0, progress=True, expired=False)
    return watching, (Apply(changes, version), ReadStream())


def _was_seen(version: str, known: str) -> bool:
    """Whether a change was seen before. A watch that is resumed must not take its readers back in time.

    Revisions are numbers in all that Kubernetes serves, and compare as such; of others nothing is known.
    """
    return version.isdigit() and known.isdigit() and int(version) <= int(known)


def _initial_events(position: Position, events: Sequence[WatchEvent[Any]]) -> Step:
    end = next((n for n, event in enumerate(events) if event.initial_events_end), None)
    listed = [event for event in events[:end] if event.type != BOOKMARK]
    if end is None:
        return position, (Amend(listed), ReadStream())
    version = events[end].resource_version
    whole = replace(
        position,
        phase=Phase.WATCHING,
        resource_version=version,
        failures=0,
        progress=True,
        expired=False,
    )
    effects: tuple[Effect, ...] = (Amend(listed), Swap(version))
    if rest := events[end + 1 :]:
        whole, more = _events(whole, rest)
        return whole, (*effects, *more)
    return whole, (*effects, ReadStream())


def _ended(position: Position, ended: Ended) -> Step:
    if position.phase is Phase.STREAMING:
        # The server did not say that the listing is whole: it does not know how to, or had no time for it.
        return _start(replace(position, phase=Phase.EMPTY, stream_lists=False))
    connecting = replace(position, phase=Phase.CONNECTING)
    if position.progress or ended.lasted >= SHORT_LIFE:
        return _start(connecting)
    return _pause(connecting)


def _failed(position: Position, error: VacateError) -> Step:
    match position.phase:
        case Phase.STREAMING if isinstance(error, BadRequest | Invalid):
            return _start(replace(position, phase=Phase.EMPTY, stream_lists=False))
        case Phase.LISTING if isinstance(error, Gone):
            return _expired(replace(position, page_size=0))
        case Phase.CONNECTING | Phase.WATCHING if isinstance(error, Gone):
            return _expired(position)
        case Phase.CONNECTING | Phase.WATCHING:
            return _pause(replace(position, phase=Phase.CONNECTING), error)
        case _:
            return _pause(replace(position, phase=Phase.EMPTY), error)


def _expired(position: Position) -> Step:
    """List again: at once the first time, with a pause where that keeps happening.

    A server that was away and is back has forgotten what its watchers remember. Whatever failed before, this
    is an answer, and the state is wanted as soon as it can be had.
    """
    empty = replace(position, phase=Phase.EMPTY)
    if position.expired:
        return _pause(empty)
    return _start(replace(empty, failures=position.failures + 1, expired=True))


def _pause(position: Position, error: VacateError | None = None) -> Step:
    asked = error.retry_after_seconds if isinstance(error, ApiError) else None
    failures = position.failures + 1
    return replace(position, failures=failures), (Pause(failures, float(asked or 0)),)
