"""Times as the Kubernetes API writes them: RFC 3339 in UTC, whole seconds or microseconds."""

from __future__ import annotations

import datetime as dt


def format_time(moment: dt.datetime) -> str:
    """Whole seconds, as `metav1.Time` has them."""
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds")[:-6] + "Z"


def format_micro_time(moment: dt.datetime) -> str:
    """Six digits of a second, as `metav1.MicroTime` has them."""
    return moment.astimezone(dt.UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def format_exact_time(moment: dt.datetime) -> str:
    """Whole seconds where the moment is one, else six digits: the shortest form that loses nothing."""
    return format_micro_time(moment) if moment.microsecond else format_time(moment)


def parse_time(text: str) -> dt.datetime:
    """Read either form; ValueError where the text has no time zone or is no time."""
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment.astimezone(dt.UTC)
