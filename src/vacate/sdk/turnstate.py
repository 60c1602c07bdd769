"""Whose turn is it, and is it still? Questions about a request, answered without I/O."""

from __future__ import annotations

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import COMPLETE, EvictionRequest
from vacate.api.types.meta import condition
from vacate.eviction.engine import cancelled
from vacate.eviction.model import CompletionReason, Stage
from vacate.eviction.records.reader import process_of, recorded_stage
from vacate.sdk.values import TurnEndReason


def is_turn_of(request: EvictionRequest, name: str) -> bool:
    """Whether the interceptor of that name is to act on the request."""
    return ended(request, request.metadata.uid, name) is None and is_wanted(request)


def is_wanted(request: EvictionRequest) -> bool:
    """Whether the pod is to be evicted. Where it is not any more, the controller is about to say so.

    What did not pass admission never is: its author may have no right to delete the pod.
    """
    process = process_of(request)
    return process.admitted and not cancelled(process)


def ended(request: EvictionRequest | None, uid: str, name: str) -> TurnEndReason | None:
    """Why the turn on the request of that uid is over; None while it lasts."""
    if request is None or request.metadata.uid != uid:
        return TurnEndReason.DELETED
    if request.complete:
        cancelled = completion_reason(request) is CompletionReason.CANCELLED
        return TurnEndReason.CANCELLED if cancelled else TurnEndReason.POD_TERMINATED
    if request.status.active_interceptor_name != name:
        return TurnEndReason.TAKEN_AWAY
    return TurnEndReason.COMPLETED if request.status.active_interceptor_completed else None


def completion_reason(request: EvictionRequest) -> CompletionReason | None:
    """How a request ended; None while it goes on. A reason that is not known counts as the pod's end."""
    found = condition(request.status.conditions, COMPLETE)
    if found is None or found.status != "True":
        return None
    try:
        return CompletionReason(found.reason)
    except ValueError:
        return CompletionReason.POD_DELETED


def is_terminating(request: EvictionRequest) -> bool:
    """Whether the controller has seen that the pod is terminating."""
    return recorded_stage(request) is Stage.TERMINATING


def needs_preparation(request: EvictionRequest, pod: Pod | None) -> bool:
    """Whether there is still something to prepare: the pod is the one meant, and neither going nor gone."""
    if pod is None or pod.metadata.uid != request.pod_uid:
        return False
    return not pod.terminating and not pod.terminal


def is_newer(request: EvictionRequest, known: EvictionRequest) -> bool:
    """Whether a request as it was seen is newer than what is known; in doubt it is."""
    seen, before = request.metadata.resource_version, known.metadata.resource_version
    if request.metadata.uid != known.metadata.uid or not (seen.isdigit() and before.isdigit()):
        return seen != before
    return int(seen) > int(before)
