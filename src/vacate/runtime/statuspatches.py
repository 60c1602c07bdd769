"""Differences between a projection of a status and its next state, as strategic merge patches.

Only what differs is written, conditions one by one, so that fields and conditions of others stay.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types import Condition, ObjectMeta
from vacate.client.requests import STRATEGIC_PATCH

STRATEGIC = STRATEGIC_PATCH


def guarded(meta: ObjectMeta, patch: Obj) -> Obj:
    """The patch with preconditions: this very object, in the state in which it was read."""
    found = dict(patch.get("metadata") or {})
    return {**patch, "metadata": {**found, "uid": meta.uid, "resourceVersion": meta.resource_version}}


def status_difference(old: msgspec.Struct, new: msgspec.Struct) -> Obj:
    """What must be written to get from one status to the next; empty where they say the same."""
    changed: Obj = {}
    for name, written in _fields(type(new)):
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if name == "conditions":
            changed["conditions"] = condition_differences(before, after)
        else:
            changed[written] = _plain(after)
    return changed


@lru_cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))


def condition_differences(old: Sequence[Condition], new: Sequence[Condition]) -> list[Obj]:
    """Conditions to set, and conditions to remove, for a list that merges by type."""
    kept = [one.type for one in new]
    gone = [{"$patch": "delete", "type": one.type} for one in old if one.type not in kept]
    return [_condition(one) for one in new if one not in old] + gone


def _condition(one: Condition) -> Obj:
    found: Obj = {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
    if one.observed_generation:
        found["observedGeneration"] = one.observed_generation
    for name, moment in (
        ("lastTransitionTime", one.last_transition_time),
        ("lastUpdateTime", one.last_update_time),
    ):
        if moment is not None:
            found[name] = format_time(moment)
    return found


def _plain(value: Any) -> Any:
    return format_time(value) if isinstance(value, dt.datetime) else value
