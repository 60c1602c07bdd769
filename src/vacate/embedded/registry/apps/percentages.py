"""Fields that hold a number or a percentage."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import NEGATIVE
from vacate.api.fielderrors import FieldError, complaints, invalid
from vacate.api.names import percent


def int_or_percent_errors(value: Any, path: str) -> list[FieldError]:
    """A number that is not negative, or a text such as `25%`."""
    if type(value) is str:
        return complaints(path, value, percent(value))
    if type(value) is int:
        return [invalid(path, value, NEGATIVE)] if value < 0 else []
    return [invalid(path, value, "must be an integer or percentage (e.g '5%%')")]


def over_hundred_errors(value: Any, path: str) -> list[FieldError]:
    """No percentage above a hundred, where the whole is all there is."""
    share = _percent(value)
    if share is None or share <= 100:
        return []
    return [invalid(path, value, "must not be greater than 100%")]


def amount(value: Any) -> int:
    """The number, of a percentage the number before its sign; what cannot be read counts as zero."""
    share = _percent(value)
    if share is not None:
        return share
    if type(value) is str:
        return int(value) if value.isascii() and value.lstrip("+-").isdigit() and len(value) < 20 else 0
    return value if type(value) is int else 0


def _percent(value: Any) -> int | None:
    if type(value) is not str or percent(value):
        return None
    # Go's conversion gives the largest number on overflow; twenty digits are as good as infinitely many.
    return int(value[:-1][:20])
