"""From one object to another as a JSON patch. Objects are compared field by field, lists as wholes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacate.api.objects import Obj


def json_patch(before: Any, after: Any, path: str = "") -> list[Obj]:
    """The operations that make `after` of `before`; none where they are equal."""
    return list(_operations(before, after, path))


def _operations(before: Any, after: Any, path: str) -> Iterator[Obj]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield {"op": "remove", "path": f"{path}/{_pointer(key)}"}
        for key, value in after.items():
            here = f"{path}/{_pointer(key)}"
            if key not in before:
                yield {"op": "add", "path": here, "value": value}
            else:
                yield from _operations(before[key], value, here)
    elif before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
