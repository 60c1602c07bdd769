"""PURE. What a caller of the eviction API reads while interceptors prepare the pod, in one line."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.objects import Obj
from vacate.api.text import plain
from vacate.api.types.evictionrequest import PROGRESSING, EvictionRequest
from vacate.api.types.meta import condition
from vacate.eviction.deadlines import deadline_of
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.pins import PIN_AFTER, Pin
from vacate.eviction.records.reader import has_responded, process_of
from vacate.views.phrases import ago, ahead, command_line, listed, sentence, span

_MAX_MESSAGE = 300
FOREGROUND = "foregroundDeletion"
"""The finalizer of an object that waits for those that it owns."""


def waiting_message(
    request: EvictionRequest,
    now: dt.datetime,
    program: str = "vacate",
    *,
    manager: str = "",
    unjoined: str = "",
    pod: Obj | None = None,
) -> str:
    """Stage, interceptor, progress and ETA of a request whose interceptors are at work.

    `manager` says that no manager works, where none does: then nothing goes on by itself. `unjoined` says why
    the caller is not among the requesters. Where the process has not begun it names nobody: `pod` does.
    """
    process, name = process_of(request), request.pod_name
    names = process.interceptors
    if not names and pod is not None:
        names = dialect_of(request).registration(pod).interceptors[::-1]
    active = process.active or next(iter(names), "")
    parts = [
        f"{Stage.INTERCEPTING}: pod/{name} is waiting for interceptor {active}{_position(names, active)}"
    ]
    if process.active is None:
        parts.append("which is assigned next")
    elif has_responded(request) and process.heartbeat is not None:
        parts.append(f"last heartbeat {ago(process.heartbeat, now)}")
    else:
        parts.append("which has not responded yet")
    finish = request.status.expected_interceptor_finish_time
    if finish is not None:
        late = finish < now
        parts.append(
            f"expected to finish {span(now - finish)} ago"
            if late
            else f"expected to finish {ahead(finish, now)}"
        )
    if process.active is not None and not process.active_completed:
        parts.append(f"times out {ahead(deadline_of(process), now)}")
    progress = _progress(request)
    more = command_line(program, "explain", f"pod/{name}", "-n", request.metadata.namespace)
    stands = dialect_of(request).phrase(", ".join(parts))
    held_up = f" {manager}" if manager else ""
    if unjoined:
        why = plain(unjoined, _MAX_MESSAGE)
        held_up += f" You could not be added to who requests it, so it may be withdrawn without you: {why}."
    return f"{stands}.{progress}{held_up} Try again until it is evicted; `{more}` shows more."


def requested_message(
    namespace: str, pod: str, interceptors: tuple[str, ...], program: str = "vacate"
) -> str:
    """The same for a request that is only being made."""
    first = interceptors[-1] if interceptors else ""
    more = command_line(program, "explain", f"pod/{pod}", "-n", namespace)
    return (
        f"{Stage.INTERCEPTING}: the eviction of pod/{pod} is requested, and interceptor {first} "
        f"(1 of {len(interceptors)}) prepares it first. Try again until it is evicted; `{more}` shows more."
    )


def unmade_message(pod: str, error: str) -> str:
    """The same where the request could not be made for the moment."""
    why = plain(error)
    return f"the eviction of pod/{pod} could not be requested for its interceptors yet: {why}; try again"


def unchecked_message(pod: str, user: str, why: str) -> str:
    """The same where it is not known yet whether the caller may evict the pod."""
    return (
        f"pod/{pod} has interceptors, and whether {plain(user)} may evict it is not known yet: "
        f"{plain(why)}; try again"
    )


def terminating_message(request: EvictionRequest, now: dt.datetime, *, manager: str = "") -> str:
    """The same for a request that is over and is still there, while its pod is, too."""
    meta = request.metadata
    named = f"{request.kind.kind} {meta.name} of pod/{request.pod_name}"
    held_up = f" {manager}" if manager else ""
    if meta.deletion_timestamp is None:
        next_step = "be replaced" if request.complete else "be completed"
        return f"{named} was cancelled and is about to {next_step}: try again.{held_up}"
    held = f", and is held by {listed(meta.finalizers)}" if meta.finalizers else ""
    return (
        f"{named} was deleted {ago(meta.deletion_timestamp, now)}{held}: try again, the pod is evicted past "
        f"it after {span(PIN_AFTER)}.{held_up}"
    )


def pinned_message(namespace: str, pod: str, pin: Pin, now: dt.datetime) -> str:
    """To a caller whose eviction goes past a request that cannot be removed."""
    return (
        f"pod/{pod} is evicted past its interceptors: {pin_text(pin, now)}, and no other can be made for the "
        f"pod. `{pin_command(pin)}` shows it"
    )


def pin_text(pin: Pin, now: dt.datetime) -> str:
    """Which request is kept, by what, and since when."""
    names = listed(pin.finalizers) if pin.finalizers else "nothing that it names"
    why = " (by objects that it owns)" if FOREGROUND in pin.finalizers else ""
    return (
        f"{pin.kind.kind} {pin.name} was deleted {ago(pin.since, now)} and is held by the finalizers "
        f"{names}{why}"
    )


def pin_command(pin: Pin) -> str:
    """How to look at it."""
    resource = f"{pin.kind.singular}/{pin.name}"
    return command_line("kubectl", "get", resource, "-n", pin.namespace, "-o", "yaml")


def another_pod_message(pod: str, uid: str) -> str:
    """404 to a caller who asked for an earlier pod of the name."""
    return (
        f"the pod {pod} that was to be evicted (UID {uid}) is gone; another pod of the same name runs, "
        "and is left alone"
    )


def _position(names: Sequence[str], active: str) -> str:
    return f" ({names.index(active) + 1} of {len(names)})" if active in names else ""


def _progress(request: EvictionRequest) -> str:
    """The interceptor's own words; the message that came with its turn is the controller's."""
    status = request.status
    written = condition(status.conditions, PROGRESSING)
    message = plain(status.message).strip()
    if (
        not message
        or not has_responded(request)
        or (written is not None and written.message == status.message)
    ):
        return ""
    short = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…"
    return f" It says: {sentence(short)}"
