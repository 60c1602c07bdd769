"""Which steps a request's status may take: rules about the old and the new status together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from vacate.admission.checks import same
from vacate.admission.conditions import condition_errors
from vacate.admission.context import Context
from vacate.admission.rules import table
from vacate.api.fielderrors import ErrorType, FieldError, forbidden, invalid, not_supported, required
from vacate.api.lenient import integer, mapping, maps, sequence
from vacate.api.objects import Obj, dig, metadata, name_of
from vacate.api.times import parse_time
from vacate.api.types.evictionrequest import COMPLETE, FORBID, MAX_CONDITIONS, OWN_CONDITIONS
from vacate.api.types.readable import is_complete, readable_part
from vacate.crds.evictionrequest.authority import authority_errors
from vacate.crds.evictionrequest.target import live_pod
from vacate.crds.evictionrequest.turns import turn_errors
from vacate.eviction.deadlines import CLOCK_TOLERANCE
from vacate.eviction.model import CompletionReason

_POLICY, _HEARTBEAT = "evictionRequestCancellationPolicy", "heartbeatTime"
_EVICTION, _COUNTER = "podEvictionStatus", "failedAPIEvictionCounter"
_CONDITIONS = "status.conditions"
_FREE_CONDITIONS = MAX_CONDITIONS - len(OWN_CONDITIONS)
_SECONDS = int(CLOCK_TOLERANCE.total_seconds())
TERMINAL = ("Succeeded", "Failed")

RULES = table(
    "EvictionRequest",
    ("status", ErrorType.FORBIDDEN, "no change once the request is complete"),
    ("status.message", ErrorType.TOO_LONG, "at most 32768 characters"),
    ("status.activeInterceptorName#first", ErrorType.INVALID, "the last of the list has the first turn"),
    ("status.activeInterceptorName#next", ErrorType.INVALID, "turns go down the list, one at a time"),
    ("status.activeInterceptorName#none", ErrorType.INVALID, "only where the request has interceptors"),
    ("status.activeInterceptorName#over", ErrorType.INVALID, "the first of the list has the last turn"),
    ("status.activeInterceptorName", ErrorType.FORBIDDEN, "a turn ends by completion or with its deadline"),
    ("status.activeInterceptorName", ErrorType.REQUIRED, "not unset before the request is complete"),
    ("status.activeInterceptorName#complete", ErrorType.FORBIDDEN, "unset once the request is complete"),
    ("status.activeInterceptorName", ErrorType.TOO_LONG, "at most 253 characters"),
    ("status.activeInterceptorCompleted", ErrorType.FORBIDDEN, "not before an interceptor has its turn"),
    ("status.activeInterceptorCompleted#turn", ErrorType.INVALID, "false when a turn begins"),
    ("status.activeInterceptorCompleted#back", ErrorType.INVALID, "not taken back within a turn"),
    ("status.expectedInterceptorFinishTime", ErrorType.INVALID, "a time"),
    ("status.heartbeatTime#time", ErrorType.INVALID, "a time"),
    ("status.heartbeatTime#future", ErrorType.INVALID, "at most 10 s in the future"),
    ("status.heartbeatTime#past", ErrorType.INVALID, "falls back by at most 10 s"),
    ("status.heartbeatTime#turn", ErrorType.INVALID, "at most 60 s ago when a turn begins"),
    ("status.heartbeatTime", ErrorType.REQUIRED, "not unset once it is set"),
    ("status.heartbeatTime#begin", ErrorType.REQUIRED, "set when a turn begins"),
    ("status.heartbeatTime", ErrorType.FORBIDDEN, "not before an interceptor has its turn"),
    ("status.evictionRequestCancellationPolicy", ErrorType.NOT_SUPPORTED, "Allow or Forbid"),
    ("status.evictionRequestCancellationPolicy#requesters", ErrorType.FORBIDDEN,
     "Forbid only with requesters"),
    ("status.evictionRequestCancellationPolicy#deleted", ErrorType.FORBIDDEN,
     "Forbid not while being deleted"),
    ("status.podEvictionStatus", ErrorType.REQUIRED, "not unset once it is set"),
    ("status.podEvictionStatus.failedAPIEvictionCounter", ErrorType.REQUIRED, "not empty"),
    ("status.podEvictionStatus.failedAPIEvictionCounter#negative", ErrorType.INVALID, "not negative"),
    ("status.podEvictionStatus.failedAPIEvictionCounter#most", ErrorType.INVALID, "at most 2147483647"),
    ("status.podEvictionStatus.failedAPIEvictionCounter#less", ErrorType.INVALID, "only grows"),
    ("status.conditions", ErrorType.TOO_MANY, "at most 100"),
    ("status.conditions#others", ErrorType.TOO_MANY, "at most 96 beside the four of the controller"),
    ("status.conditions[].type", ErrorType.DUPLICATE, "unique"),
    ("status.conditions[].type", ErrorType.INVALID, "a qualified name"),
    ("status.conditions[].status", ErrorType.NOT_SUPPORTED, "True, False or Unknown"),
    ("status.conditions[].status#complete", ErrorType.NOT_SUPPORTED, "True for Complete"),
    ("status.conditions[].observedGeneration", ErrorType.INVALID, "not negative"),
    ("status.conditions[].lastTransitionTime", ErrorType.REQUIRED, "not empty"),
    ("status.conditions[].reason", ErrorType.REQUIRED, "not empty"),
    ("status.conditions[].reason", ErrorType.INVALID, "a word in CamelCase"),
    ("status.conditions[].reason", ErrorType.NOT_SUPPORTED, "one of three for Complete"),
    ("status.conditions[].reason", ErrorType.FORBIDDEN,
     "Complete is not Cancelled while the policy is Forbid"),
    ("status.conditions[].reason#pod", ErrorType.FORBIDDEN,
     "the live pod must be deleted or have terminated"),
    ("status.conditions[].message", ErrorType.REQUIRED, "may be empty, but must be there"),
    ("status.conditions[].message", ErrorType.TOO_LONG, "at most 32768 characters"),
)  # fmt: skip


def status_errors(
    new: Obj,
    old: Obj,
    schema_errors: Sequence[FieldError],
    ctx: Context,
    reasons: Sequence[CompletionReason] = tuple(CompletionReason),
) -> list[FieldError]:
    """Errors of the status as such, and of the step to it where the status can be read.

    `reasons` are those that the API knows.
    """
    if is_complete(old):
        if same(new.get("status"), old.get("status")):
            return []
        return [forbidden("status", "may not change once the request is complete")]
    after = mapping(new.get("status"))
    found = _of_conditions(after, schema_errors)
    if any(
        field_error.field_error is ErrorType.TYPE_INVALID or field_error.path.endswith("Time")
        for field_error in schema_errors
    ):
        return found
    foreign = authority_errors(new, old, ctx)
    # Of the controller's fields only that is reported: a foreign write of them is wrong whatever it says.
    reported = {field_error.path for field_error in foreign}
    if not foreign:
        found += [one for one in _reason_errors(after, reasons) if not _under(one.path, reported)]
    for check in _OTHERS_STEPS if foreign else _STEPS:
        found += [
            field_error for field_error in check(new, old, ctx) if not _under(field_error.path, reported)
        ]
    return [*(one for one in found if not _under(one.path, reported)), *foreign]


def _under(path: str, reported: set[str]) -> bool:
    return any(path == one or path.startswith((f"{one}.", f"{one}[")) for one in reported)


def _of_conditions(status: Obj, schema_errors: Sequence[FieldError]) -> list[FieldError]:
    """Conditions have words of their own in Kubernetes, which go before those of the schema."""
    if any(
        one.field_error is ErrorType.TYPE_INVALID and one.path.startswith(_CONDITIONS)
        for one in schema_errors
    ):
        return list(schema_errors)
    # Characters are counted, as by the schema, and not bytes.
    reported = [
        one for one in condition_errors(status, _CONDITIONS) if one.field_error is not ErrorType.TOO_LONG
    ]
    places = {field_error.path for field_error in reported}
    repeated = {path.removesuffix(".type") for path in places}
    return [*(one for one in schema_errors if one.path not in places | repeated), *reported]


def _own_conditions(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """Complete only becomes True, and says in one of three words why. Four places are the controller's."""
    status = mapping(new.get("status"))
    found: list[FieldError] = []
    others = 0
    for index, one in enumerate(maps(status.get("conditions"))):
        others += one.get("type") not in OWN_CONDITIONS
        if one.get("type") == COMPLETE:
            found += _completion_errors(one, f"status.conditions[{index}]", status)
            found += _target_errors(one, f"status.conditions[{index}]", old, ctx)
    if _FREE_CONDITIONS < others <= MAX_CONDITIONS:
        detail = f"must have at most {_FREE_CONDITIONS} items beside {', '.join(OWN_CONDITIONS)}"
        found.append(FieldError("status.conditions", ErrorType.TOO_MANY, detail, others))
    return found


