"""What requesters send, and what stands in their way. No I/O."""

from __future__ import annotations

from enum import Enum

from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import CompletionReason
from vacate.eviction.records.reader import has_responded
from vacate.sdk.results import history_of
from vacate.sdk.turnstate import completion_reason


class Step(Enum):
    """What asking for a pod's eviction does, given the request that there is."""

    CREATE = "create"
    REPLACE = "replace"  # one that is over, though the pod is still to be evicted
    JOIN = "join"
    KEEP = "keep"  # the requester is on it
    KEEP_COMPLETE = "keep-complete"
    KEEP_FIXED = "keep-fixed"  # its requesters can no longer change; the pod goes anyway


def next_step(request: EvictionRequest | None, requester: str) -> Step:
    """What the requester does to have the pod evicted."""
    if request is None:
        return Step.CREATE
    going = request.metadata.deletion_timestamp is not None and not request.forbids_cancellation
    if going or must_be_replaced(request):
        return Step.REPLACE
    if request.complete:
        return Step.KEEP_COMPLETE
    if has_requester(request, requester):
        return Step.KEEP
    return Step.KEEP_FIXED if dialect_of(request).fixes_requesters(request) else Step.JOIN


def new_request(
    pod: Pod,
    requester: str,
    reason: str = "",
    deadline_seconds: int | None = None,
    dialect: Dialect = EVICTION_REQUEST,
) -> Obj:
    """A request for the eviction of the pod, which is collected with it."""
    return dialect.new_request(pod, requester, reason, deadline_seconds)


def has_requester(request: EvictionRequest, requester: str) -> bool:
    """Whether the requester's name is on the request."""
    return any(one.name == requester for one in request.spec.requesters)


def joined(request: EvictionRequest, requester: str) -> Obj:
    """The change that adds the name; the guard keeps those who join at the same time."""
    names = [*(one.name for one in request.spec.requesters), requester]
    return dialect_of(request).requesters_patch(request, names)


def withdrawn(request: EvictionRequest, requester: str) -> Obj:
    """The change that takes out this name and no other."""
    names = [one.name for one in request.spec.requesters if one.name != requester]
    return dialect_of(request).requesters_patch(request, names)


def must_be_replaced(request: EvictionRequest) -> bool:
    """Whether a request is over and its pod, which exists, is still to be evicted."""
    return completion_reason(request) not in (None, CompletionReason.POD_TERMINATED)


def why_forbidden(request: EvictionRequest) -> str:
    """Who does not allow that requesters change their minds, as far as the request shows."""
    active = request.status.active_interceptor_name
    past = [turn.interceptor for turn in history_of(request)]
    if active and has_responded(request):
        who = f"{active}, whose turn it is" + (f", or {', '.join(past)} before it" if past else "")
    else:
        who = ", ".join(past) or "an interceptor"
    return (
        f"the eviction of pod {pod_name(request)} can no longer be cancelled: Forbid was set by {who}. "
        "It completes when the pod is evicted, or can be cancelled once Allow is set again "
        "(an administrator can do that with `vacate cancel --override`)"
    )


def pod_name(request: EvictionRequest) -> str:
    """Namespace and name of the pod, for messages."""
    return f"{request.metadata.namespace}/{request.pod_name or '?'}"
