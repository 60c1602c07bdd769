"""What next? The one decision of the eviction process, for every dialect and every caller.

The first condition that holds decides; their order is the contract.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from vacate.api.times import after
from vacate.eviction.deadlines import (
    FUTURE_TOLERANCE,
    deadline_of,
    from_the_future,
    next_turn,
    overdue_at,
    timed_out_before,
)
from vacate.eviction.model import (
    Action,
    AlreadyComplete,
    Assign,
    CompletionReason,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    EvictionState,
    Finish,
    Hold,
    NotAdmitted,
    Presence,
    ReadTarget,
    Skip,
    Stage,
    Supersede,
    SupersedeCause,
    Target,
    Termination,
    Turn,
)

TERMINATION_OVERDUE_AFTER = dt.timedelta(seconds=10)
"""How long after its grace period a target may still exist before the request says why."""

SUPERSEDE_PAUSE = dt.timedelta(seconds=15)
"""How long a request that took over from another one lasts at least, before it is superseded itself."""


def decide(process: EvictionState, target: Target, context: DecisionContext) -> Action:
    """The next step of the process."""
    if process.complete:
        return AlreadyComplete()
    if not process.admitted:
        return NotAdmitted()
    if target.presence is Presence.UNSEEN:
        return ReadTarget()
    reason = _completion_reason(process, target)
    if reason is not None:
        return Finish(reason)
    if target.termination is not None:
        return _await_termination(process, target.termination, context.now)
    if process.stage is Stage.TERMINATING and not target.live:
        # A pod never stops terminating: the cache is behind, or the report is wrong. The server decides.
        return ReadTarget()
    if process.exhausted:  # what the controller does itself ends like that too, once the target is gone
        return Finish(CompletionReason.CANCELLED) if target.live else ReadTarget()
    limit = reached_limit(process, context)
    if not limit and process.active in process.skipped and not process.active_completed:
        return Skip(process.active or "", process.pushed_by)
    return (None if limit else _turn(process, context)) or _evict(process, target, context, limit)


def cancelled(process: EvictionState) -> bool:
    """Whether no requester is left; a request that forbids cancellation continues regardless."""
    without_requesters = process.being_deleted or not process.requesters
    return without_requesters and not process.forbids_cancellation


def _completion_reason(process: EvictionState, target: Target) -> CompletionReason | None:
    if target.presence is Presence.GONE:
        return CompletionReason.POD_DELETED
    if target.terminal:
        return CompletionReason.POD_TERMINATED
    return CompletionReason.CANCELLED if cancelled(process) else None


def _await_termination(process: EvictionState, termination: Termination, now: dt.datetime) -> Hold:
    """No turn begins or ends while the target terminates.

    A plain eviction costs no write for this, unless the termination is overdue: only then is there news.
    """
    overdue = after(termination.ends, TERMINATION_OVERDUE_AFTER)
    if now >= overdue:
        return Hold(Stage.TERMINATING, _overdue(termination))
    # Written once: a replica whose clock is behind would write it again, against one that is ahead.
    news = process.stage is not Stage.TERMINATING and (process.interceptors or process.stage is not None)
    if news:
        return Hold(Stage.TERMINATING, _in_grace(termination), overdue)
    return Hold(Stage.TERMINATING, until=overdue)


def _in_grace(termination: Termination) -> str:
    return "The pod is terminating; waiting for its grace period to end."


def _overdue(termination: Termination) -> str:
    if termination.finalizers:
        names = ", ".join(termination.finalizers)
        return f"The pod is terminating and its grace period is over; its finalizers keep it: {names}."
    if termination.node:
        return (
            "The pod is terminating and its grace period is over; "
            f"node {termination.node} has not yet confirmed that its containers have stopped."
        )
    return "The pod is terminating and its grace period is over; waiting for its deletion."


def _turn(process: EvictionState, context: DecisionContext) -> Action | None:
    """Whose turn it is, or None when all have had theirs."""
    if not process.interceptors:
        return None
    if process.active is None:
        return Assign(process.interceptors[0], Turn.FIRST)
    if not process.active_completed and from_the_future(process, context.now):
        return CorrectHeartbeat(context.now)
    if not process.active_completed and not timed_out_before(process, context.now):
        overdue = overdue_at(process, context.watching_since, context.now)
        if context.now < overdue:
            return _limited(Hold(_waiting_stage(process, context.now), until=overdue), process, context)
    following = next_turn(process)
    if following is None:
        return None
    turn = Turn.PREVIOUS_COMPLETED if process.active_completed else Turn.PREVIOUS_TIMED_OUT
    return Assign(following, turn, process.active)


def _waiting_stage(process: EvictionState, now: dt.datetime) -> Stage:
    """What is reported while the active interceptor is waited for.

    Close to the deadline another controller, whose clock is ahead or which has watched for longer, may have
    reported already that the turn is over: its report stays, so that the two do not write against each other.
    """
    reported = process.stage in (Stage.EVICTING, Stage.BLOCKED)
    near = now >= deadline_of(process, now) - FUTURE_TOLERANCE
    return process.stage if process.stage and reported and near else Stage.INTERCEPTING


def reached_limit(process: EvictionState, context: DecisionContext) -> str:
    """The administrator's limit that ends the turns of interceptors, in a sentence; empty where none does."""
    if not process.interceptors:
        return ""
    most, limits = context.limits.interceptors, context.limits
    if limits.duration is not None and context.now >= process.created + limits.duration:
        return (
            f"The request has reached the administrator's limit of {limits.duration} for its total time: "
            "it no longer waits for interceptors, and the pod is evicted."
        )
    if most is None or len(process.interceptors) <= most:
        return ""
    allowed = process.interceptors[:most]
    if process.active is None:
        return "" if allowed else _too_many(most)
    ended = process.active not in allowed or (process.active == allowed[-1] and _turn_ended(process, context))
    return _too_many(most) if ended else ""


