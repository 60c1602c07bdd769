"""Whose turn it is: down the list, one after the other, each for as long as it reports."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.fielderrors import FieldError, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.deadlines import may_hand_over, next_turn
from vacate.eviction.model import Process
from vacate.eviction.records.reader import process_of

_NAME, _COMPLETED = "status.activeInterceptorName", "status.activeInterceptorCompleted"
_HEARTBEAT = "status.heartbeatTime"

ASSIGNMENT_TOLERANCE = dt.timedelta(seconds=60)
"""How old the first heartbeat of a turn may be: each interceptor gets its full time."""


def turn_errors(
    status: Obj, request: EvictionRequest, now: dt.datetime, *, completes: bool
) -> list[FieldError]:
    """Errors of the step from the request as it was to this status."""
    process = process_of(request)
    name = status.get("activeInterceptorName") or None
    if name == process.active:
        if completes and name is not None:
            return [forbidden(_NAME, "must be unset when the request is complete")]
        return _within_turn(status, process, completes=completes)
    if name is None:
        detail = "may not be unset before the request is complete"
        return [] if completes else [required(_NAME, detail)]
    if completes:
        return [forbidden(_NAME, "must be unset when the request is complete")]
    return [*_order_errors(name, process, now), *_beginning_errors(status, now)]


def _within_turn(status: Obj, process: Process, *, completes: bool) -> list[FieldError]:
    found: list[FieldError] = []
    completed = status.get("activeInterceptorCompleted") is True
    if process.active is None and process.interceptors:
        if status.get("heartbeatTime") is not None and process.heartbeat is None:
            found.append(forbidden(_HEARTBEAT, "may not be set before an interceptor has its turn"))
        if completed:
            found.append(forbidden(_COMPLETED, "may not be true before an interceptor has its turn"))
    elif process.active_completed and not completed and not completes:
        found.append(invalid(_COMPLETED, False, "may not be taken back before the next turn"))
    return found


def _order_errors(name: str, process: Process, now: dt.datetime) -> list[FieldError]:
    expected = next_turn(process)
    if not process.interceptors:
        return [invalid(_NAME, name, "the request has no interceptors")]
    if expected is None:
        return [invalid(_NAME, name, f'no interceptor comes after "{process.active}"')]
    if name != expected:
        return [invalid(_NAME, name, f'must be "{expected}", whose turn is next')]
    if not may_hand_over(process, now):
        detail = f'"{process.active}" has neither completed nor missed its deadline'
        return [forbidden(_NAME, f"the turn may not pass on: {detail}")]
    return []


def _beginning_errors(status: Obj, now: dt.datetime) -> list[FieldError]:
    """A turn begins fresh: nothing is completed yet, and its time runs from now."""
    found: list[FieldError] = []
    if status.get("activeInterceptorCompleted") is True:
        found.append(invalid(_COMPLETED, True, "must be false when a turn begins"))
    heartbeat = status.get("heartbeatTime")
    if heartbeat is None:
        found.append(required(_HEARTBEAT, "must be set when a turn begins"))
    elif _age(heartbeat, now) > ASSIGNMENT_TOLERANCE:
        seconds = int(ASSIGNMENT_TOLERANCE.total_seconds())
        found.append(
            invalid(_HEARTBEAT, heartbeat, f"may not be more than {seconds} seconds ago when a turn begins")
        )
    return found


def _age(heartbeat: Any, now: dt.datetime) -> dt.timedelta:
    try:
        return now - parse_time(heartbeat)
    except (ValueError, OverflowError):
        return dt.timedelta()  # the schema's affair
