"""PURE. One pod, one eviction process, also where requests of two APIs exist for it.

Admission refuses the second request of our own kinds, unless both are created at the same moment; of
Evictions of lifecycle.k8s.io it knows nothing. The older one leads, and of equally old ones the
EvictionRequest. Turns of the other one begin when those of the leading one are
over; the leading one evicts the pod when no turn is left, so that each interceptor gets its turn
and the pod is evicted once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.times import EARLIEST
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.base import registered_interceptors
from vacate.eviction.dialects.registry import DIALECTS, dialect_of
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

_KINDS = list(DIALECTS)


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
    return _rank(one) < _rank(other)


def _rank(request: EvictionRequest) -> tuple[dt.datetime, int]:
    return request.metadata.creation_timestamp or EARLIEST, _KINDS.index(request.kind)
