"""Decisions as merge patches of an EvictionRequest's status: differences only, guarded by resourceVersion.

A merge patch replaces lists, so the conditions of others travel along as they were read; the guard makes
sure that they are still the newest.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec

from vacate.api.integers import MAX_INT32
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.api.types.evictionrequest import (
    ADMITTED,
    COMPLETE,
    FORCED,
    IGNORED_REGISTRATION,
    INTERCEPTOR_ASSIGNED,
    MAX_MESSAGE,
    PROGRESSING,
    EvictionRequest,
    RequestCondition,
)
from vacate.eviction.deadlines import FUTURE_TOLERANCE
from vacate.eviction.dialects.turn_conditions import (
    FailureReason,
    failed_type,
    last_message,
    past_turns,
    recorded_turn,
    result_of_turn,
)
from vacate.eviction.model import (
    Assign,
    CompletionReason,
    CorrectHeartbeat,
    Finish,
    Hold,
    Skip,
    Stage,
    Supersede,
    SupersedeCause,
    Turn,
)
from vacate.eviction.records.history import PastTurn, TurnResult, write_history
from vacate.eviction.records.reader import ForcedReason, assigned, forced_by, recorded_stage
from vacate.kube.patches import guarded

_COMPLETION_MESSAGES = {
    CompletionReason.POD_DELETED: "The pod is deleted.",
    CompletionReason.POD_TERMINATED: "The pod has terminated.",
    CompletionReason.CANCELLED: "The eviction request is cancelled.",
}
_TURNS = {
    Turn.FIRST: "Interceptor {0} is active.",
    Turn.PREVIOUS_COMPLETED: "{1} has completed. Interceptor {0} is active.",
    Turn.PREVIOUS_TIMED_OUT: "{1} timed out. Interceptor {0} is active.",
}
_AFTER = {
    TurnResult.FAILED: "{1} failed. Interceptor {0} is active.",
    TurnResult.DECLINED: "{1} has declined. Interceptor {0} is active.",
}
_REASONS = {TurnResult.FAILED: "PreviousFailed", TurnResult.DECLINED: "PreviousDeclined"}
_LAST_TURN = {
    TurnResult.FAILED: "{0} failed: {1}. The pod is evicted unprepared.",
    TurnResult.TIMED_OUT: "{0} timed out. The pod is evicted unprepared.",
    TurnResult.NEVER_RESPONDED: "{0} timed out without responding. The pod is evicted unprepared.",
}
_CAUSES = {
    SupersedeCause.REGISTERED: "the pod now registers {0}",
    SupersedeCause.RECONSIDERED: "{0} declined and asks for another turn",
    SupersedeCause.RETRY: "{1} asked for another try",
}
_OF_THE_ACTIVE = ("activeInterceptorName", "activeInterceptorCompleted", "expectedInterceptorFinishTime")
_UNADMITTED = (
    "The request did not pass Vacate's admission and is not processed. Delete it and create it again while "
    "the admission webhook runs."
)


def finish_patch(request: EvictionRequest, action: Finish, now: dt.datetime) -> Obj:
    """The request is complete: one write for the conditions, the message and what no longer holds."""
    cancelled = action.reason is CompletionReason.CANCELLED
    stage = Stage.CANCELLED if cancelled else Stage.COMPLETE
    return _completed(request, action.reason, stage, _COMPLETION_MESSAGES[action.reason], now)


def supersede_patch(request: EvictionRequest, action: Supersede, now: dt.datetime) -> Obj:
    """The request is over, cancelled by no requester: a new one takes over."""
    message = _cut(superseded_because(request, action))
    return _completed(request, CompletionReason.CANCELLED, Stage.SUPERSEDED, message, now)


def superseded_because(request: EvictionRequest, action: Supersede) -> str:
    """Why a new request takes over, for conditions and Events alike."""
    why = _CAUSES[action.cause].format(", ".join(action.interceptors), action.by or "a user")
    if not request.kind.custom:  # the requests stay
        return f"Another Eviction takes the place of this one: {why}."
    return f"A new request takes over the requesters of this one: {why}."


def skip_patch(request: EvictionRequest, action: Skip, now: dt.datetime) -> Obj:
    """The active interceptor's turn ends as one that failed, because a user asked for that."""
    message = f"Skipped by {action.by or 'a user'}."
    failed = RequestCondition(
        type=failed_type(action.interceptor),
        status="True",
        reason=FailureReason.SKIPPED.value,
        message=message,
        last_transition_time=now,
    )
    return _patch(request, {"activeInterceptorCompleted": True}, [failed])


