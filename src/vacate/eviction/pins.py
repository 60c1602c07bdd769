"""Requests that are over and cannot be removed: what keeps them, and since when.

A request is named after its pod, so that no other can be made while it exists. As nobody's finalizer may hold
up an eviction, such a request counts as none after a while: the pod is evicted past it, within its budgets.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.kinds import Kind
from vacate.api.times import after
from vacate.api.types.evictionrequest import EvictionRequest

PIN_AFTER = dt.timedelta(seconds=10)
"""How long the removal of a request may take: garbage collectors and honest finalizers need a few seconds."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What keeps a request that is over."""

    kind: Kind
    namespace: str
    name: str
    finalizers: tuple[str, ...]
    since: dt.datetime  # when it was deleted


def pin_of(request: EvictionRequest, now: dt.datetime) -> Pin | None:
    """What has kept the request for longer than its removal takes; None where it goes on, or is going.

    Of one whose cancellation is forbidden the deletion changes nothing: it goes on.
    """
    meta = request.metadata
    since = meta.deletion_timestamp
    if since is None or (request.forbids_cancellation and not request.complete):
        return None
    if after(since, PIN_AFTER) > now:
        return None
    return Pin(request.kind, meta.namespace, meta.name, tuple(meta.finalizers), since)
