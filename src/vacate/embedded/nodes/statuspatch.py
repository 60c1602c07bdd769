"""PURE. A status patch that holds only what differs, for a strategic merge.

Conditions are merged by their type, so those of others stay. Container statuses are one value.
"""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj

_MERGED_BY = {"conditions": "type", "podIPs": "ip", "hostIPs": "ip"}


def status_patch(old: Obj, new: Obj, uid: str) -> Obj | None:
    """What to send to the status subresource so that old becomes new, or None where nothing differs.

    The uid is a precondition: a pod of the same name that came since is left alone.
    """
    changed = {key: _changed(key, old.get(key), value) for key, value in new.items() if old.get(key) != value}
    if not any(value != [] for value in changed.values()):
        return None
    return {"metadata": {"uid": uid}, "status": {k: v for k, v in changed.items() if v != []}}


def _changed(key: str, old: Any, new: Any) -> Any:
    merge_key = _MERGED_BY.get(key)
    if merge_key is None or not isinstance(old, list):
        return new
    before = {item.get(merge_key): item for item in old}
    return [
        _merged_item(before.get(item[merge_key]), item)
        for item in new
        if not _equal(before.get(item[merge_key]), item)
    ]


def _merged_item(old: Obj | None, new: Obj) -> Obj:
    """The item with nulls for what it must lose, since a merge keeps what it does not name."""
    gone = {key: None for key in old or () if key not in new}
    return {**new, **gone}


def _equal(old: Obj | None, new: Obj) -> bool:
    """Equal as the API sees it: a null is as good as nothing."""
    if old is None:
        return False
    return _present(old) == _present(new)


def _present(item: Obj) -> Obj:
    return {key: value for key, value in item.items() if value is not None}
