"""What decoding makes of a custom resource: unknown fields and nulls go, defaults come. Done in place."""

from __future__ import annotations

import copy
from typing import Any

from vacate.api.objects import Obj

_EXEMPT = ("apiVersion", "kind", "metadata")


def prune(schema: Obj, value: Any, *, root: bool = True) -> None:
    """Take away what the schema does not know, and nulls, which mean the same as nothing."""
    if isinstance(value, dict):
        _prune_object(schema, value, root)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            value[index] = _whole(schema["items"], item)
            prune(schema["items"], item, root=False)


def _prune_object(schema: Obj, value: Obj, root: bool) -> None:
    known = schema.get("properties")
    if known is None:
        return
    for key in list(value):
        if root and key in _EXEMPT:
            continue
        if key not in known or value[key] is None:
            del value[key]
            continue
        value[key] = _whole(known[key], value[key])
        prune(known[key], value[key], root=False)


def _whole(schema: Obj, value: Any) -> Any:
    """A number such as 600.0 is an integer to JSON schema; it is kept as one."""
    if schema.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def fill_defaults(schema: Obj, value: Any) -> None:
    """Put defaults where nothing was said, also below objects that are there already."""
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if key not in value and "default" in inner:
                value[key] = copy.deepcopy(inner["default"])
            if key in value:
                fill_defaults(inner, value[key])
    elif isinstance(value, list):
        for item in value:
            fill_defaults(schema.get("items", {}), item)
