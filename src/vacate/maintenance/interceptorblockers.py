"""A pod whose active interceptor has never responded, has fallen silent, or has failed."""

from __future__ import annotations

import datetime as dt

from vacate.api.text import plain
from vacate.api.times import after
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import Blocker
from vacate.eviction.deadlines import deadline_of, next_turn
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.dialects.turn_conditions import failure_of, is_held
from vacate.eviction.records.reader import assigned, has_responded, process_of
from vacate.maintenance.blockerrecords import blocker
from vacate.views.model import Remedy
from vacate.views.phrases import clock, command_line

RESPONSE_EXPECTED = dt.timedelta(minutes=1)
"""An interceptor that has not responded for so long is reported: most often none of that name runs."""

SILENT_SHARE = 0.6
"""An interceptor that has responded, and then not for this part of its heartbeat deadline, is reported. Those
of the SDK send a heartbeat at least in each half of it."""


def failed_turn(pod: Pod, request: EvictionRequest) -> Blocker | None:
    """A pod whose active interceptor has failed, and waits for an administrator to decide."""
    active = request.status.active_interceptor_name
    if not active or request.status.active_interceptor_completed or not is_held(request, active):
        return None
    failure, terms = failure_of(request, active), dialect_of(request).terms
    why = f": {plain(failure.message, 600)}" if failure is not None and failure.message else ""
    ends = deadline_of(process_of(request))
    return blocker(
        pod,
        terms.interceptor.capitalize(),
        f"{terms.interceptor} {active} has failed and waits for an administrator{why}",
        [Remedy("fix the cause and restart it: it tries again", explain_command(pod)), _skip(pod, active)],
        active,
        since=failure.last_transition_time if failure is not None else None,
        end=ends,
        consequence=_time_out(request, ends, "if it sends no further heartbeat"),
    )


def silent(pod: Pod, request: EvictionRequest, now: dt.datetime) -> Blocker | None:
    """A pod whose active interceptor has not responded, or has not for long."""
    began, active = assigned(request), request.status.active_interceptor_name
    since = began.last_transition_time if began else None
    expected = response_expected(request)
    if not active or since is None or expected is None or now < expected:
        return None
    terms = dialect_of(request).terms
    last, ends = since, after(since, request.spec.heartbeat_deadline)
    text = f"{terms.interceptor} {active} has not responded; it times out at {clock(ends)}"
    if has_responded(request):
        last = request.status.heartbeat_time or since
        ends = after(last, request.spec.heartbeat_deadline)
        text = (
            f"{terms.interceptor} {active} has sent no heartbeat since {clock(last)}; it times out at "
            f"{clock(ends)}"
        )
    sentence = f"make sure that {active} runs and may update {request.kind.several}"
    return blocker(
        pod,
        terms.interceptor.capitalize(),
        text,
        [
            Remedy(sentence, "vacate interceptors -A"),
            Remedy("read what it has reported", explain_command(pod)),
            _skip(pod, active),
        ],
        active,
        sentence=sentence,
        since=last,
        end=ends,
        consequence=_time_out(request, ends),
    )


def response_expected(request: EvictionRequest) -> dt.datetime | None:
    """When the active interceptor is reported, unless it responds before; None where none is awaited."""
    began, status = assigned(request), request.status
    if began is None or began.last_transition_time is None or status.active_interceptor_completed:
        return None
    if not has_responded(request):
        return began.last_transition_time + RESPONSE_EXPECTED
    if status.heartbeat_time is None:
        return None
    return status.heartbeat_time + SILENT_SHARE * request.spec.heartbeat_deadline


def _time_out(request: EvictionRequest, ends: dt.datetime, unless: str = "") -> str:
    following, terms = next_turn(process_of(request)), dialect_of(request).terms
    then = f"{terms.interceptor} {following} is assigned" if following else "the pod is evicted"
    active = request.status.active_interceptor_name
    condition_ = f", {unless}" if unless else ""
    return f"at {clock(ends)}{condition_} it times out, and {then} without the preparation by {active}"


def explain_command(pod: Pod) -> str:
    """The command that explains the eviction of a pod."""
    return command_line("vacate", "explain", pod.metadata.name, "-n", pod.metadata.namespace)


def _skip(pod: Pod, interceptor: str) -> Remedy:
    words = "skip", pod.metadata.name, interceptor, "-n", pod.metadata.namespace
    return Remedy("do not wait for it; its turn counts as failed", command_line("vacate", *words))
