"""What next? The one decision of the process, for every dialect and for everyone who asks.

The first question that is answered with yes decides; their order is the contract.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from vacate.api.times import after
from vacate.eviction.deadlines import from_the_future, given_up, next_turn, overdue_at
from vacate.eviction.model import (
    Action,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Ending,
    Evict,
    Finish,
    Hold,
    Presence,
    Process,
    ReadTarget,
    Settled,
    Stage,
    Target,
    Termination,
    Turn,
    Unadmitted,
)

TERMINATION_OVERDUE_AFTER = dt.timedelta(seconds=10)
"""How long after its grace a target may still be there before the request says why."""


def decide(process: Process, target: Target, moment: DecisionContext) -> Action:
    """The next step of the process."""
    if process.complete:
        return Settled()
    if not process.admitted:
        return Unadmitted()
    if target.presence is Presence.UNSEEN:
        return ReadTarget()
    ending = _ending(process, target)
    if ending is not None:
        return Finish(ending)
    if target.departure is not None:
        return _await_departure(process, target.departure, moment.now)
    if process.stage is Stage.TERMINATING and not target.live:
        # Nobody comes back from there: the cache is behind, or the report is wrong. The server decides.
        return ReadTarget()
    limit = reached_limit(process, moment)
    return (None if limit else _turn(process, moment)) or _evict(process, target, moment, limit)


def cancelled(process: Process) -> bool:
    """Whether nobody wants the target gone any more; one that forbids cancellation goes on regardless."""
    unwanted = process.being_deleted or not process.requesters
    return unwanted and not process.forbids_cancellation


def _ending(process: Process, target: Target) -> Ending | None:
    if target.presence is Presence.GONE:
        return Ending.POD_DELETED
    if target.terminal:
        return Ending.POD_TERMINATED
    return Ending.CANCELLED if cancelled(process) else None


def _await_departure(process: Process, departure: Termination, now: dt.datetime) -> Hold:
    """Nobody's turn comes while the target is going.

    A plain eviction costs no write for this, unless the target overstays: only then is there news.
    """
    told_at = after(departure.ends, TERMINATION_OVERDUE_AFTER)
    if now >= told_at:
        return Hold(Stage.TERMINATING, _held_up(departure))
    # Said once: on a clock that is behind it would be said again, against one that is ahead.
    news = process.stage is not Stage.TERMINATING and (process.interceptors or process.stage is not None)
    if news:
        return Hold(Stage.TERMINATING, _leaving(departure), told_at)
    return Hold(Stage.TERMINATING, until=told_at)


def _leaving(departure: Termination) -> str:
    return "The pod is terminating; its grace period is awaited."


def _held_up(departure: Termination) -> str:
    if departure.finalizers:
        names = ", ".join(departure.finalizers)
        return f"The pod is terminating and its grace period is over; it is held by its finalizers: {names}."
    if departure.node:
        return (
            "The pod is terminating and its grace period is over; "
            f"node {departure.node} has not yet confirmed that its containers ended."
        )
    return "The pod is terminating and its grace period is over; its removal is awaited."


def _turn(process: Process, moment: DecisionContext) -> Action | None:
    """Whose turn it is, or None when all have had theirs."""
    if not process.interceptors:
        return None
    if process.active is None:
        return Assign(process.interceptors[0], Turn.FIRST)
    if not process.active_completed and from_the_future(process, moment.now):
        return CorrectHeartbeat(moment.now)
    if not process.active_completed and not given_up(process, moment.now):
        overdue = overdue_at(process, moment.watching_since, moment.now)
        if moment.now < overdue:
            return _limited(Hold(Stage.INTERCEPTING, until=overdue), process, moment)
    following = next_turn(process)
    if following is None:
        return None
    turn = Turn.PREVIOUS_COMPLETED if process.active_completed else Turn.PREVIOUS_TIMED_OUT
    return Assign(following, turn, process.active)


def reached_limit(process: Process, moment: DecisionContext) -> str:
    """The administrator's limit that ends the turns of interceptors, in a sentence; empty where none does."""
    if not process.interceptors:
        return ""
    most, limits = moment.limits.interceptors, moment.limits
    if limits.duration is not None and moment.now >= process.created + limits.duration:
        return (
            f"The request has reached the administrator's limit of {limits.duration} for its total time: "
            "interceptors are no longer waited for, and the pod is evicted."
        )
    if most is None or len(process.interceptors) <= most:
        return ""
    asked = process.interceptors[:most]
    if process.active is None:
        return "" if asked else _too_many(most)
    ended = process.active not in asked or (process.active == asked[-1] and _turn_ended(process, moment))
    return _too_many(most) if ended else ""


def _too_many(most: int) -> str:
    return (
        f"The administrator's limit of {most} interceptors for each pod is reached: "
        "the others are not asked, and the pod is evicted."
    )


def _turn_ended(process: Process, moment: DecisionContext) -> bool:
    if process.active_completed or given_up(process, moment.now):
        return True
    ahead = from_the_future(process, moment.now)
    return not ahead and moment.now >= overdue_at(process, moment.watching_since, moment.now)


def _limited(action: Action, process: Process, moment: DecisionContext) -> Action:
    """An interceptor is not waited for beyond the request's total time."""
    duration = moment.limits.duration
    if duration is None or not isinstance(action, Hold) or action.until is None:
        return action
    return replace(action, until=min(action.until, process.created + duration))


def _evict(process: Process, target: Target, moment: DecisionContext, limit: str = "") -> Action:
    if target.unevictable:
        return Hold(Stage.BLOCKED, target.unevictable)
    if moment.next_attempt is not None and moment.now < moment.next_attempt:
        return Hold(Stage.BLOCKED if process.failed_evictions else Stage.EVICTING, until=moment.next_attempt)
    # Requesters may have withdrawn, or a late heartbeat come in, while the eviction was waited for.
    return Evict(bool(process.interceptors) or process.failed_evictions > 0, limit)
