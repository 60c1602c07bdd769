"""Integers as the Kubernetes API has them: of 32 or 64 bits, written as whole numbers.

**An acceptable integer** lies within the range of its format. A number with a fraction or an exponent stands
for an integer only where it is whole and below 2**53: from there on a float no longer tells neighbours apart,
and `1e308` is no integer at all. This is the one definition: the structs of our own kinds have fields of the
types `Int32` and `Int64`, from which come the CRD's limits (and so admission and CEL, which see nothing else)
and what decoding refuses. The embedded server reads built-in kinds by the same limits.

**An acceptable duration** is a number of seconds of a field's own limits; `span` keeps what a server without
these limits has stored within them.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any

import msgspec

MAX_INT32, MIN_INT32 = 2**31 - 1, -(2**31)
MAX_INT64, MIN_INT64 = 2**63 - 1, -(2**63)
EXACT = 2**53
"""Whole floats below it are integers, and no others."""

LIMITS = {"int32": (MIN_INT32, MAX_INT32), "int64": (MIN_INT64, MAX_INT64)}
"""The least and the largest integer by the name of the format."""


def _format(name: str) -> msgspec.Meta:
    least, most = LIMITS[name]
    schema: dict[str, Any] = {"format": name}
    if name == "int32":
        schema |= {"minimum": least, "maximum": most}  # those of 64 bits a schema could not hold exactly
    return msgspec.Meta(ge=least, le=most, extra_json_schema=schema)


Int32 = Annotated[int, _format("int32")]
Int64 = Annotated[int, _format("int64")]


def fits(value: Any, name: str) -> bool:
    """Whether the value is an acceptable integer of that format."""
    least, most = LIMITS[name]
    return type(value) is int and least <= value <= most


def whole(value: Any) -> Any:
    """The integer that a float stands for; every other value as it is."""
    exact = type(value) is float and value.is_integer() and abs(value) < EXACT
    return int(value) if exact else value


def span(seconds: int, least: int, most: int) -> dt.timedelta:
    """So many seconds, at least and at most so many."""
    return dt.timedelta(seconds=min(max(seconds, least), most))


def parse_integer(text: str, name: str = "int64") -> int | None:
    """The integer of that format that the text is; None for other text, however many digits it has.

    Python's own `int` takes digits of other scripts, and fails for some that `isdigit` knows and for more
    than 4300 digits: use this one for text that others write.
    """
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if fits(number, name) else None


def parse_version(value: Any) -> int | None:
    """The number that a `metadata.resourceVersion` stands for; None where API servers refuse to read it.

    They read decimal digits of 64 bits and no sign, so that `0421` is the version `421`: two versions are
    the same when their numbers are.
    """
    found = _VERSION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    number = int(found[1])
    return number if number < 2**64 else None


_INTEGER = re.compile("([+-]?)0*([0-9]{1,19})")
_VERSION = re.compile("0*([0-9]{1,20})")