def _too_many(most: int) -> str:
    return (
        f"The administrator's limit of {most} interceptors for each pod is reached: "
        "the others get no turn, and the pod is evicted."
    )


def _turn_ended(process: EvictionState, context: DecisionContext) -> bool:
    if process.active_completed or timed_out_before(process, context.now):
        return True
    ahead = from_the_future(process, context.now)
    return not ahead and context.now >= overdue_at(process, context.watching_since, context.now)


def _limited(action: Action, process: EvictionState, context: DecisionContext) -> Action:
    """An interceptor is not waited for beyond the request's total time."""
    duration = context.limits.duration
    if duration is None or not isinstance(action, Hold) or action.until is None:
        return action
    return replace(action, until=min(action.until, process.created + duration))


def _evict(process: EvictionState, target: Target, context: DecisionContext, limit: str = "") -> Action:
    if target.unevictable:
        return Hold(Stage.BLOCKED, target.unevictable)
    if context.next_attempt is not None and context.now < context.next_attempt:
        until = context.next_attempt
        if not limit and (wanted := _supersede(process, target)) is not None:
            due = after(process.created, SUPERSEDE_PAUSE) if process.supersedes else context.now
            if context.now >= due:
                return wanted
            until = min(until, due)
        return Hold(Stage.BLOCKED if process.failed_evictions else Stage.EVICTING, until=until)
    # Requesters may have withdrawn, or a late heartbeat arrived, since the eviction was scheduled.
    return Evict(bool(process.interceptors) or process.failed_evictions > 0, limit)


def _supersede(process: EvictionState, target: Target) -> Supersede | None:
    """Whether interceptors would get a turn in a new request that have none in this one; refused it was.

    The interceptors of a request are fixed. As long as it waits for a budget only, nothing is lost with it.
    """
    if not process.failed_evictions or process.forbids_cancellation:
        return None
    known = (*process.interceptors, *process.ended)
    new = tuple(name for name in target.registered if name not in known)
    if new:
        return Supersede(SupersedeCause.REGISTERED, new)
    again = tuple(name for name in process.reconsidered if name in target.registered)
    if again:
        return Supersede(SupersedeCause.RECONSIDERED, again)
    if process.retry and target.registered:
        return Supersede(SupersedeCause.RETRY, target.registered, process.pushed_by)
    return None