def _completion_errors(one: Obj, path: str, status: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    if one.get("status") in ("False", "Unknown"):
        found.append(not_supported(f"{path}.status", one["status"], ("True",)))
    if one.get("reason") == CompletionReason.CANCELLED and status.get(_POLICY) == FORBID:
        detail = f"the request cannot be cancelled while status.{_POLICY} is Forbid"
        found.append(forbidden(f"{path}.reason", detail))
    return found


def _reason_errors(status: Obj, reasons: Sequence[CompletionReason]) -> list[FieldError]:
    known = sorted(reason.value for reason in reasons)
    return [
        not_supported(f"status.conditions[{index}].reason", one["reason"], known)
        for index, one in enumerate(maps(status.get("conditions")))
        if one.get("type") == COMPLETE and one.get("reason") and one["reason"] not in known
    ]


def _target_errors(one: Obj, path: str, old: Obj, ctx: Context) -> list[FieldError]:
    """An end of the pod is believed when the pod itself agrees."""
    reason = one.get("reason")
    if reason not in (CompletionReason.POD_DELETED, CompletionReason.POD_TERMINATED):
        return []
    pod = live_pod(old, ctx)
    if pod is None or (reason == CompletionReason.POD_TERMINATED and dig(pod, "status", "phase") in TERMINAL):
        return []
    state = "still exists" if reason == CompletionReason.POD_DELETED else "has not terminated"
    detail = f'pod "{name_of(pod)}" with UID {metadata(pod).get("uid")} {state}'
    return [forbidden(f"{path}.reason", detail)]


def _heartbeat(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    now = ctx.now
    path = f"status.{_HEARTBEAT}"
    written = mapping(new.get("status")).get(_HEARTBEAT)
    before, after = _moment(mapping(old.get("status")).get(_HEARTBEAT)), _moment(written)
    if before is not None and written is None:
        return [required(path, "may not be unset once it is set")]
    if after is None or after == before:
        return []
    if after - now > CLOCK_TOLERANCE:
        return [invalid(path, written, f"may not be more than {_SECONDS} seconds in the future")]
    if before is not None and before - now > CLOCK_TOLERANCE and ctx.authority.is_controller(ctx.user):
        before = now  # one from the future, which was written while nobody looked, is set right
    if before is not None and before - after > CLOCK_TOLERANCE:
        return [invalid(path, written, f"may not fall back by more than {_SECONDS} seconds")]
    return []


def _moment(written: object) -> dt.datetime | None:
    try:
        return parse_time(written) if isinstance(written, str) else None
    except (ValueError, OverflowError):
        return None  # the schema's affair


def _policy(new: Obj, old: Obj, _ctx: Context) -> list[FieldError]:
    path = f"status.{_POLICY}"
    after, before = (mapping(one.get("status")).get(_POLICY) for one in (new, old))
    if after != FORBID or before == FORBID:
        return []
    found: list[FieldError] = []
    if not sequence(mapping(old.get("spec")).get("requesters")):
        found.append(forbidden(path, "may not become Forbid without requesters"))
    if metadata(old).get("deletionTimestamp"):
        found.append(forbidden(path, "may not become Forbid while the request is being deleted"))
    return found


def _counter(new: Obj, old: Obj, _ctx: Context) -> list[FieldError]:
    after, before = (mapping(one.get("status")).get(_EVICTION) for one in (new, old))
    if before is None:
        return []
    if after is None:
        return [required(f"status.{_EVICTION}", "may not be unset once it is set")]
    least, count = integer(mapping(before).get(_COUNTER)), mapping(after).get(_COUNTER)
    if type(count) is int and 0 <= count < least:
        return [invalid(f"status.{_EVICTION}.{_COUNTER}", count, f"may only grow, it was {least}")]
    return []


def _turns(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    status = mapping(new.get("status"))
    return turn_errors(status, readable_part(old), ctx.now, completes=is_complete(new))


_Step = Callable[[Obj, Obj, Context], list[FieldError]]
_OTHERS_STEPS: tuple[_Step, ...] = (_heartbeat, _policy)
_STEPS: tuple[_Step, ...] = (_own_conditions, _turns, *_OTHERS_STEPS, _counter)
