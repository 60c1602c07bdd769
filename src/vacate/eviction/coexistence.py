"""PURE. One pod, one eviction process, also where requests of two APIs exist for it.

Admission refuses the second request of our own kinds, unless both are created at the same moment; of
Evictions of lifecycle.k8s.io it knows nothing. The first in `order` leads. Turns of the other one begin
when those of the leading one are over; the leading one evicts the pod when no turn is left, so that each
interceptor gets its turn and the pod is evicted once. Which one is shown, `deciding` says.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import TypeVar

from vacate.api.times import EARLIEST
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import Reason
from vacate.eviction.dialects.base import registered_interceptors
from vacate.eviction.dialects.lifecycle.assembly import failure_of, next_number
from vacate.eviction.dialects.lifecycle.translation import LifecycleRecord
from vacate.eviction.dialects.registry import READ_DIALECTS, dialect_of
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    Action,
    AlreadyComplete,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    Finish,
    Hold,
    NotAdmitted,
    Skip,
    Stage,
    Supersede,
)

_KINDS = [one.kind for one in READ_DIALECTS]

R = TypeVar("R", bound=EvictionRequest)


def order(request: EvictionRequest) -> tuple[dt.datetime, int, int, str]:
    """A total order of requests of all APIs: by creation time, then kind, then name, its number by value."""
    meta = request.metadata
    created = meta.creation_timestamp or EARLIEST
    return created, _KINDS.index(request.kind), next_number([meta.name]), meta.name


def deciding(found: Iterable[R]) -> R | None:
    """Of all requests for a pod the one that decides what becomes of it, and is shown.

    Of those that go on the first that has begun, else the first; of those that are over the last, before
    Evictions that were failed as invalid, such as a second one of a pod. Of requests for pods that had
    one name after the other, those for the pod of the last one count.
    """
    those = list(found)
    if len(those) < 2:  # almost always, and for each pod at each look at its node
        return those[0] if those else None
    those.sort(key=order)
    those = [one for one in those if one.pod_uid == those[-1].pod_uid]
    going = [one for one in those if not one.complete]
    begun = [one for one in going if not _is_unbegun(one)]
    valid = [one for one in those if not _is_invalid(one)]
    return next(iter(begun or going or valid[::-1] or those[::-1]), None)


def waits_for_other(
    own: EvictionRequest,
    action: Action,
    others: Iterable[EvictionRequest],
    pod: Pod | None,
    at: DecisionContext,
) -> str:
    """What of others for the same pod keeps a request from its next step; empty where nothing does."""
    if not isinstance(action, Assign | Evict | Supersede):
        return ""
    for other in others:
        theirs = _action_of(other, pod, at)
        if _is_over(theirs, other):
            continue
        named = f'"{other.kind.kind} {other.metadata.name}"'  # quoted: each API has words of its own
        may_begin = isinstance(action, Assign) and not _is_in_turn(theirs)
        if _has_turns(theirs, other, pod) and (_leads(other, own) or not may_begin):
            return f"The pod is also requested by {named}, whose interceptors have their turns first."
        if _leads(other, own) and not isinstance(action, Assign):
            return f"The pod is also requested by {named}, by which it is evicted."
    return ""


def has_turns(request: EvictionRequest, pod: Pod, now: dt.datetime) -> bool:
    """Whether an interceptor of the request has its turn, or gets it next."""
    action = _action_of(request, pod, DecisionContext(now, EARLIEST))
    return not _is_over(action, request) and _has_turns(action, request, pod)


def _action_of(request: EvictionRequest, pod: Pod | None, at: DecisionContext) -> Action:
    dialect = dialect_of(request)
    return decide(dialect.process(request), dialect.target(request, pod), at)


def _is_over(action: Action, request: EvictionRequest) -> bool:
    """Whether nothing comes of the request any more. One that has not begun names no requesters yet."""
    return not _is_unbegun(request) and isinstance(action, AlreadyComplete | Finish | NotAdmitted)


def _is_invalid(request: EvictionRequest) -> bool:
    return isinstance(request, LifecycleRecord) and failure_of(request) == Reason.INVALID


def _is_unbegun(request: EvictionRequest) -> bool:
    return dialect_of(request).settled(request) and not request.complete


def _has_turns(action: Action, request: EvictionRequest, pod: Pod | None) -> bool:
    if _is_unbegun(request):
        # Its first step comes, and waits for others too.
        return bool(registered_interceptors(dialect_of(request), pod))
    return isinstance(action, Assign | Skip) or _is_in_turn(action)


def _is_in_turn(action: Action) -> bool:
    if isinstance(action, CorrectHeartbeat):
        return True
    return isinstance(action, Hold) and action.stage is Stage.INTERCEPTING


def _leads(one: EvictionRequest, other: EvictionRequest) -> bool:
    return order(one) < order(other)
