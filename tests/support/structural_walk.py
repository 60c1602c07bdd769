"""Pruning and defaults as a plain walk over value and schema: what the compiled forms must do too."""

from __future__ import annotations

import copy
from typing import Any

Obj = dict[str, Any]
_EXEMPT = ("apiVersion", "kind", "metadata")


def prune(schema: Obj, value: Any, *, root: bool = True) -> None:
    if isinstance(value, dict) and "properties" in schema:
        _prune_object(schema["properties"], value, root)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            value[index] = _whole(schema["items"], item)
            prune(schema["items"], item, root=False)


def _prune_object(known: Obj, value: Obj, root: bool) -> None:
    for key in list(value):
        if root and key in _EXEMPT:
            continue
        if key not in known or value[key] is None:
            del value[key]
            continue
        value[key] = _whole(known[key], value[key])
        prune(known[key], value[key], root=False)


def _whole(schema: Obj, value: Any) -> Any:
    if schema.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def fill_defaults(schema: Obj, value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if key not in value and "default" in inner:
                value[key] = copy.deepcopy(inner["default"])
            if key in value:
                fill_defaults(inner, value[key])
    elif isinstance(value, list):
        for item in value:
            fill_defaults(schema.get("items", {}), item)
