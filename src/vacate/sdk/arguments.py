"""Checks of what a program passes to the SDK, at the moment when it does: one error that names the argument.

Everything raises ConfigError for options and ContractError for what a handler says.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Sequence
from typing import Any

from vacate.api.names import dns1123_label
from vacate.api.selectors.labels import parse_selector
from vacate.api.terminationreason import reason_complaints
from vacate.api.types.evictionrequest import MAX_DEADLINE_SECONDS, MIN_DEADLINE_SECONDS
from vacate.errors import ApiError, ConfigError, VacateError
from vacate.sdk.errors import ContractError
from vacate.sdk.values import Cancellation, Condition, NoEstimate, Report


def checked_report(
    message: Any, expected_finish: Any, conditions: Any, cancellation: Any, now: dt.datetime
) -> Report:
    """What a handler says, as a report; ContractError for what makes none."""
    if message is not None and not isinstance(message, str):
        raise ContractError(f"message must be a str, not {_kind(message)}")
    if not isinstance(expected_finish, dt.datetime | dt.timedelta | NoEstimate | None):
        raise ContractError(
            f"expected_finish must be a datetime, a timedelta or NO_ESTIMATE, not {_kind(expected_finish)}"
        )
    if isinstance(conditions, Condition) or not isinstance(conditions, Sequence):
        raise ContractError("conditions must be a list of Condition")
    wrong = [one for one in conditions if not isinstance(one, Condition)]
    if wrong:
        raise ContractError(f"conditions must be a list of Condition, and one is {_kind(wrong[0])}")
    finish = now + expected_finish if isinstance(expected_finish, dt.timedelta) else expected_finish
    return Report(message, finish, tuple(conditions), checked_policy(cancellation, ContractError))


def checked_policy(value: Any, error: type[VacateError] = ConfigError) -> Cancellation | None:
    """The cancellation policy of that name; None where none is given."""
    if value is None:
        return None
    try:
        return Cancellation(value)
    except ValueError:
        raise error(f"cancellation must be Allow or Forbid, not {value!r}") from None


def checked_span(what: str, value: Any) -> None:
    """A span of time, longer than none; None passes."""
    if value is None:
        return
    if not isinstance(value, dt.timedelta):
        raise ConfigError(f"{what} must be a timedelta, such as timedelta(minutes=5), not {_kind(value)}")
    if value <= dt.timedelta():
        raise ConfigError(f"{what} must be positive, not {value}")


def whole_number(what: str, value: Any, least: int = 0) -> None:
    """A whole number, not smaller than that; None passes."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{what} must be a whole number, not {_kind(value)}")
    if value < least:
        raise ConfigError(f"{what} must be at least {least}, not {value}")


def checked_deadline(value: Any) -> None:
    """The heartbeat deadline of a request, in seconds; None passes."""
    whole_number("deadline_seconds", value, MIN_DEADLINE_SECONDS)
    if value is not None and value > MAX_DEADLINE_SECONDS:
        raise ConfigError(f"deadline_seconds must be at most {MAX_DEADLINE_SECONDS}, not {value}")


def checked_selector(text: Any) -> None:
    """A label selector, or an empty text."""
    if not isinstance(text, str):
        raise ConfigError(f"label_selector must be a str such as 'app=db', not {_kind(text)}")
    try:
        parse_selector(text)
    except ApiError as error:
        raise ConfigError(f"label_selector {text!r}: {error}") from None


def checked_namespace(what: str, text: Any) -> None:
    """The name of a namespace, or an empty text."""
    if not isinstance(text, str):
        raise ConfigError(f"{what} must be a str, not {_kind(text)}")
    field_errors = dns1123_label(text) if text else []
    if field_errors:
        raise ConfigError(f"{what} {text!r}: {'; '.join(field_errors)}")


def word(what: str, value: Any) -> None:
    """A text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{what} must be a str that is not empty")


def checked_reason(value: Any) -> None:
    """A termination reason, or none."""
    if not isinstance(value, str):
        raise ConfigError(f"reason must be a str, not {_kind(value)}")
    if wrong := reason_complaints(value):
        raise ConfigError(f"reason {wrong[0]}")


def texts(what: str, value: Any) -> None:
    """Several texts; one alone is a mistake that Python would take for its letters."""
    if not isinstance(value, tuple | list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{what} must be a tuple of str, not {_kind(value)}")


def async_function(what: str, value: Any) -> bool:
    """Whether it is one; ConfigError for what cannot be called at all."""
    if not callable(value):
        raise ConfigError(f"{what} must be a function, not {_kind(value)}")
    return is_async(value)


def plain_function(what: str, value: Any) -> None:
    """Something to call that is not async; None passes."""
    if value is None:
        return
    if not callable(value):
        raise ConfigError(f"{what} must be a function, not {_kind(value)}")
    if is_async(value):
        raise ConfigError(f"{what} must be a plain function, not an async one")


def is_async(value: Any) -> bool:
    """Whether calling it gives something to await."""
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(
        getattr(value, "__call__", None)  # noqa: B004  an object with an async call, or a bound method
    )


def _kind(value: Any) -> str:
    return f"{type(value).__name__} ({value!r})" if not callable(value) else type(value).__name__
