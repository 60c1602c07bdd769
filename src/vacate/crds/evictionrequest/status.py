"""Steps of a request's status that rules in CEL cannot check: they need the clock, the pod, or the writer.

What needs nothing but the request, before and after, is in the rules of the definition (`celrules`).
"""

from __future__ import annotations

import datetime as dt

from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, forbidden, invalid
from vacate.api.objects import Obj, dig, metadata, name_of
from vacate.api.times import parse_time
from vacate.api.types.core import TERMINAL_PHASES
from vacate.api.types.evictionrequest import COMPLETE, FORBID
from vacate.api.types.readable import is_complete
from vacate.api.untyped import mapping, maps
from vacate.crds.evictionrequest.authority import authority_errors
from vacate.crds.evictionrequest.target import live_pod
from vacate.eviction.deadlines import CLOCK_TOLERANCE
from vacate.eviction.model import CompletionReason

_POLICY, _ACTIVE, _HEARTBEAT = "evictionRequestCancellationPolicy", "activeInterceptorName", "heartbeatTime"

ASSIGNMENT_TOLERANCE = dt.timedelta(seconds=60)
"""How old the first heartbeat of a turn may be: each interceptor gets its full time."""


def status_errors(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """Errors of the step, also where the schema finds others; none in the step of a complete request.

    A foreign write of the controller's fields is wrong whatever it says, and nothing else is said of them.
    """
    if is_complete(old):
        return []
    foreign = authority_errors(new, old, ctx)
    found = [*_heartbeat_errors(new, old, ctx), *_policy_errors(new, old)]
    if not foreign:
        found += _target_errors(new, old, ctx)
    reported = {one.path for one in foreign}
    return [*(one for one in found if one.path not in reported), *foreign]


def _target_errors(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """An end of the pod is believed when the pod itself agrees."""
    found: list[FieldError] = []
    for index, one in enumerate(maps(mapping(new.get("status")).get("conditions"))):
        reason = one.get("reason")
        believed = (CompletionReason.POD_DELETED, CompletionReason.POD_TERMINATED)
        if one.get("type") != COMPLETE or reason not in believed:
            continue
        pod = live_pod(old, ctx)
        ended = dig(pod, "status", "phase") in TERMINAL_PHASES
        if pod is None or (reason == CompletionReason.POD_TERMINATED and ended):
            continue
        state = "still exists" if reason == CompletionReason.POD_DELETED else "has not terminated"
        detail = f'pod "{name_of(pod)}" with UID {metadata(pod).get("uid")} {state}'
        found.append(forbidden(f"status.conditions[{index}].reason", detail))
    return found


def _heartbeat_errors(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """A heartbeat is of now: not of the future, not of before the last one, and fresh when a turn begins."""
    now, path = ctx.now, f"status.{_HEARTBEAT}"
    status, stored = mapping(new.get("status")), mapping(old.get("status"))
    written = status.get(_HEARTBEAT)
    before, after = _moment(stored.get(_HEARTBEAT)), _moment(written)
    if after is None:
        return []
    seconds = int(CLOCK_TOLERANCE.total_seconds())
    if after != before and after - now > CLOCK_TOLERANCE:
        return [invalid(path, written, f"may not be more than {seconds} seconds in the future")]
    if before is not None and before - now > CLOCK_TOLERANCE and ctx.authority.is_controller(ctx.user):
        before = now  # one from the future, which was written while nobody looked, is set right
    if before is not None and before - after > CLOCK_TOLERANCE:
        return [invalid(path, written, f"may not fall back by more than {seconds} seconds")]
    active = status.get(_ACTIVE)
    if active and active != stored.get(_ACTIVE) and now - after > ASSIGNMENT_TOLERANCE:
        fresh = int(ASSIGNMENT_TOLERANCE.total_seconds())
        return [invalid(path, written, f"may not be more than {fresh} seconds ago when a turn begins")]
    return []


def _moment(written: object) -> dt.datetime | None:
    try:
        return parse_time(written) if isinstance(written, str) else None
    except (ValueError, OverflowError):
        return None  # the schema's affair


def _policy_errors(new: Obj, old: Obj) -> list[FieldError]:
    after, before = (mapping(one.get("status")).get(_POLICY) for one in (new, old))
    if after != FORBID or before == FORBID or not metadata(old).get("deletionTimestamp"):
        return []
    return [forbidden(f"status.{_POLICY}", "may not become Forbid while the request is being deleted")]