def _completed(
    request: EvictionRequest, reason: CompletionReason, stage: Stage, message: str, now: dt.datetime
) -> Obj:
    cancelled = reason is CompletionReason.CANCELLED
    status: Obj = {"message": message} if request.status.message != message else {}
    if request.status.active_interceptor_name:
        status |= dict.fromkeys(_OF_THE_ACTIVE)
    elif request.status.expected_interceptor_finish_time:
        status["expectedInterceptorFinishTime"] = None
    changed = [_complete(reason, message, now), _progress(stage, message, now)]
    if request.status.active_interceptor_name:
        result = TurnResult.CANCELLED if cancelled else TurnResult.POD_GONE
        changed.append(_assignment(request, request.status.active_interceptor_name, result, now))
    return _patch(request, status, changed)


def assign_patch(request: EvictionRequest, action: Assign, now: dt.datetime) -> Obj:
    """The turn passes on: the name, a heartbeat of the condition's instant, nothing of the one before."""
    # A heartbeat never falls back: the clock of the interceptor before may be ahead of ours. One from the
    # future is no heartbeat, and is not handed on.
    before = request.status.heartbeat_time or now
    began = now if before - now > FUTURE_TOLERANCE else max(now, before)
    ended = result_of_turn(request, action.previous) if action.previous else None
    message = _AFTER.get(ended, _TURNS[action.turn]) if ended else _TURNS[action.turn]
    message = message.format(action.interceptor, action.previous)
    status: Obj = {
        "activeInterceptorName": action.interceptor,
        "activeInterceptorCompleted": False,
        "heartbeatTime": format_exact_time(began),
        "expectedInterceptorFinishTime": None,
        "message": message,
    }
    assignment = RequestCondition(
        type=INTERCEPTOR_ASSIGNED,
        status="True",
        reason=_REASONS.get(ended, action.turn.value) if ended else action.turn.value,
        message=write_history(_turns_before(request, action, now)),
        last_transition_time=began,
    )
    return _patch(request, status, [assignment, _progress(Stage.INTERCEPTING, message, now)])


def last_turn_patch(request: EvictionRequest, now: dt.datetime) -> Obj | None:
    """The last interceptor's turn is over and the pod is to be evicted: write that down, once.

    An interceptor may come back after a time-out and complete: the newer end takes the place of the old.
    """
    name, before = request.status.active_interceptor_name, assigned(request)
    if not name or before is None or not request.spec.interceptors:
        return None
    if recorded_turn(request, name) is not None:
        return None
    ended = _ended_turn(request, name, now)
    message = _cut(_LAST_TURN.get(ended.result, "").format(name, ended.message.rstrip(".")))
    status: Obj = {"message": message} if message else {}
    assignment = msgspec.structs.replace(before, message=write_history(_with_turn(request, ended)))
    return _patch(request, status, [assignment, _progress(Stage.EVICTING, message, now)])


def heartbeat_patch(request: EvictionRequest, action: CorrectHeartbeat) -> Obj:
    """A heartbeat from the future, set back."""
    return guarded(request.metadata, {"status": {"heartbeatTime": format_exact_time(action.heartbeat)}})


def limit_patch(request: EvictionRequest, limit: str, now: dt.datetime) -> Obj | None:
    """Say once that an administrator's limit ended the turns of interceptors, before the pod is evicted."""
    if recorded_stage(request) in (Stage.EVICTING, Stage.BLOCKED, Stage.TERMINATING):
        return None
    message = _cut(limit)
    forced = _forced(ForcedReason.LIMIT_REACHED, message, now)
    return _patch(request, {"message": message}, [_progress(Stage.EVICTING, message, now), forced])


def prepared_patch(request: EvictionRequest, why: str, now: dt.datetime) -> Obj | None:
    """Say once that the pod is deleted past its own budget, before it is: a record of it must exist then."""
    if forced_by(request) is not None:
        return None
    return _patch(request, {}, [_forced(ForcedReason.DELETED_WHEN_PREPARED, why, now)])


def hold_patch(request: EvictionRequest, action: Hold, now: dt.datetime) -> Obj | None:
    """The stage or the message where they are news, else None."""
    message = None if action.message is None else _cut(action.message)
    changed = message is not None and request.status.message != message
    if recorded_stage(request) is action.stage and not changed:
        return None
    if message is None and action.stage in (Stage.EVICTING, Stage.TERMINATING):
        return None
    if action.stage is Stage.INTERCEPTING and recorded_stage(request) is None:
        return None
    status: Obj = {"message": message} if changed else {}
    return _patch(request, status, [_progress(action.stage, message or "", now)])


