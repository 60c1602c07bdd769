"""What an interceptor writes, as merge patches of the status: differences only, guarded by resourceVersion.

A merge patch replaces lists, so the conditions of others travel along as they were read; the guard makes sure
that they are still the newest.
"""

from __future__ import annotations

import datetime as dt

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.api.types.evictionrequest import (
    MAX_CONDITIONS,
    MAX_MESSAGE,
    OWN_CONDITIONS,
    EvictionRequest,
    RequestCondition,
)
from vacate.eviction.dialects.registry import dialect_of
from vacate.kube.patches import guarded
from vacate.sdk.errors import ContractError
from vacate.sdk.values import NO_ESTIMATE, Cancellation, Condition, Report

_A_TICK = dt.timedelta(microseconds=1)
_STATUSES = ("True", "False", "Unknown")


def status_patch(
    request: EvictionRequest, report: Report, now: dt.datetime, *, beat: bool, completed: bool = False
) -> Obj | None:
    """The report as a difference to the request, with a heartbeat or the end of the turn; None for none."""
    check_report(request, report)
    status = _changes_reported(request, report)
    if report.conditions and (conditions := _conditions(request, report.conditions, now)) is not None:
        status["conditions"] = conditions
    if beat:
        status["heartbeatTime"] = format_exact_time(next_heartbeat(request, now))
    if completed:
        status["activeInterceptorCompleted"] = True
    if not status:
        return None
    return guarded(request.metadata, {"status": status})


def next_heartbeat(request: EvictionRequest, now: dt.datetime) -> dt.datetime:
    """Now, or just after the stored one where the clock of its writer is ahead of ours.

    A heartbeat never falls back, and one that does not move would look as if nobody had responded.
    """
    stored = request.status.heartbeat_time
    return now if stored is None else max(now, stored + _A_TICK)


def check_report(request: EvictionRequest, report: Report) -> None:
    """Raise a ContractError for what the server would refuse, and for what it could not know to be wrong."""
    if report.cancellation is Cancellation.FORBID and not dialect_of(request).can_forbid:
        raise ContractError("cancellation cannot be forbidden: lifecycle.k8s.io has no way to say so")
    if report.cancellation is Cancellation.FORBID and not request.forbids_cancellation:
        if request.metadata.deletion_timestamp is not None:
            raise ContractError("cancellation cannot be forbidden: the request is being deleted")
        if not request.spec.requesters:
            raise ContractError("cancellation cannot be forbidden: the request no longer has any requesters")
    finish = report.expected_finish
    if isinstance(finish, dt.datetime) and finish.tzinfo is None:
        raise ContractError(f"expected_finish: {finish} has no time zone; give it one, UTC for example")
    _check_conditions(request, report.conditions)


def _check_conditions(request: EvictionRequest, conditions: tuple[Condition, ...]) -> None:
    for one in conditions:
        if one.type in OWN_CONDITIONS:
            raise ContractError(f"condition {one.type} is the controller's; choose another type")
        if not one.type or not one.reason:
            raise ContractError("a condition needs a type and a reason")
        if one.written_status not in _STATUSES:
            raise ContractError(
                f"condition {one.type}: status {one.status!r} is not one of True, False and Unknown"
            )
    others = {one.type for one in request.status.conditions}
    types = others.union(one.type for one in conditions) - set(OWN_CONDITIONS)
    room = MAX_CONDITIONS - len(OWN_CONDITIONS)
    if conditions and len(types) > room:
        raise ContractError(
            f"there would be {len(types)} conditions beside the controller's, of at most {room}"
        )


def _changes_reported(request: EvictionRequest, report: Report) -> Obj:
    """Of a report what is news."""
    status = request.status
    changes: Obj = {}
    message = None if report.message is None else report.message[:MAX_MESSAGE]
    if message is not None and message != status.message:
        changes["message"] = message
    finish = report.expected_finish
    if finish is NO_ESTIMATE:
        if status.expected_interceptor_finish_time is not None:
            changes["expectedInterceptorFinishTime"] = None
    elif isinstance(finish, dt.datetime) and finish != status.expected_interceptor_finish_time:
        changes["expectedInterceptorFinishTime"] = format_exact_time(finish)
    if report.cancellation not in (None, status.eviction_request_cancellation_policy):
        changes["evictionRequestCancellationPolicy"] = str(report.cancellation)
    return changes


def _conditions(
    request: EvictionRequest, reported: tuple[Condition, ...], now: dt.datetime
) -> list[Obj] | None:
    """All conditions of the request with the new ones among them; None where nothing changes."""
    before = {one.type: one for one in request.status.conditions}
    after = before | {one.type: _condition(before.get(one.type), one, now) for one in reported}
    return None if before == after else [_written(one) for one in after.values()]


def _condition(before: RequestCondition | None, reported: Condition, now: dt.datetime) -> RequestCondition:
    same = before is not None and before.status == reported.written_status
    return RequestCondition(
        type=reported.type,
        status=reported.written_status,
        reason=reported.reason,
        message=reported.message[:MAX_MESSAGE],
        last_transition_time=before.last_transition_time if before is not None and same else now,
        observed_generation=before.observed_generation if before is not None else 0,
    )


def _written(one: RequestCondition) -> Obj:
    """The condition as it goes over the wire: all that the API requires, its time to the last digit."""
    written: Obj = msgspec.to_builtins(one)
    written["message"] = one.message
    if one.last_transition_time is not None:
        written["lastTransitionTime"] = format_exact_time(one.last_transition_time)
    return written
