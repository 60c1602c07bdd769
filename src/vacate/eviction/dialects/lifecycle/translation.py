"""Between Evictions of lifecycle.k8s.io and the record that all dialects share.

An Eviction keeps a record of each responder, which is closed for ever when its turn is over: the history of
turns follows from these. The last responder, which evicts the pod, is played by the controller: it is no
interceptor of the record, and while it is active no interceptor is. Conditions of ours that the API has no
word for have a prefix. Vacate's own interceptors have in the record the names that they have in all APIs.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from vacate.api.kinds import LIFECYCLE_EVICTIONS, Kind
from vacate.api.objects import Obj
from vacate.api.times import EARLIEST, format_time, parse_time
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    COMPLETE,
    FORCED,
    INTERCEPTOR_ASSIGNED,
    PROGRESSING,
    EvictionRequest,
    EvictionRequestSpec,
    EvictionRequestStatus,
    EvictionTarget,
    Interceptor,
    PodEvictionStatus,
    RequestCondition,
    Requester,
)
from vacate.api.types.lifecycle import (
    EVICTION,
    EVICTOR,
    FAILED,
    FINAL_CONDITIONS,
    HEARTBEAT_DEADLINE,
    MAX_MESSAGE,
    TARGET_EVICTED,
    Eviction,
    EvictionStatus,
    Reason,
    ResponderStatus,
    State,
    TargetResponder,
    turn_order,
)
from vacate.api.types.meta import ObjectMeta, condition
from vacate.api.workloads import OWN_RESPONDERS
from vacate.eviction.dialects.lifecycle.othercontroller import ProcessWrite, last_process_write
from vacate.eviction.dialects.turn_conditions import declined_type, failed_type
from vacate.eviction.model import CompletionReason, Stage
from vacate.eviction.records.history import PastTurn, TurnResult, write_history

NO_RESPONDER_LEFT = "All responders have ended their turns, and the pod is still there."
PREFIX = "vacate.dev/"
_OWN = (PROGRESSING, FORCED)
_RECORDED = {f"{PREFIX}{sort}": sort for sort in _OWN}
_RESERVED = (*FINAL_CONDITIONS, COMPLETE, INTERCEPTOR_ASSIGNED, *_OWN)
_OWN_INTERCEPTORS = {responder: interceptor for interceptor, responder in OWN_RESPONDERS.items()}
_ATTEMPTS = re.compile(r"\(attempts=(\d{1,9})\)")
_A_TICK = dt.timedelta(microseconds=1)
_REASONS = {
    Reason.POD_DELETED: CompletionReason.POD_DELETED,
    Reason.POD_TERMINAL: CompletionReason.POD_TERMINATED,
}
_OUTCOMES = {
    CompletionReason.POD_DELETED: (Reason.POD_DELETED, Reason.SUCCEEDED),
    CompletionReason.POD_TERMINATED: (Reason.POD_TERMINAL, Reason.SUCCEEDED),
    CompletionReason.CANCELLED: (Reason.EVICTION_FAILED, Reason.NO_REQUESTERS),
}


def interceptor_named(responder: str) -> str:
    """What a responder is called in records."""
    return _OWN_INTERCEPTORS.get(responder, responder)


def responder_named(interceptor: str) -> str:
    """The reverse."""
    return OWN_RESPONDERS.get(interceptor, interceptor)


class LifecycleRecord(EvictionRequest, frozen=True):
    """An Eviction in the shape of an EvictionRequest of ours."""

    kind: ClassVar[Kind] = LIFECYCLE_EVICTIONS

    eviction: EvictionStatus = msgspec.field(default_factory=EvictionStatus)  # as the API has it
    other_write: ProcessWrite | None = None  # the last one of a controller of Kubernetes' own

    @property
    def active(self) -> TargetResponder | None:
        """The responder whose turn it is."""
        return next((one for one in self.eviction.target_responders if one.state == State.ACTIVE), None)

    @property
    def evictor_is_active(self) -> bool:
        """Whether all others have had their turns, and the pod is to be evicted."""
        return self.active is not None and self.active.name == EVICTOR

    @property
    def is_exhausted(self) -> bool:
        """Whether the last responder has ended its turn, whoever played it: nobody is left to evict."""
        if self.active is None:
            return has_begun(self.eviction)
        return self.evictor_is_active and self.report(EVICTOR).completion_time is not None

    def report(self, name: str) -> ResponderStatus:
        """What a responder has reported."""
        found = (one for one in self.eviction.responders if one.name == name)
        return next(found, ResponderStatus(name=name))


def stamped(meta: ObjectMeta) -> ObjectMeta:
    """As admitted: there is no admission that could have left the stamp; the controller checks itself."""
    return msgspec.structs.replace(meta, annotations={**meta.annotations, ADMITTED_STAMP: "lifecycle"})


def record_of(obj: Eviction) -> LifecycleRecord:
    """The Eviction as a record."""
    status = obj.status
    other = last_process_write(obj.metadata.managed_fields)
    # What is kept in caches is without managed fields, which are larger than all the rest.
    meta = msgspec.structs.replace(stamped(obj.metadata), managed_fields=[])
    bare = LifecycleRecord(metadata=meta, eviction=status, other_write=other)
    ordered = sorted(status.target_responders, key=lambda one: turn_order(one.name, one.priority))
    spec = EvictionRequestSpec(
        target=EvictionTarget(pod_ref=obj.spec.target.pod),
        requesters=[Requester(name=one.name) for one in status.requesters if one.intent == EVICTION],
        interceptors=[
            Interceptor(name=interceptor_named(one.name)) for one in reversed(ordered) if one.name != EVICTOR
        ],
        heartbeat_deadline_seconds=int(HEARTBEAT_DEADLINE.total_seconds()),
    )
    return msgspec.structs.replace(bare, spec=spec, status=_record_status(bare, ordered))


def _record_status(record: LifecycleRecord, ordered: list[TargetResponder]) -> EvictionRequestStatus:
    conditions = _record_conditions(record, ordered)
    active = record.active
    if active is None:
        found = condition(conditions, COMPLETE)
        return EvictionRequestStatus(conditions=conditions, message=found.message if found else "")
    report, counted = record.report(active.name), _ATTEMPTS.search(record.report(EVICTOR).message)
    refused = PodEvictionStatus(failed_api_eviction_counter=int(counted[1])) if counted else None
    if active.name == EVICTOR:
        return EvictionRequestStatus(
            conditions=conditions, message=report.message, pod_eviction_status=refused
        )
    beat = report.heartbeat_time
    if beat is not None and beat == report.start_time:
        beat += _A_TICK  # times are whole seconds: whoever responds at once has responded all the same
    return EvictionRequestStatus(
        conditions=conditions,
        message=report.message,
        active_interceptor_name=interceptor_named(active.name),
        active_interceptor_completed=report.completion_time is not None,
        expected_interceptor_finish_time=report.expected_completion_time,
        heartbeat_time=beat or report.start_time,
    )


def _record_conditions(record: LifecycleRecord, ordered: list[TargetResponder]) -> list[RequestCondition]:
    # What others write under a name that a condition of records has means something else.
    found: list[RequestCondition] = [
        msgspec.structs.replace(one, type=_RECORDED.get(one.type, one.type))
        for one in record.eviction.conditions
        if one.type not in _RESERVED
    ]
    if (complete := completion(record.eviction.conditions)) is not None:
        found.append(complete)
    begun = [one for one in ordered if one.state != State.INACTIVE and one.name != EVICTOR]
    if begun:
        last = record.report(begun[-1].name)
        turns = [_past_turn(record, one) for one in begun if one.state != State.ACTIVE]
        found.append(
            RequestCondition(
                type=INTERCEPTOR_ASSIGNED,
                status="True" if begun[-1].state == State.ACTIVE else "False",
                reason="ResponderActive" if begun[-1].state == State.ACTIVE else "TurnsOver",
                message=write_history(turns),
                last_transition_time=last.start_time,
            )
        )
    if record.evictor_is_active and not any(one.type == PROGRESSING for one in found):
        began = record.report(EVICTOR).start_time
        going = RequestCondition(
            type=PROGRESSING, status="True", reason=Stage.EVICTING.value, last_transition_time=began
        )
        found.append(going)
    return found


def completion(conditions: Sequence[RequestCondition]) -> RequestCondition | None:
    """Of the two final conditions, the one that is True, as the one that a record has."""
    for sort in FINAL_CONDITIONS:
        one = condition(conditions, sort)
        if one is not None and one.status == "True":
            reason = _REASONS.get(Reason(one.reason)) if one.reason in list(Reason) else None
            if reason is None:
                reason = CompletionReason.CANCELLED if sort == FAILED else CompletionReason.POD_DELETED
            return msgspec.structs.replace(one, type=COMPLETE, reason=reason.value)
    return None


def _past_turn(record: LifecycleRecord, one: TargetResponder) -> PastTurn:
    report, name = record.report(one.name), interceptor_named(one.name)
    began = report.start_time or record.metadata.creation_timestamp or EARLIEST
    ended = report.completion_time or (report.heartbeat_time or began) + HEARTBEAT_DEADLINE
    result = TurnResult.COMPLETED
    if one.state == State.CANCELED:
        result = TurnResult.CANCELLED
    elif one.state == State.INTERRUPTED:
        result = TurnResult.TIMED_OUT if report.heartbeat_time else TurnResult.NEVER_RESPONDED
        later = [other for other in record.eviction.target_responders if _is_after(other, one)]
        if all(other.state == State.INACTIVE for other in later):
            result = TurnResult.POD_GONE  # it was interrupted by the end, not handed over
    elif _is_true(record, failed_type(name)):
        result = TurnResult.FAILED
    elif condition(record.eviction.conditions, declined_type(name)) is not None:
        result = TurnResult.DECLINED  # also where it has been taken back since: it had no other turn
    return PastTurn(name, began, result, ended, report.message.replace("\n", " ")[:256])


def _is_after(one: TargetResponder, other: TargetResponder) -> bool:
    return turn_order(one.name, one.priority) > turn_order(other.name, other.priority)


def _is_true(record: LifecycleRecord, sort: str) -> bool:
    found = condition(record.eviction.conditions, sort)
    return found is not None and found.status == "True"


def status_patch(record: LifecycleRecord, patch: Obj, now: dt.datetime) -> Obj:
    """A merge patch of the record's status as a strategic merge patch of the Eviction's."""
    change, written = patch["status"], {one["type"]: one for one in patch["status"].get("conditions", ())}
    active, ends = record.active, written.get(COMPLETE) if not record.complete else None
    following = responder_named(change.get("activeInterceptorName") or "")
    progress = written.get(PROGRESSING, {})
    if not ends and active is not None and active.name != EVICTOR:
        following = following or (EVICTOR if progress.get("reason") == Stage.EVICTING else "")
    targets: list[Obj] = []
    reports: list[Obj] = []
    if active is not None and (ends or following):
        cancelled = ends is not None and ends["reason"] == CompletionReason.CANCELLED
        targets.append({"name": active.name, "state": _end_of(record.report(active.name), cancelled).value})
    elif active is not None and (reported := _report(record, active.name, change, progress, now)):
        reports.append({"name": active.name, **reported})
    if following and not ends:
        targets.append({"name": following, "state": State.ACTIVE.value})
        reports.append({"name": following, "startTime": format_time(now)})
    status: Obj = {"targetResponders": targets} if targets else {}
    if reports:
        status["responders"] = reports
    if conditions := _written_conditions(record, written, ends):
        status["conditions"] = conditions
    return {**patch, "status": status}


def _end_of(report: ResponderStatus, cancelled: bool) -> State:
    if report.completion_time is not None:
        return State.COMPLETED
    return State.CANCELED if cancelled else State.INTERRUPTED


def _report(record: LifecycleRecord, name: str, change: Obj, progress: Obj, now: dt.datetime) -> Obj:
    """What the active responder reports, or the controller for the one that it plays."""
    before, reported = record.report(name), {}
    earliest = before.heartbeat_time or before.start_time or now  # server and writer may differ by seconds
    if "heartbeatTime" in change:
        reported["heartbeatTime"] = format_time(max(parse_time(change["heartbeatTime"]), earliest))
    if change.get("activeInterceptorCompleted") and before.completion_time is None:
        reported["completionTime"] = format_time(max(now, before.start_time or now))
    if "expectedInterceptorFinishTime" in change:
        expected = change["expectedInterceptorFinishTime"]
        reported["expectedCompletionTime"] = expected and format_time(max(parse_time(expected), now))
    message = change.get("message")
    of_controller = progress.get("message") == message and name != EVICTOR
    if counted := (change.get("podEvictionStatus") or {}).get("failedAPIEvictionCounter"):
        message = f"Eviction failed (attempts={counted}): {message}"
    elif message and name == EVICTOR and (refused := _ATTEMPTS.search(before.message)):
        message = f"{message} {refused[0]}"
    if message is not None and not of_controller:
        reported["message"] = message[:MAX_MESSAGE]
    if reported and name == EVICTOR:  # whoever reports is alive
        reported["heartbeatTime"] = format_time(max(now, earliest))
    return reported


def _written_conditions(record: LifecycleRecord, written: dict[str, Obj], ends: Obj | None) -> list[Obj]:
    found = [
        {**one, "type": f"{PREFIX}{sort}" if sort in _OWN else sort}
        for sort, one in written.items()
        if sort not in (COMPLETE, INTERCEPTOR_ASSIGNED)
    ]
    if ends:
        evicted, failed = _OUTCOMES[CompletionReason(ends["reason"])]
        succeeded = failed is Reason.SUCCEEDED
        if written.get(PROGRESSING, {}).get("reason") == Stage.SUPERSEDED:
            failed = Reason.NO_RESPONDER  # none that has not had its turn; in the next one all have
        elif not succeeded and record.is_exhausted and record.spec.requesters:
            failed, ends = Reason.NO_RESPONDER, {**ends, "message": NO_RESPONDER_LEFT}
        found.append({**ends, "type": TARGET_EVICTED, "status": str(succeeded), "reason": evicted.value})
        found.append({**ends, "type": FAILED, "status": str(not succeeded), "reason": failed.value})
    return found


def is_over(status: EvictionStatus) -> bool:
    """Whether an Eviction has ended."""
    return completion(status.conditions) is not None


def has_begun(status: EvictionStatus) -> bool:
    """Whether the first status was written: until then nothing is known of responders and requesters."""
    return bool(status.target_responders)
