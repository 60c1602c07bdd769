"""Whose turn it was: down the list, one by one, and nobody is passed over who reported in time.

The rules stand here once more in their own words: one that asked the engine would share its mistakes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from vacate.api.types.evictionrequest import INTERCEPTOR_ASSIGNED, EvictionRequest
from vacate.api.types.meta import condition
from vacate.sim.invariants.history import RequestHistory, Step

SKEW = dt.timedelta(seconds=10)
"""How far the clock of a process may be from the true time."""


def turn_breaches(step: Step) -> Iterator[str]:
    """What is wrong with how a step changed the active interceptor."""
    if step.after is None:
        return
    after = step.after.request
    was = step.before.request.status.active_interceptor_name if step.before else None
    now = after.status.active_interceptor_name
    if was != now:
        yield from _passed_on(step, was, now)
    elif step.before is not None:
        yield from _same_turn(step.before.request, after)


def _passed_on(step: Step, was: str | None, now: str | None) -> Iterator[str]:
    assert step.after is not None
    after = step.after.request
    names = [one.name for one in after.spec.interceptors]
    if not now:
        if not after.complete:
            yield f"{was} lost its turn, and no other got it"
        return
    if now not in names:
        yield f"{now} has the turn and is not in the list"
        return
    expected = len(names) - 1 if not was else names.index(was) - 1
    if names.index(now) != expected:
        yield f"the turn went from {was or 'none'} to {now}, and the list is {', '.join(names)}"
    if was and step.before is not None and not may_pass(step.before.request, step.now):
        yield f"{was} was passed over within its deadline, {_since(step.before.request, step.now)}"
    yield from _fresh(after)


def premature_turn_breaches(history: RequestHistory, starts: Sequence[float]) -> Iterator[str]:
    """Turns that were taken away by a controller that had not listened for a tenth of the deadline.

    `starts` are the times at which the only controller began to listen, in order.
    """
    for step in history.steps:
        before, after = (one.request if one else None for one in (step.before, step.after))
        if before is None or after is None or before.status.active_interceptor_completed:
            continue
        was, now = before.status.active_interceptor_name, after.status.active_interceptor_name
        if not was or not now or was == now:
            continue
        began = max((start for start in starts if start <= step.at), default=0.0)
        if step.at - began < before.spec.heartbeat_deadline_seconds / 10:
            yield f"{step}: {was} timed out {step.at - began:.1f} s after the controller began to listen"


def may_pass(request: EvictionRequest, now: dt.datetime) -> bool:
    """Whether the active one is done, or silent for too long on the most hurried clock."""
    status, spec = request.status, request.spec
    since = status.heartbeat_time or request.metadata.creation_timestamp or now
    overdue = now + SKEW >= since + dt.timedelta(seconds=spec.heartbeat_deadline_seconds)
    return status.active_interceptor_completed or overdue


def _since(request: EvictionRequest, now: dt.datetime) -> str:
    return f"{(now - (request.status.heartbeat_time or now)).total_seconds():.1f} s after its heartbeat"


def _fresh(after: EvictionRequest) -> Iterator[str]:
    """An assignment begins anew: nothing of the one before is left."""
    status, began = after.status, condition(after.status.conditions, INTERCEPTOR_ASSIGNED)
    if status.active_interceptor_completed or status.expected_interceptor_finish_time is not None:
        yield "the new turn begins with what the one before left"
    if began is None or began.status != "True" or status.heartbeat_time != began.last_transition_time:
        yield "the new turn's heartbeat is not the instant of its assignment"


def _same_turn(before: EvictionRequest, after: EvictionRequest) -> Iterator[str]:
    old, new = before.status, after.status
    if (
        old.active_interceptor_completed
        and not new.active_interceptor_completed
        and new.active_interceptor_name
    ):
        yield f"{old.active_interceptor_name} had completed its turn and has not any more"
    if old.heartbeat_time is not None:
        if new.heartbeat_time is None:
            yield "the heartbeat was taken back"
        elif old.heartbeat_time - new.heartbeat_time > SKEW:
            yield f"the heartbeat fell back from {old.heartbeat_time} to {new.heartbeat_time}"
