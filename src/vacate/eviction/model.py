"""The values that the engine decides upon, and the actions that it may return."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from enum import Enum, StrEnum


class Stage(StrEnum):
    """How far an eviction has come, in one word."""

    INTERCEPTING = "Intercepting"
    EVICTING = "Evicting"
    BLOCKED = "Blocked"
    TERMINATING = "Terminating"
    COMPLETE = "Complete"
    CANCELLED = "Cancelled"
    SUPERSEDED = "Superseded"  # cancelled, and a new request takes over the requesters


class CompletionReason(StrEnum):
    """Why a request is complete: the reason of its condition Complete."""

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


class SupersedeCause(StrEnum):
    """Why a request is superseded by a new one, in which interceptors get a turn."""

    REGISTERED = "InterceptorsRegistered"  # after the request was created
    RECONSIDERED = "InterceptorReconsidered"  # one that declined can prepare the pod now
    RETRY = "RetryRequested"  # by a user


@dataclass(frozen=True, slots=True)
class Termination:
    """A target that is terminating already, and what could delay that."""

    ends: dt.datetime  # when its grace period is over
    finalizers: tuple[str, ...] = ()
    node: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The pod to evict."""

    presence: Presence = Presence.LIVE
    terminal: bool = False
    termination: Termination | None = None
    # Why the eviction API is not for this target; empty where it is.
    unevictable: str = ""
    # Read from the API server itself for this decision, not from a cache.
    live: bool = False
    # The interceptors that the pod registers now: a new request would have them.
    registered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvictionState:
    """The state of one eviction request."""

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
    # The stage that was recorded last: a report, which decides what is news and never what is next.
    stage: Stage | None = None
    # Interceptors that declined, and have taken that back.
    reconsidered: tuple[str, ...] = ()
    # What users ask for: another try of a blocked eviction, and turns that are to end.
    retry: bool = False
    skipped: tuple[str, ...] = ()
    pushed_by: str = ""
    trusts_heartbeats: bool = False  # the API server itself refuses those that are not of its present time
    ended: tuple[str, ...] = ()  # interceptors whose turns are over, where no other can follow
    exhausted: bool = False  # whoever evicts the target by this API has ended the last turn
    supersedes: bool = False  # it took over the requesters of an earlier request


@dataclass(frozen=True, slots=True)
class Limits:
    """What an administrator allows every request, and all drains together, at most; None is no limit."""

    interceptors: int | None = None  # how many of a pod's interceptors get a turn
    duration: dt.timedelta | None = None  # from the creation of a request until the pod is evicted
    draining_nodes: int | str | None = None  # drained at the same time: a number, or a percentage of all
    topology_key: str = ""  # a node label: nodes with two values of it are never drained at the same time


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """When the decision is made, and what its caller remembers."""

    now: dt.datetime
    # Since when the watch has lasted without a gap: a missing heartbeat counts only while it is watched for.
    watching_since: dt.datetime
    # When the next eviction may be tried; None means at once.
    next_attempt: dt.datetime | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class AlreadyComplete:
    """Complete; nothing may change any more."""


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """The request did not pass admission: it is not processed, and says so."""


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """Read the target from the API server, then decide again."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Mark the request as complete."""

    reason: CompletionReason


@dataclass(frozen=True, slots=True)
class Assign:
    """Give the turn to an interceptor."""

    interceptor: str
    turn: Turn
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict the target through the API now."""

    # Whether to read the request itself once more before: a late heartbeat may be on its way to the cache.
    recheck: bool
    # The administrator's limit that ended the interceptors' turns, in a sentence; empty where none did.
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """End the active interceptor's turn, as a user asked."""

    interceptor: str
    by: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Complete the request, and have a new one take over its requesters: interceptors get a turn there."""

    cause: SupersedeCause
    interceptors: tuple[str, ...] = ()  # because of whom
    by: str = ""  # the user who asked for it


@dataclass(frozen=True, slots=True)
class CorrectHeartbeat:
    """Set a heartbeat from the future back to now: it would keep its interceptor active for ever."""

    heartbeat: dt.datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait. The stage, and the message where there is one, are written if they are news."""

    stage: Stage
    message: str | None = None
    until: dt.datetime | None = None


Action = (
    AlreadyComplete
    | NotAdmitted
    | ReadTarget
    | Finish
    | Assign
    | Skip
    | Supersede
    | CorrectHeartbeat
    | Evict
    | Hold
)
