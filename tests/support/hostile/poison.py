"""Values that a server may hand out and that nobody can work with, and a way to store them past admission."""

from __future__ import annotations

import copy
from typing import Any

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.response.stored import encoder
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Key

BAD_TIMES = (
    "9999-12-31T23:59:59.9999999Z",
    "2026-01-01T00:00:00+00:60",
    "2026-01-01T00:00:00+99:99",
    "0001-01-01T00:00:00+23:59",
    "0000-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "2026-01-01T00:00:00",
    "2026-02-30T00:00:00Z",
    "soon",
)
"""Times that no decoder takes."""

ODD_VALUES: tuple[Any, ...] = (1e308, 2**64 - 1, -1, True, None, "text", [None], [1], {"a": None})
"""Values of other types, and numbers that are out of range."""

_PLACES = (
    ("expectedInterceptorFinishTime",),
    ("heartbeatTime",),
    ("conditions",),
    ("message",),
    ("activeInterceptorName",),
    ("activeInterceptorCompleted",),
    ("evictionRequestCancellationPolicy",),
    ("podEvictionStatus",),
    ("podEvictionStatus", "failedAPIEvictionCounter"),
)


def bad_statuses() -> list[Any]:
    """Every bad status that can be thought of: bad times in each place of one, odd values in every place."""
    condition = {"type": "Ready", "status": "True", "reason": "R", "message": ""}
    found: list[Any] = [5, "text", [], None]
    for time in BAD_TIMES:
        found += [{"expectedInterceptorFinishTime": time}, {"heartbeatTime": time}]
        found.append({"conditions": [{**condition, "lastTransitionTime": time}]})
    for value in ODD_VALUES:
        for place in _PLACES:
            status: Any = value
            for key in reversed(place):
                status = {key: status}
            found.append(status)
        found.append({"conditions": [{**condition, "observedGeneration": value}]})
    return found


async def store_status(store: Store, kind: Kind, obj: Obj, status: Any) -> None:
    """Put the object with this status straight into the store, past every check."""
    poisoned = copy.deepcopy(obj)
    poisoned["status"] = status
    for field in ("kind", "apiVersion"):
        poisoned.pop(field, None)
    meta = poisoned["metadata"]
    key = Key(kind.resource, meta.get("namespace", ""), meta["name"])
    await store.put(key, encoder(poisoned)).done()