def refusal_patch(request: EvictionRequest, why: str, now: dt.datetime) -> Obj:
    """One more eviction was refused, and why."""
    before = request.status.pod_eviction_status
    counted = min((before.failed_api_eviction_counter if before else 0) + 1, MAX_INT32)
    message = _cut(f"The eviction was refused: {why}")
    status: Obj = {"message": message, "podEvictionStatus": {"failedAPIEvictionCounter": counted}}
    changed = [_progress(Stage.BLOCKED, message, now)]
    forced = forced_by(request)
    if forced is not None and forced.reason == ForcedReason.DELETED_WHEN_PREPARED:
        changed.append(msgspec.structs.replace(forced, status="False", message=message))  # nor was it deleted
    return _patch(request, status, changed)


def registration_patch(request: EvictionRequest, now: dt.datetime) -> Obj | None:
    """Say once that the pod's registration of interceptors is malformed and counts as none."""
    ignored = request.metadata.annotations.get(IGNORED_REGISTRATION)
    if not ignored or any(one.type == ADMITTED for one in request.status.conditions):
        return None
    message = _cut(
        f"No interceptor gets a turn: the pod's registration of interceptors is malformed. {ignored}"
    )
    admitted = RequestCondition(
        type=ADMITTED, status="True", reason="RegistrationIgnored", message=message, last_transition_time=now
    )
    return _patch(request, {}, [admitted])


def unadmitted_patch(request: EvictionRequest, now: dt.datetime) -> Obj | None:
    """Say once that the request is not processed."""
    if any(one.type == ADMITTED and one.status == "False" for one in request.status.conditions):
        return None
    refused = RequestCondition(
        type=ADMITTED, status="False", reason="NotAdmitted", message=_UNADMITTED, last_transition_time=now
    )
    return _patch(request, {}, [refused])


def _cut(message: str) -> str:
    """As much as any server takes: some count characters, some bytes."""
    return message.encode(errors="replace")[:MAX_MESSAGE].decode(errors="ignore")


def _turns_before(request: EvictionRequest, action: Assign, now: dt.datetime) -> list[PastTurn]:
    if action.previous is None:
        return []
    return _with_turn(request, _ended_turn(request, action.previous, now))


def _with_turn(request: EvictionRequest, ended: PastTurn) -> list[PastTurn]:
    return [*(one for one in past_turns(request) if one.interceptor != ended.interceptor), ended]


def _ended_turn(request: EvictionRequest, name: str, now: dt.datetime) -> PastTurn:
    """The active interceptor's turn, which has ended while the request goes on."""
    return _turn(request, name, result_of_turn(request, name), now)


def _turn(request: EvictionRequest, name: str, result: TurnResult, now: dt.datetime) -> PastTurn:
    before = assigned(request)
    began = before.last_transition_time if before else None
    return PastTurn(name, began or now, result, now, last_message(request, name, result))


def _assignment(
    request: EvictionRequest, name: str, result: TurnResult, now: dt.datetime
) -> RequestCondition:
    """The assignment is over; its history is kept."""
    if request.status.active_interceptor_completed:
        result = result_of_turn(request, name)
    known = recorded_turn(request, name)
    turns = past_turns(request) if known else _with_turn(request, _turn(request, name, result, now))
    return RequestCondition(
        type=INTERCEPTOR_ASSIGNED,
        status="False",
        reason="RequestComplete",
        message=write_history(turns),
        last_transition_time=now,
    )


def _complete(reason: CompletionReason, message: str, now: dt.datetime) -> RequestCondition:
    return RequestCondition(
        type=COMPLETE, status="True", reason=reason.value, message=message, last_transition_time=now
    )


def _progress(stage: Stage, message: str, now: dt.datetime) -> RequestCondition:
    going = stage in (Stage.INTERCEPTING, Stage.EVICTING, Stage.TERMINATING)
    status = "True" if going else "False"
    return RequestCondition(
        type=PROGRESSING, status=status, reason=stage.value, message=message, last_transition_time=now
    )


def _forced(reason: ForcedReason, message: str, now: dt.datetime) -> RequestCondition:
    return RequestCondition(
        type=FORCED, status="True", reason=reason.value, message=message, last_transition_time=now
    )


def _patch(request: EvictionRequest, status: Obj, changed: Sequence[RequestCondition]) -> Obj:
    new = {one.type: one for one in changed}
    kept = [new.pop(one.type, one) for one in request.status.conditions]
    conditions = [_written(one, request) for one in (*kept, *new.values())]
    return guarded(request.metadata, {"status": {**status, "conditions": conditions}})


def _written(one: RequestCondition, request: EvictionRequest) -> Obj:
    """The condition as it goes over the wire: all of its fields, and its time to the last digit."""
    before = next((old for old in request.status.conditions if old.type == one.type), None)
    since = one.last_transition_time
    if before is not None and before.status == one.status and one.type == PROGRESSING:
        since = before.last_transition_time  # only the reason changed
    written: Obj = msgspec.to_builtins(one)
    written |= {"reason": one.reason, "message": one.message}
    if since is not None:
        written["lastTransitionTime"] = format_exact_time(since)
    return written
