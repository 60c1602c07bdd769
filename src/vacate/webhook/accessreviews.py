"""Asks the API server whether a user has a right, and remembers rights to a whole namespace for a moment.

A drain writes many requests as one user. So the first question is about all pods of the namespace; who may
delete all of them may delete each one, and is not asked about again for a few seconds. Of a user who may not,
every pod is asked about by its name, each time: that a user may not delete one pod is never remembered.

A right that is taken away is seen here up to `SECONDS` later. The API server's own admission policy
(`vacate-right-to-delete-pod`) asks about the pod by its name at each write all the same.
"""

from __future__ import annotations

import asyncio
import dataclasses

from vacate.api.identity import Access
from vacate.api.kinds import SUBJECTACCESSREVIEWS
from vacate.api.objects import Obj, dig
from vacate.client.client import Client
from vacate.clock import PassiveClock

SECONDS = 5.0
_MAX_ANSWERS = 1_000  # users and namespaces

_Key = tuple[object, ...]


class AccessReviews:
    """Answers whether users may do things."""

    def __init__(self, client: Client, clock: PassiveClock) -> None:
        self._client = client
        self._clock = clock
        self._answers: dict[_Key, tuple[float, bool]] = {}  # in the order of time
        self._locks: dict[_Key, asyncio.Lock] = {}

    async def allowed(self, access: Access) -> bool:
        """Whether the user has the right."""
        if not access.user.name and not access.user.groups:
            return False  # nobody has rights, and none can be asked about
        if access.name and access.namespace and await self._to_all(dataclasses.replace(access, name="")):
            return True
        return await self._ask(access)

    async def _to_all(self, access: Access) -> bool:
        """Whether the user has the right to all objects of the namespace, as of a moment ago."""
        key = _key(access)
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:  # reviews that come side by side ask once
                known = self._recall(key)
                if known is None:
                    known = await self._ask(access)
                    self._note(key, known)
                return known
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    def _recall(self, key: _Key) -> bool | None:
        found = self._answers.get(key)
        return found[1] if found is not None and self._clock.monotonic() - found[0] <= SECONDS else None

    def _note(self, key: _Key, allowed: bool) -> None:
        now = self._clock.monotonic()
        self._answers.pop(key, None)
        self._answers[key] = (now, allowed)
        while self._answers:
            oldest = next(iter(self._answers))
            if now - self._answers[oldest][0] <= SECONDS and len(self._answers) <= _MAX_ANSWERS:
                return
            del self._answers[oldest]

    async def _ask(self, access: Access) -> bool:
        answer = await self._client.create(
            SUBJECTACCESSREVIEWS, {"metadata": {}, "spec": _review_spec(access)}
        )
        return dig(answer, "status", "allowed") is True


def _key(access: Access) -> _Key:
    """Everything that the answer depends on."""
    user = access.user
    return (
        user.name, user.uid, user.groups, tuple(sorted(user.extra.items())),
        access.verb, access.group, access.version, access.resource, access.subresource, access.namespace,
    )  # fmt: skip


def _review_spec(access: Access) -> Obj:
    user = access.user
    attributes = {
        "verb": access.verb,
        "group": access.group,
        "version": access.version,
        "resource": access.resource,
        "subresource": access.subresource,
        "namespace": access.namespace,
        "name": access.name,
    }
    return {
        "user": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
        "resourceAttributes": {key: value for key, value in attributes.items() if value},
    }
