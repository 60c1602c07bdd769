"""What decoding makes of a custom resource: unknown fields and nulls go, defaults come. Done in place.

Each schema is compiled once into closures that visit only where something can happen: most of an object
consists of texts, of which there is nothing to prune and below which there are no defaults.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from vacate.api.integers import whole
from vacate.api.objects import Obj

Visit = Callable[[Any], None]
"""Changes a value in place."""

_EXEMPT = ("apiVersion", "kind", "metadata")


def pruner(schema: Obj) -> Visit:
    """Takes away what the schema of an object does not know, and nulls, which mean the same as nothing."""
    inner = {key: one for key, one in schema["properties"].items() if key not in _EXEMPT}
    return _prune_object(inner, frozenset((*inner, *_EXEMPT)), frozenset(_EXEMPT))


def _pruner(schema: Obj) -> Visit | None:
    """None where nothing can be pruned: in scalars, and in objects of which the schema says nothing."""
    if "properties" in schema:
        return _prune_object(schema["properties"], frozenset(schema["properties"]), frozenset())
    return _prune_items(schema["items"]) if "items" in schema else None


def _prune_object(inner: Obj, known: frozenset[str], exempt: frozenset[str]) -> Visit:
    numbers = [key for key, one in inner.items() if one.get("type") == "integer"]
    parts = [(key, visit) for key, one in inner.items() if (visit := _pruner(one))]

    def prune(value: Any) -> None:
        if type(value) is not dict:
            return
        gone = [
            key for key, item in value.items() if key not in known or (item is None and key not in exempt)
        ]
        for key in gone:
            del value[key]
        for key in numbers:
            if key in value:
                value[key] = whole(value[key])
        for key, visit in parts:
            if key in value:
                visit(value[key])

    return prune


def _prune_items(schema: Obj) -> Visit:
    number, visit = schema.get("type") == "integer", _pruner(schema)

    def prune(value: Any) -> None:
        if type(value) is not list:
            return
        if number:
            value[:] = map(whole, value)
        elif visit is not None:
            for item in value:
                visit(item)

    return prune


def defaulter(schema: Obj) -> Visit | None:
    """Puts defaults where nothing was given, also below objects that are there; None where there are none."""
    if "items" in schema:
        return _fill_items(schema)
    steps = [
        (key, "default" in one, one.get("default"), fill)
        for key, one in schema.get("properties", {}).items()
        if (fill := defaulter(one)) or "default" in one
    ]
    if not steps:
        return None

    def fill_object(value: Any) -> None:
        if type(value) is not dict:
            return
        for key, has_default, default, fill in steps:
            if has_default and key not in value:
                value[key] = copy.deepcopy(default)
            if fill is not None and key in value:
                fill(value[key])

    return fill_object


def _fill_items(schema: Obj) -> Visit | None:
    fill = defaulter(schema["items"])
    if fill is None:
        return None

    def fill_items(value: Any) -> None:
        if type(value) is list:
            for item in value:
                fill(item)

    return fill_items
