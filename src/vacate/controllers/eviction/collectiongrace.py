"""Requests that the garbage collector removes together with their pods, before their end is written.

Maintenances make their requests so that the pod owns them, and count pods: nobody reads how such a request
ended. For the plain evictions of a drain the end would be a third of all writes, to objects that are deleted
in the same moment.
"""

from __future__ import annotations

import datetime as dt

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.model import CompletionReason, Finish, Target
from vacate.eviction.requesternames import is_maintenance
from vacate.runtime.reconcile import Key

COLLECTION = dt.timedelta(seconds=3)
"""How long the collector has. What is there afterwards has its end written, as any other request."""


class Collection:
    """Which requests are left to the collector, and until when."""

    def __init__(self) -> None:
        self._until: dict[Key, dt.datetime] = {}

    def begin(self, key: Key, now: dt.datetime) -> dt.datetime:
        """Leave the request to the collector, or to what its interceptor still reports; until when."""
        until = self._until[key] = now + COLLECTION
        return until

    def until(self, key: Key) -> dt.datetime | None:
        """Until when it is left there; None for those that are not."""
        return self._until.get(key)

    def forget(self, key: Key) -> None:
        """The request is gone, or complete."""
        self._until.pop(key, None)


def collected_with_pod(request: EvictionRequest, action: Finish, target: Target) -> bool:
    """Whether the pod owns the request and is removed, and nobody reads how the request ended."""
    if request.spec.interceptors or not request.spec.requesters:
        return False
    if not all(is_maintenance(one.name) for one in request.spec.requesters):
        return False
    removed = action.reason is CompletionReason.POD_TERMINATED and target.termination is not None
    return removed or action.reason is CompletionReason.POD_DELETED
