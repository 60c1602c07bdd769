"""JSON merge patch, RFC 7386: objects merge, null removes, anything else replaces."""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj


def apply_merge_patch(target: Obj, patch: Obj) -> Obj:
    """Merge the patch into the target, in place; parts of the patch become parts of the result."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
            continue
        current = target.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            apply_merge_patch(current, value)
        else:
            target[key] = value if isinstance(current, dict) else without_nulls(value)
    return target


def without_nulls(value: Any) -> Any:
    """New values carry no null fields, not even within lists; null items of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
