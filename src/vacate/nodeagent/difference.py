"""PURE. A status patch that holds only what differs, for a strategic merge.

Conditions and addresses are merged by their keys, so those of others stay. Container statuses are one value.
"""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj

_MERGED_BY = {"conditions": "type", "podIPs": "ip", "hostIPs": "ip"}


def status_patch(old: Obj, new: Obj, uid: str) -> Obj | None:
    """What to send to the status subresource so that old becomes new, or None where nothing differs.

    The uid is a precondition: a pod of the same name that came since is left alone.
    """
    changed: Obj = {}
    for key, value in new.items():
        before = old.get(key)
        if key in _MERGED_BY and isinstance(before, list):
            items = _changed_items(before, value, _MERGED_BY[key])
            if items:
                changed[key] = items
        elif _present(before) != _present(value):
            changed[key] = value
    return {"metadata": {"uid": uid}, "status": changed} if changed else None


def _changed_items(old: list[Any], new: list[Obj], merge_key: str) -> list[Obj]:
    before = {item.get(merge_key): item for item in old if isinstance(item, dict)}
    made = []
    for item in new:
        known = before.get(item[merge_key])
        if known is None or _present(known) != _present(item):
            # A merge keeps what it does not name: what must go is named as null.
            made.append({**item, **{key: None for key in known or () if key not in item}})
    return made


def _present(value: Any) -> Any:
    """The value as the API sees it: nulls and empty structures are as good as nothing."""
    if isinstance(value, dict):
        kept = {key: _present(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one is not None and one != {}}
    if isinstance(value, list):
        return [_present(one) for one in value]
    return value
