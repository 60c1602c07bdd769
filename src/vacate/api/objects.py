"""Whole objects as plain dicts, for the rooms that must keep fields they do not know."""

from __future__ import annotations

from typing import Any

import orjson

Obj = dict[str, Any]
"""An API object, or a part of one, as JSON has it."""


def metadata(obj: Obj) -> Obj:
    """The object's metadata, created empty where it is missing."""
    found = obj.get("metadata")
    if not isinstance(found, dict):
        found = obj["metadata"] = {}
    return found


def name_of(obj: Obj) -> str:
    """`metadata.name`, or an empty string."""
    return str(obj.get("metadata", {}).get("name", ""))


def namespace_of(obj: Obj) -> str:
    """`metadata.namespace`, or an empty string."""
    return str(obj.get("metadata", {}).get("namespace", ""))


def dig(obj: Any, *path: str) -> Any:
    """The value below nested dicts, or None as soon as a step is missing."""
    for step in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def encode(obj: Obj) -> bytes:
    """Compact JSON."""
    return orjson.dumps(obj)


def copied(obj: Obj) -> Obj:
    """A copy that shares nothing with the object. The way over JSON takes a tenth of `copy.deepcopy`."""
    found: Obj = orjson.loads(orjson.dumps(obj))
    return found


def terminating(obj: Obj) -> bool:
    """Whether deletion has begun."""
    return dig(obj, "metadata", "deletionTimestamp") is not None
