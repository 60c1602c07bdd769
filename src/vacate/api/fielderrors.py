"""Errors of an object, each with the path of its field, in the words that Kubernetes uses.

A validator returns all of them at once; nothing here raises.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson


class ErrorType(enum.Enum):
    """The kinds of error: the cause's reason, and how the message begins."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")


_ESCAPED_IN_JSON = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_QUOTED = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    "\v": "\\v",
}  # fmt: skip
OMITTED = object()
"""In place of a value that is not shown: of an object or a list that breaks a rule."""
_WITHOUT_VALUE = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG})


class Typed(str):
    """A text that is no plain string in Go, but behind a pointer or of a type of its own: shown as JSON."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of one field."""

    path: str
    field_error: ErrorType
    detail: str = ""
    value: Any = None

    @property
    def body(self) -> str:
        """The message without the path."""
        text = self.field_error.value[1]
        if self.field_error not in _WITHOUT_VALUE and self.value is not OMITTED:
            # What can be unsupported has a type of its own in Go, and is shown as other than plain texts.
            typed = self.field_error is ErrorType.NOT_SUPPORTED or isinstance(self.value, Typed)
            text += f": {_json(self.value) if typed else _show(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"

    def cause(self) -> dict[str, str]:
        """The error as an entry of a Status object's causes."""
        return {"reason": self.field_error.value[0], "message": self.body, "field": self.path}


def required(path: str, detail: str = "") -> FieldError:
    """The field is missing."""
    return FieldError(path, ErrorType.REQUIRED, detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """The field's value breaks a rule, which the detail states."""
    return FieldError(path, ErrorType.INVALID, detail, value)


def forbidden(path: str, detail: str) -> FieldError:
    """The field may not be set, or not be changed."""
    return FieldError(path, ErrorType.FORBIDDEN, detail)


def duplicate(path: str, value: Any) -> FieldError:
    """The value stands in the list already."""
    return FieldError(path, ErrorType.DUPLICATE, "", value)


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    """The value is none of those that are known, which are listed in the given order."""
    known = ", ".join(f'"{item}"' for item in supported)
    return FieldError(path, ErrorType.NOT_SUPPORTED, f"supported values: {known}", value)


def not_found(path: str, value: Any) -> FieldError:
    """The value names something that does not exist."""
    return FieldError(path, ErrorType.NOT_FOUND, "", value)


def too_long(path: str, limit: int) -> FieldError:
    """The text has more bytes than allowed."""
    return FieldError(path, ErrorType.TOO_LONG, f"may not be more than {limit} bytes")


def too_many(path: str, actual: int, limit: int) -> FieldError:
    """The list has more items than allowed."""
    return FieldError(path, ErrorType.TOO_MANY, f"must have at most {limit} items", actual)


def _show(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    return _json(value)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode().translate(_ESCAPED_IN_JSON)


def _quoted(text: str) -> str:
    """A text as Go's `%q` has it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_QUOTED.get(char) or _visible(char) for char in text) + '"'


def _visible(char: str) -> str:
    code = ord(char)
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def complaints(path: str, value: Any, texts: Iterable[str]) -> list[FieldError]:
    """One error of the value for each complaint."""
    return [invalid(path, value, text) for text in texts]
