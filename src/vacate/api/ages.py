"""How long ago something was, as tables show it."""

from __future__ import annotations

import datetime as dt

from vacate.api.durations import human_duration
from vacate.api.objects import Obj
from vacate.api.times import parse_time

__all__ = ["age", "human_duration", "since"]

_UNKNOWN = "<unknown>"


def since(text: object, now: dt.datetime) -> str:
    """How long ago a time of the API was."""
    if not isinstance(text, str) or not text:
        return _UNKNOWN
    try:
        return human_duration(now - parse_time(text))
    except (ValueError, OverflowError):
        return _UNKNOWN


def age(obj: Obj, now: dt.datetime) -> str:
    """How long ago the object was created."""
    return since(obj.get("metadata", {}).get("creationTimestamp"), now)
