"""Quick looks at a value, compiled from a schema once: does it fit, and is everything in it known?

A look says yes or no. Where it says no, a walk over value and schema (`errors`, `unknown`) finds what is
wrong: most values are right, and for those there is nothing to report. A look may say no to a value that is
right, which costs a walk; it never says yes to one that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacate.api.objects import Obj
from vacate.api.times import is_time
from vacate.crds.schema.formats import matcher
from vacate.crds.schema.validation import limits_of_integer

Check = Callable[[Any], bool]


def fits(schema: Obj) -> Check:
    """Whether the walk over errors would find none."""
    look = _FITS[schema.get("type", "")](schema)
    if "enum" not in schema:
        return look
    choices = tuple(schema["enum"])
    return lambda value: look(value) and value in choices


def _object_fits(schema: Obj) -> Check:
    inner = {key: fits(one) for key, one in schema.get("properties", {}).items()}
    needed = frozenset(inner).intersection(schema.get("required", ()))
    if "additionalProperties" in schema:
        return _map_fits(schema)

    def look(value: Any) -> bool:
        if type(value) is not dict or not needed <= value.keys():
            return False
        for key, item in value.items():
            fit = inner.get(key)
            if fit is not None and not fit(item):
                return False
        return True

    return look


def _map_fits(schema: Obj) -> Check:
    fit, most = fits(schema["additionalProperties"]), schema.get("maxProperties", float("inf"))
    return lambda value: type(value) is dict and len(value) <= most and all(map(fit, value.values()))


def _array_fits(schema: Obj) -> Check:
    fit, least, most = fits(schema["items"]), schema.get("minItems", 0), schema.get("maxItems")
    keys = schema.get("x-kubernetes-list-map-keys", ())
    key = keys[0] if keys else None
    is_set = schema.get("x-kubernetes-list-type") == "set"

    def look(value: Any) -> bool:
        if type(value) is not list or len(value) < least or (most is not None and len(value) > most):
            return False
        for item in value:
            if not fit(item):
                return False
        if is_set and len(set(value)) != len(value):
            return False
        # Items that differ in the first key differ.
        return key is None or len({item.get(key) for item in value}) == len(value)

    return look


def _string_fits(schema: Obj) -> Check:
    least, most = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
    if schema.get("format") == "date-time":
        return lambda value: type(value) is str and least <= len(value) <= most and is_time(value)
    if "pattern" in schema:
        matches = matcher(schema["pattern"]).search
        return lambda value: type(value) is str and least <= len(value) <= most and matches(value) is not None
    return lambda value: type(value) is str and least <= len(value) <= most


def _integer_fits(schema: Obj) -> Check:
    least, most = limits_of_integer(schema)
    low, high = float("-inf") if least is None else least, float("inf") if most is None else most
    return lambda value: type(value) is int and low <= value <= high


def _number_or_text_fits(schema: Obj) -> Check:
    number, text = _integer_fits(schema), _string_fits(schema)
    return lambda value: number(value) or text(value)


def _boolean_fits(_schema: Obj) -> Check:
    return lambda value: type(value) is bool


_FITS: dict[str, Callable[[Obj], Check]] = {
    "object": _object_fits,
    "array": _array_fits,
    "string": _string_fits,
    "integer": _integer_fits,
    "boolean": _boolean_fits,
    "": _number_or_text_fits,
}


def knows(schema: Obj) -> Check | None:
    """Whether the schema knows every field of a value; None where it knows every value."""
    if "items" in schema:
        return _items_known(schema)
    if "properties" not in schema:
        return None
    inner = {key: knows(one) for key, one in schema["properties"].items()}

    def look(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for key, item in value.items():
            if key not in inner:
                return False
            below = inner[key]
            if below is not None and not below(item):
                return False
        return True

    return look


def _items_known(schema: Obj) -> Check | None:
    look = knows(schema["items"])
    if look is None:
        return None
    return lambda value: type(value) is not list or all(map(look, value))
