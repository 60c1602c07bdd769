"""What may never be undone: a completed request, a count, an interceptor's Forbid, others' conditions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import COMPLETE, OWN_CONDITIONS, EvictionRequest
from vacate.api.types.meta import condition
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.succession import is_handed_over
from vacate.sim.invariants.history import RequestHistory, Step, Version

MAX_COMPLETION_DELAY = 5.0
"""Seconds in which a controller that hears of a pod's end has written it down."""


def completion_breaches(step: Step) -> Iterator[str]:
    """What is wrong with a step, whichever interceptor was active."""
    if step.before is None:
        return
    yield from _forbidden(step, step.before.request)
    if step.after is None:
        return
    yield from _never_changes(step.before, step.after)
    yield from _never_lost(step.before.request, step.after.request)
    if step.after.request.complete and not step.before.request.complete:
        yield from _untrue(step, step.before.request, step.after.request)


def late_endings(history: RequestHistory, since: float) -> Iterator[str]:
    """Requests that went on although their pod had ended, from when on controllers had no excuse."""
    for place in history.places:
        begin = max(history.ended.get(place[1], math.inf), since)
        end = min(begin + MAX_COMPLETION_DELAY, history.until)
        if begin < history.until and all(_goes_on(one) for one in history.during(place, begin, end)):
            lasted = next((at for at, one in history.of(place) if at > end and not _goes_on(one)), None)
            duration = "without end" if lasted is None else f"for {lasted - begin:.1f} s"
            yield f"request {place[0]}/{place[1]} went on {duration} after its pod had terminated"


def late_cancellations(history: RequestHistory, since: float) -> Iterator[str]:
    """Requests that nobody wanted any more and that went on, from when on controllers had no excuse."""
    for place in history.places:
        unwanted: float | None = None  # since when
        for at, version in [*history.of(place), (history.until, None)]:
            if version is not None and _goes_on(version) and is_cancelled(version.request):
                unwanted = max(at, since) if unwanted is None else unwanted
                continue
            if unwanted is not None and at - unwanted > MAX_COMPLETION_DELAY:
                lasted = f"{at - unwanted:.1f} s after its cancellation"
                yield f"request {place[0]}/{place[1]} went on for {lasted}"
            unwanted = None


def _goes_on(version: Version | None) -> bool:
    return version is not None and not version.request.complete


def _never_changes(before: Version, after: Version) -> Iterator[str]:
    old, new = before.request.spec, after.request.spec
    fixed = ("type", "target", "interceptors", "heartbeat_deadline_seconds")
    yield from (f"spec.{name} changed" for name in fixed if getattr(old, name) != getattr(new, name))
    if not before.request.complete:
        return
    if before.status != after.status:
        yield "the request was complete and its status changed"
    if old.requesters != new.requesters and not dialect_of(before.request).requesters_hold:
        yield "the request was complete and its requesters changed"


def _never_lost(before: EvictionRequest, after: EvictionRequest) -> Iterator[str]:
    was, now = _refusals(before), _refusals(after)
    if now < was:
        yield f"the counter fell from {was} to {now}"
    kept = [one.type for one in after.status.conditions]
    for one in before.status.conditions:
        if one.type not in kept and one.type not in OWN_CONDITIONS:
            yield f"the condition {one.type} of another writer was lost"


def _refusals(request: EvictionRequest) -> int:
    found = request.status.pod_eviction_status
    return found.failed_api_eviction_counter if found else 0


def is_cancelled(request: EvictionRequest) -> bool:
    """Whether the request has no requesters any more and cancellation is allowed."""
    unwanted = not request.spec.requesters or request.metadata.deletion_timestamp is not None
    return unwanted and not request.forbids_cancellation


def _forbidden(step: Step, before: EvictionRequest) -> Iterator[str]:
    """While Forbid holds, requesters stay, and neither cancellation nor deletion comes while the pod runs."""
    if not before.forbids_cancellation or before.complete:
        return
    dialect = dialect_of(before)
    runs = step.pod is not None and not (step.pod.terminal and dialect is EVICTION_REQUEST)
    after = step.after.request if step.after else None
    if after is None:
        if runs:
            yield "the request was removed although it forbids it and the pod runs"
        return
    if dialect.fixes_requesters(before) and after.spec.requesters != before.spec.requesters:
        yield "requesters changed although the request forbids it"
    if runs and after.metadata.deletion_timestamp and not before.metadata.deletion_timestamp:
        yield "the request was deleted although it forbids it and the pod runs"


def _untrue(step: Step, before: EvictionRequest, after: EvictionRequest) -> Iterator[str]:
    """An ending that was not so, or that left something behind."""
    found = condition(after.status.conditions, COMPLETE)
    reason = found.reason if found else ""
    wrong = _contradiction(reason, before, step.pod)
    if wrong:
        yield f"the request ended with {reason}: {wrong}"
    status = after.status
    left = (status.active_interceptor_name, status.expected_interceptor_finish_time)
    if any(left) or status.active_interceptor_completed:
        yield "the request ended and still has an active interceptor"


def _contradiction(reason: str, before: EvictionRequest, pod: Pod | None) -> str:
    if reason == "PodDeleted":
        return "its pod is there" if pod is not None else ""
    if reason == "PodTerminated" and dialect_of(before) is EVICTION_REQUEST:
        return "its pod has not terminated" if pod is not None and not pod.terminal else ""
    if reason == "Cancelled":
        superseded = pod is not None and is_handed_over(pod, dialect_of(before).kind)
        allowed = is_cancelled(before) or (superseded and not before.forbids_cancellation)
        return "" if allowed else "it was not cancelled, or forbids it"
    return "that is no reason"
