"""Probes and lifecycle hooks: one handler each, with sensible numbers."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import not_negative, unsupported
from vacate.admission.pods.reasondelivery import delivery_errors
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required
from vacate.api.names import port_name, port_number
from vacate.api.objects import Obj
from vacate.api.untyped import integer, mapping, sequence, text

_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES = ("HTTP", "HTTPS")


def probe_errors(probe: Obj, path: str, *, readiness: bool) -> list[FieldError]:
    """Errors of a probe; readiness alone may ask for several successes."""
    found = _handler_errors(probe, path, _PROBE_HANDLERS, None)
    for key in _NUMBERS:
        found += not_negative(path, probe, key)
    where, grace = f"{path}.terminationGracePeriodSeconds", probe.get("terminationGracePeriodSeconds")
    if type(grace) is int and grace <= 0:
        found.append(invalid(where, grace, "must be greater than 0"))
    if readiness:
        if grace is not None:
            found.append(invalid(where, grace, "must not be set for readinessProbes"))
    elif (needed := integer(probe.get("successThreshold"))) != 1:
        found.append(invalid(f"{path}.successThreshold", needed, "must be 1"))
    return found


def hook_errors(lifecycle: Obj, path: str, grace: Any) -> list[FieldError]:
    """Errors of what runs after the start and before the stop."""
    found: list[FieldError] = []
    for key in ("postStart", "preStop"):
        if type(handler := lifecycle.get(key)) is dict:
            found += _handler_errors(handler, f"{path}.{key}", _HOOK_HANDLERS, grace)
            if key == "preStop" and "reasonDelivery" in handler:
                found += delivery_errors(handler, f"{path}.{key}")
    return found


def _handler_errors(owner: Obj, path: str, known: tuple[str, ...], grace: Any) -> list[FieldError]:
    given = [key for key in known if owner.get(key) is not None]
    if not given:
        return [required(path, "must specify a handler type")]
    found = _action_errors(given[0], mapping(owner[given[0]]), f"{path}.{given[0]}", grace)
    detail = "may not specify more than 1 handler type"
    return found + [forbidden(f"{path}.{key}", detail) for key in given[1:]]


def _action_errors(sort: str, action: Obj, path: str, grace: Any) -> list[FieldError]:
    if sort == "exec":
        return [] if sequence(action.get("command")) else [required(f"{path}.command")]
    if sort == "sleep":
        return _sleep_errors(integer(action.get("seconds")), path, grace)
    found = [required(f"{path}.path")] if sort == "httpGet" and not text(action.get("path")) else []
    found += _port_errors(action.get("port"), f"{path}.port")
    if sort == "httpGet" and action.get("scheme") not in _SCHEMES:
        found.append(unsupported(f"{path}.scheme", text(action.get("scheme")), _SCHEMES))
    return found


def _port_errors(port: Any, path: str) -> list[FieldError]:
    if type(port) is str:
        return complaints(path, port, port_name(port))
    number = integer(port)
    return complaints(path, number, port_number(number))


def _sleep_errors(seconds: int, path: str, grace: Any) -> list[FieldError]:
    if type(grace) is not int or 0 <= seconds <= grace:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [invalid(path, seconds, detail)]
