"""Where an object breaks its structural schema, in the words in which kube-apiserver says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacate.api.fielderrors import (
    ErrorType,
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from vacate.api.integers import LIMITS
from vacate.api.objects import Obj
from vacate.crds.schema.formats import is_date_time, matches

_TYPES: dict[type, str] = {
    dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number",
    type(None): "null",
}  # fmt: skip
_FORMATS = {"integer": "int64", "number": "float64"}
_INT_OR_STRING = ("integer", "string")


def structural_errors(schema: Obj, value: Any, below: str = "") -> list[FieldError]:
    """Every error of the value: types and limits first, then repeated keys of lists.

    A part of an object lies `below` a field, which Kubernetes leaves out where it speaks of the body.
    """
    found = [*_errors(schema, value, ""), *_repetitions(schema, value, "")]
    return [replace(one, path=_joined(below, one.path)) for one in found] if below else found


def limits_of_integer(schema: Obj) -> tuple[int | None, int | None]:
    """The least and the largest number, where there are such."""
    least, most = LIMITS.get(schema.get("format", ""), (None, None))
    return schema.get("minimum", least), schema.get("maximum", most)


def _errors(schema: Obj, value: Any, path: str) -> Iterator[FieldError]:
    given = _TYPES[type(value)]
    if "type" not in schema:  # a number or a text
        if given not in _INT_OR_STRING:
            yield _wrong_type(path, ",".join(_INT_OR_STRING), given)
            return
    elif schema["type"] != given:
        yield _wrong_type(path, *_misfit(schema, given))
        return
    if given == "object":
        yield from _of_object(schema, value, path)
    elif given == "array":
        yield from _of_array(schema, value, path)
    elif given == "string":
        yield from _of_string(schema, value, path)
    elif given == "integer":
        yield from _of_integer(schema, value, path)
    if "enum" in schema and value not in schema["enum"]:
        yield not_supported(path, value, schema["enum"])


def _of_object(schema: Obj, value: Obj, path: str) -> Iterator[FieldError]:
    for key, inner in schema.get("properties", {}).items():
        if key in value:
            yield from _errors(inner, value[key], _below(path, key))
        elif key in schema.get("required", ()):
            yield required(_below(path, key))
    values = schema.get("additionalProperties")
    if values is None:
        return
    limit = schema.get("maxProperties")
    if limit is not None and len(value) > limit:
        yield too_many(path, len(value), limit)
    for key, item in value.items():
        yield from _errors(values, item, _below(path, key))


def _of_array(schema: Obj, value: list[Any], path: str) -> Iterator[FieldError]:
    limit, least = schema.get("maxItems"), schema.get("minItems", 0)
    if limit is not None and len(value) > limit:
        yield too_many(path, len(value), limit)
    if len(value) < least:
        yield invalid(path, len(value), f"{path} in body should have at least {least} items")
    for index, item in enumerate(value):
        yield from _errors(schema["items"], item, f"{path}[{index}]")


def _of_string(schema: Obj, value: str, path: str) -> Iterator[FieldError]:
    longest, shortest = schema.get("maxLength"), schema.get("minLength", 0)
    if longest is not None and len(value) > longest:
        yield FieldError(path, ErrorType.TOO_LONG, f"may not be more than {longest} bytes")
    if len(value) < shortest:
        yield invalid(path, value, f"{path} in body should be at least {shortest} chars long")
    if "pattern" in schema and not matches(schema["pattern"], value):
        yield invalid(path, value, f"{path} in body should match '{schema['pattern']}'")
    if schema.get("format") == "date-time" and not is_date_time(value):
        yield _wrong_type(path, "date-time", value)


def _of_integer(schema: Obj, value: int, path: str) -> Iterator[FieldError]:
    least, most = limits_of_integer(schema)
    if least is not None and value < least:
        yield invalid(path, value, f"{path} in body should be greater than or equal to {least}")
    if most is not None and value > most:
        yield invalid(path, value, f"{path} in body should be less than or equal to {most}")


def _misfit(schema: Obj, given: str) -> tuple[str, str]:
    """What is wanted and what is given, by their formats where Kubernetes goes by these."""
    if "format" not in schema or given in ("string", "array", "null"):
        return schema["type"], given
    return schema["format"], _FORMATS.get(given, "")


def _wrong_type(path: str, wanted: str, given: str) -> FieldError:
    detail = f'{path} in body must be of type {wanted}: "{given}"'
    return FieldError(path, ErrorType.TYPE_INVALID, detail, given)


def _repetitions(schema: Obj, value: Any, path: str) -> Iterator[FieldError]:
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            yield from _repetitions(inner, value.get(key), _below(path, key))
    elif isinstance(value, list) and schema.get("x-kubernetes-list-type") == "map":
        yield from _repeated_keys(schema["x-kubernetes-list-map-keys"], value, path)
    elif isinstance(value, list) and schema.get("x-kubernetes-list-type") == "set":
        seen: list[Any] = []
        for index, item in enumerate(value):
            if item in seen:
                yield duplicate(f"{path}[{index}]", item)
            seen.append(item)


def _repeated_keys(keys: list[str], items: list[Any], path: str) -> Iterator[FieldError]:
    """The second of each kind is reported, and no further one."""
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            return
    for index, item in enumerate(items):
        found = {key: item[key] for key in keys if key in (item or {})}
        seen[repr(found)] = seen.get(repr(found), 0) + 1
        if seen[repr(found)] == 2:
            yield duplicate(f"{path}[{index}]", found)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _joined(below: str, path: str) -> str:
    """The value itself may be a error, or one of its items."""
    return f"{below}{path}" if not path or path.startswith("[") else f"{below}.{path}"
