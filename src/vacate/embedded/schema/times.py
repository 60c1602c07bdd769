"""Times as decoding reads them: RFC 3339, whole seconds for `time` and six digits for `microtime`."""

from __future__ import annotations

import datetime as dt
import re

from vacate.api import times

_SECONDS = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "(?:Z|[+-][0-9]{2}:[0-9]{2})"
_TIME = re.compile(f"{_SECONDS}(?:[.,][0-9]+)?{_ZONE}")
_MICRO_TIME = re.compile(f"{_SECONDS}[.,][0-9]{{6}}{_ZONE}")
_CANONICAL = re.compile(rf"{_SECONDS}(?:\.[0-9]{{6}})?Z")


def canonical(text: str, *, micro: bool) -> str:
    """The time as the server writes it, in UTC; ValueError where it is none."""
    if _is_canonical(text, micro=micro):
        return text
    if not (_MICRO_TIME if micro else _TIME).fullmatch(text):
        raise ValueError("not a time")
    try:
        moment = dt.datetime.fromisoformat(text.replace(",", ".")).astimezone(dt.UTC)
    except OverflowError as error:
        raise ValueError("not a time") from error
    return times.format_micro_time(moment) if micro else times.format_time(moment)


def is_zero(canonical_text: str) -> bool:
    """Whether this is the time that stands for none."""
    return canonical_text.startswith("0001-01-01T00:00:00")


def _is_canonical(text: str, *, micro: bool) -> bool:
    if len(text) != (27 if micro else 20) or not _CANONICAL.fullmatch(text):
        return False
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
