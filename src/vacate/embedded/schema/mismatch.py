"""Messages for values of another type than their place takes: what is expected there, and what was found."""

from __future__ import annotations

from typing import Any

EXPECTED = {
    "string": "a string", "bool": "a boolean", "int32": "a 32-bit integer", "int64": "a 64-bit integer",
    "float": "a number", "intorstring": "a 32-bit integer or a string", "bytes": "a base64-encoded string",
    "quantity": "a quantity", "time": "a time", "microtime": "a time with six digits after the point",
    "list": "a list", "map": "an object", "struct": "an object",
}  # fmt: skip
"""What a value of each form of the schema table is called."""

_WRITTEN_AS_STRINGS = ("quantity", "time", "microtime")
_FOUND: dict[type, str] = {str: "a string", bool: "a boolean", list: "a list", dict: "an object"}
_MAX_SHOWN = 64


def mismatch(form: str, value: Any, path: str = "") -> str:
    """The message, such as `spec.replicas: expected a 32-bit integer, got a string`."""
    message = f"expected {EXPECTED[form]}, got {_found(form, value)}"
    return f"{path}: {message}" if path else message


def _found(form: str, value: Any) -> str:
    if isinstance(value, str) and form in _WRITTEN_AS_STRINGS:
        return f'"{value[:_MAX_SHOWN]}"'
    return _FOUND.get(type(value)) or ("null" if value is None else str(value))
