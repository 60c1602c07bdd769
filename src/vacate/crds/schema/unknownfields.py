"""Where a value has fields that its schema does not know."""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj


def unknown_paths(schema: Obj, value: Any, path: str = "") -> list[str]:
    """The path of each such field, in the order of the value."""
    if isinstance(value, list) and "items" in schema:
        return [
            one
            for index, item in enumerate(value)
            for one in unknown_paths(schema["items"], item, f"{path}[{index}]")
        ]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    found: list[str] = []
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        inner = schema["properties"].get(key)
        found += [where] if inner is None else unknown_paths(inner, item, where)
    return found
