"""The values that the engine decides upon, and the actions that it may call for."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from enum import Enum, StrEnum


class Stage(StrEnum):
    """How far a leave has come, in the one word that an admin looks for."""

    INTERCEPTING = "Intercepting"
    EVICTING = "Evicting"
    BLOCKED = "Blocked"
    TERMINATING = "Terminating"
    COMPLETE = "Complete"
    CANCELLED = "Cancelled"


class Ending(StrEnum):
    """Why a process is over."""

    POD_DELETED = "PodDeleted"
    POD_TERMINATED = "PodTerminated"
    CANCELLED = "Cancelled"


class Presence(Enum):
    """What is known about the target's existence."""

    LIVE = "live"
    GONE = "gone"  # an observed deletion or a live read says so; another uid under the name counts as gone
    UNSEEN = "unseen"  # the cache does not have it, which proves nothing


class Turn(StrEnum):
    """Why an interceptor's turn has come."""

    FIRST = "FirstInterceptor"
    PREVIOUS_COMPLETED = "PreviousCompleted"
    PREVIOUS_TIMED_OUT = "PreviousTimedOut"


@dataclass(frozen=True, slots=True)
class Termination:
    """A target that is going already, and what could hold it up."""

    ends: dt.datetime  # when its grace is over
    finalizers: tuple[str, ...] = ()
    node: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What should leave."""

    presence: Presence = Presence.LIVE
    terminal: bool = False
    departure: Termination | None = None
    # Why the eviction API is not for this target; empty where it is.
    unevictable: str = ""
    # Read from the API server itself for this decision, not from a cache.
    live: bool = False


@dataclass(frozen=True, slots=True)
class Process:
    """One request to leave, as it stands."""

    interceptors: tuple[str, ...]  # in the order of their turns
    requesters: tuple[str, ...]
    deadline: dt.timedelta
    created: dt.datetime
    being_deleted: bool = False
    forbids_cancellation: bool = False
    complete: bool = False
    admitted: bool = True
    active: str | None = None
    active_completed: bool = False
    heartbeat: dt.datetime | None = None
    failed_evictions: int = 0
    # The one that was last written down: a report, which decides what is news and never what is next.
    stage: Stage | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What an administrator allows every request at most; None is no limit."""

    interceptors: int | None = None  # how many of a pod's interceptors are asked
    duration: dt.timedelta | None = None  # from the creation of a request until the pod is evicted


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """When the decision is made, and what the decider remembers."""

    now: dt.datetime
    # Since when changes have been seen without a gap: silence counts only while someone listens.
    watching_since: dt.datetime
    # When the next eviction may be tried; None means at once.
    next_attempt: dt.datetime | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Settled:
    """Over and written down; nothing may change any more."""


@dataclass(frozen=True, slots=True)
class Unadmitted:
    """The request did not pass admission: it is not processed, and says so."""


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """Ask the server itself whether the target is there, then decide again."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Write down that it is over."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Assign:
    """Give the turn to an interceptor."""

    interceptor: str
    turn: Turn
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    """Ask the server to evict the target now."""

    # Whether to read the request itself once more before: a late heartbeat may be on its way to the cache.
    look_again: bool
    # The administrator's limit that ended the interceptors' turns, in a sentence; empty where none did.
    limit: str = ""


@dataclass(frozen=True, slots=True)
class CorrectHeartbeat:
    """Set a heartbeat from the future back to now: it would keep its interceptor active for ever."""

    heartbeat: dt.datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait. The stage, and the message where there is one, are written down if they are news."""

    stage: Stage
    message: str | None = None
    until: dt.datetime | None = None


Action = Settled | Unadmitted | ReadTarget | Finish | Assign | CorrectHeartbeat | Evict | Hold
