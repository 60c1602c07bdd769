"""Requests that are over and cannot be removed: what keeps them, and since when.

A request is named after its pod, so that no other can be made while it exists. As no finalizer may hold
up an eviction, such a request counts as none after a while: the pod is evicted past it, within its budgets.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.kinds import Kind
from vacate.api.times import after
from vacate.api.types.evictionrequest import COMPLETE, EvictionRequest
from vacate.api.types.meta import condition

PIN_AFTER = dt.timedelta(seconds=10)
"""How long the removal of a request may take: garbage collectors and finalizers need a few seconds."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What keeps a request that is over."""

    kind: Kind
    namespace: str
    name: str
    finalizers: tuple[str, ...]
    since: dt.datetime  # when it was over and deleted


def pinned_since(request: EvictionRequest | None) -> dt.datetime | None:
    """Since when a request that is over and deleted is there all the same; None where that is not so."""
    if request is None or not request.complete or (deleted := request.metadata.deletion_timestamp) is None:
        return None
    ended = condition(request.status.conditions, COMPLETE)
    # It may have been deleted long before it was over: its finalizers have their time from its end.
    return max(deleted, (ended.last_transition_time if ended else None) or deleted)


def pin_of(request: EvictionRequest, now: dt.datetime) -> Pin | None:
    """What has kept the request for longer than its removal takes; None where it goes on, or is going."""
    since, meta = pinned_since(request), request.metadata
    if since is None or after(since, PIN_AFTER) > now:
        return None
    return Pin(request.kind, meta.namespace, meta.name, tuple(meta.finalizers), since)
