"""Times as the Kubernetes API writes them: RFC 3339 in UTC, whole seconds or microseconds.

**An acceptable time** is RFC 3339 with a year from 1 to 9998 and an offset within a day; the year 1 only in
UTC, since an offset would lead out of it. This is the one definition: the CRD has `TIME_PATTERN`, admission
asks `is_time`, and projections of our own kinds are decoded only where `is_acceptable`. Every acceptable time
fits into a `datetime`, in UTC too, and has room for a year after it.

What is written is acceptable, whatever was read and computed: an acceptable time with an offset can lie in
the year 9999 in UTC, and a time that is too late is written as the last acceptable one.
"""

from __future__ import annotations

import datetime as dt
import re

LAST_YEAR = 9998
ACCEPTABLE = "RFC 3339 with a year from 1 to 9998 and an offset within a day; the year 1 only in UTC"
LATEST = dt.datetime.max.replace(tzinfo=dt.UTC)
"""Stands for every moment that is too late to be represented."""
EARLIEST = dt.datetime.min.replace(tzinfo=dt.UTC)

_YEAR = "(000[2-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])"
_REST = "-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?"
TIME_PATTERN = f"^({_YEAR}{_REST}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])|0001{_REST}(Z|[+-]00:00))$"
"""An acceptable time as a regular expression of ECMA 262 and of RE2; days of a month are not checked."""

_ACCEPTABLE = re.compile(TIME_PATTERN.removesuffix("$") + r"\Z")


def format_time(moment: dt.datetime) -> str:
    """Whole seconds, as `metav1.Time` has them."""
    return _in_utc(moment).isoformat(timespec="seconds")[:-6] + "Z"


def format_micro_time(moment: dt.datetime) -> str:
    """Six digits of a second, as `metav1.MicroTime` has them."""
    return _in_utc(moment).isoformat(timespec="microseconds")[:-6] + "Z"


def format_exact_time(moment: dt.datetime) -> str:
    """Whole seconds where the moment is one, else six digits: the shortest form that loses nothing."""
    return format_micro_time(moment) if moment.microsecond else format_time(moment)


def _in_utc(moment: dt.datetime) -> dt.datetime:
    return min(moment, _LAST).astimezone(dt.UTC)


def parse_time(text: str) -> dt.datetime:
    """Read either form; ValueError where the text has no time zone, or is no time that can be held."""
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None


def is_time(text: str) -> bool:
    """Whether the text is an acceptable time."""
    if not _ACCEPTABLE.match(text):
        return False
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def is_acceptable(moment: dt.datetime) -> bool:
    """Whether a decoded moment is an acceptable time.

    Decoders round to microseconds: the last tenth of a microsecond of the last year is the first moment of
    the next.
    """
    if moment.tzinfo is None:
        return False
    if 1 < moment.year <= LAST_YEAR:
        return True
    return moment == _END if moment.year > 1 else not moment.utcoffset()


def after(moment: dt.datetime, span: dt.timedelta | float) -> dt.datetime:
    """The moment a span, or so many seconds, later; `LATEST` or `EARLIEST` where that is out of range.

    Use it wherever a time or a number of seconds comes from an object: servers accept any of them.
    """
    later = span > dt.timedelta() if isinstance(span, dt.timedelta) else span > 0
    try:
        return moment + (span if isinstance(span, dt.timedelta) else dt.timedelta(seconds=span))
    except OverflowError:
        return LATEST if later else EARLIEST


_END = dt.datetime(LAST_YEAR + 1, 1, 1, tzinfo=dt.UTC)
_LAST = _END - dt.timedelta(seconds=1)
