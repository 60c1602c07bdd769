"""Patches of what differs, for the very object that was read: the one writer of status differences.

A merge patch replaces lists as a whole. Kinds of our own take nothing else, by `merge_status_patch`. A
strategic merge patch merges some lists by a key, so that what others wrote into them can stay. Built-in kinds
take it: `status_difference` compares projections, and `pod_status_patch` whole statuses of pods.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.meta import Condition, ObjectMeta, Projection
from vacate.api.types.required import with_required
from vacate.kube.conditions import condition_object

MERGE_KEYS = {"conditions": "type", "podIPs": "ip", "hostIPs": "ip"}
"""The lists of statuses that a strategic merge merges, and the field that tells their items apart."""


def guarded(meta: ObjectMeta | Obj, patch: Obj) -> Obj:
    """The patch with preconditions: this very object, in the state in which it was read.

    An object that was made anew under the name has another version. Only after the restore of a backup, when
    versions are given again, does it take the uid to tell it apart. API servers compare it in all patches
    except those of the status of a custom resource.
    """
    if isinstance(meta, ObjectMeta):
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    else:
        guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    return {**patch, "metadata": {**(patch.get("metadata") or {}), **guard}}


def guarded_by_uid(uid: str, patch: Obj) -> Obj:
    """The patch for this very object, whatever others have written meanwhile."""
    return {**patch, "metadata": {**(patch.get("metadata") or {}), "uid": uid}}


def merge_status_patch(meta: ObjectMeta, old: Projection, new: Projection) -> Obj | None:
    """The guarded merge patch from a status of a kind of our own to the next; None where nothing differs."""
    if old == new:
        return None
    change = merge_difference(with_required(old), with_required(new))
    return guarded(meta, {"status": change}) if change else None


def pod_status_patch(old: Obj, new: Obj, uid: str) -> Obj | None:
    """The strategic merge patch with which a node reports on a pod; None where nothing differs.

    Conditions and fields of others stay. The node is right whatever else was written to the pod meanwhile, so
    only the uid is a precondition: a pod of the same name that came since is left alone.
    """
    change = strategic_difference(old, new, keep_others=True)
    return guarded_by_uid(uid, {"status": change}) if change else None


def merge_difference(old: Obj, new: Obj) -> Obj:
    """The JSON merge patch that makes new of old; empty where nothing differs."""
    changed: Obj = {}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            if inner := merge_difference(before, value):
                changed[key] = inner
        elif before != value:
            changed[key] = value
    return changed | {key: None for key in old if key not in new}


def strategic_difference(old: Obj, new: Obj, *, keep_others: bool = False) -> Obj:
    """The strategic merge patch that makes new of old; empty where nothing differs.

    With `keep_others`, what only the old one has, fields and items of merged lists, is of other writers.
    """
    changed: Obj = {}
    for key, value in new.items():
        before = old.get(key)
        if before == value or _present(before) == _present(value):
            continue
        if key in MERGE_KEYS and isinstance(before, list) and isinstance(value, list):
            if items := _item_differences(before, value, MERGE_KEYS[key], keep_others=keep_others):
                changed[key] = items
        elif isinstance(before, dict) and isinstance(value, dict):
            changed[key] = merge_difference(before, value)
        else:
            changed[key] = value
    return changed if keep_others else changed | {key: None for key in old if key not in new}


def status_difference(old: Projection, new: Projection) -> Obj:
    """The strategic difference of two projections of a built-in kind's status.

    What the projections do not know stays, conditions of others included that are part of both.
    """
    names = [one for one in _fields(type(new)) if getattr(old, one[0]) != getattr(new, one[0])]
    before, after = ({written: _plain(getattr(one, name)) for name, written in names} for one in (old, new))
    return strategic_difference(before, after)


def condition_differences(old: Sequence[Condition], new: Sequence[Condition]) -> list[Obj]:
    """Conditions to set, and conditions to remove, for a list that merges by type."""
    before, after = ([condition_object(one) for one in conditions] for conditions in (old, new))
    return _item_differences(before, after, MERGE_KEYS["conditions"], keep_others=False)


def _item_differences(old: list[Any], new: list[Obj], merge_key: str, *, keep_others: bool) -> list[Obj]:
    """Items as a whole, so that each is complete even where another writer has removed it meanwhile."""
    before = {item[merge_key]: item for item in old if _has_key(item, merge_key)}
    made = []
    for item in new:
        known = before.pop(item[merge_key], None)
        if known is None:
            made.append(item)
        elif known != item and _present(known) != _present(item):
            made.append(_with_nulls(known, item))
    if not keep_others:
        made += [{"$patch": "delete", merge_key: key} for key in before]
    return made


def _has_key(item: Any, merge_key: str) -> bool:
    """Whether it has its key: a stored status is whatever its writers made of it."""
    return isinstance(item, dict) and isinstance(item.get(merge_key), str)


def _with_nulls(old: Obj, new: Obj) -> Obj:
    """The new item with nulls for what it must lose: a merge keeps what it does not name."""
    return {**new, **{key: None for key in old if key not in new}}


def _present(value: Any) -> Any:
    """The value as the API sees it: nulls and empty structures are as good as nothing."""
    if isinstance(value, dict):
        kept = {key: _present(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one is not None and one != {}}
    if isinstance(value, list):
        return [_present(one) for one in value]
    return value


def _plain(value: Any) -> Any:
    """A part of a projection as JSON has it, empty values included, since they are to be written."""
    match value:
        case Condition():
            return condition_object(value)
        case msgspec.Struct():
            return {written: _plain(getattr(value, name)) for name, written in _fields(type(value))}
        case dt.datetime():
            return format_time(value)
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {key: _plain(one) for key, one in value.items()}
    return value


@lru_cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The fields of a struct: their names in it and on the wire."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))
