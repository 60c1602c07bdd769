"""Read your own writes: hold a reconciler back until the cache shows what it did last.

    expectations.created(owner, created["metadata"]["resourceVersion"])
    expectations.deleted(owner, pod.metadata.name, pod.metadata.uid)
    ...
    if not expectations.satisfied(owner, pods.reader): return Later(expectations.expiry(owner))

No events have to be passed in: the question is put to the cache itself, so a creation that was deleted
again before anybody looked is not waited for. What never shows is forgotten after a while.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from vacate.api.objectidentity import identity_of
from vacate.cache.reader import Reader
from vacate.clock import PassiveClock
from vacate.runtime.reconcile import EARLY_SECONDS, Key

EXPIRY = 300.0
"""Seconds after which a write that never showed is no longer waited for."""


@dataclass(slots=True)
class _Pending:
    since: float  # the last write, on the monotonic clock
    revision: int = 0  # the cache must have come this far; 0 for no creation
    deletions: dict[tuple[str, str], None] = field(default_factory=dict)  # names and uids that must go


class Expectations:
    """What each owner has done and its cache may not show yet."""

    def __init__(self, clock: PassiveClock, expiry: float = EXPIRY) -> None:
        self._clock = clock
        self._expiry = expiry
        self._pending: dict[Key, _Pending] = {}

    def created(self, owner: Key, resource_version: str) -> None:
        """The owner made or changed something; this is the resourceVersion of the answer."""
        pending = self._touch(owner)
        if resource_version.isdigit():
            pending.revision = max(pending.revision, int(resource_version))

    def deleted(self, owner: Key, name: str, uid: str) -> None:
        """The owner asked for the deletion of this object in its own namespace."""
        self._touch(owner).deletions[name, uid] = None

    def satisfied(self, owner: Key, reader: Reader[Any]) -> bool:
        """Whether the cache shows all of it, or it is too long ago to wait for."""
        pending = self._pending.get(owner)
        if pending is None:
            return True
        # A moment is rounded to microseconds: who comes back at `expiry` may come a trifle early.
        waits = self._clock.monotonic() - pending.since < self._expiry - EARLY_SECONDS
        if waits and not _shown(owner, pending, reader):
            return False
        del self._pending[owner]
        return True

    def expiry(self, owner: Key) -> dt.datetime:
        """When the owner's writes are no longer waited for; now if there are none."""
        pending = self._pending.get(owner)
        left = 0.0 if pending is None else pending.since + self._expiry - self._clock.monotonic()
        return self._clock.now() + dt.timedelta(seconds=max(left, 0.0))

    def forget(self, owner: Key) -> None:
        """The owner is gone."""
        self._pending.pop(owner, None)

    def _touch(self, owner: Key) -> _Pending:
        now = self._clock.monotonic()
        pending = self._pending.setdefault(owner, _Pending(now))
        pending.since = now
        return pending


def _shown(owner: Key, pending: _Pending, reader: Reader[Any]) -> bool:
    seen = reader.resource_version
    if pending.revision and (not seen.isdigit() or int(seen) < pending.revision):
        return False
    return all(_going(reader.get(owner.namespace, name), uid) for name, uid in pending.deletions)


def _going(obj: Any, uid: str) -> bool:
    """Whether the object is gone, replaced, or marked for deletion."""
    if obj is None or identity_of(obj).uid != uid:
        return True
    if isinstance(obj, dict):
        return bool(obj["metadata"].get("deletionTimestamp"))
    return obj.metadata.deletion_timestamp is not None
