"""Refusals in the words of the Kubernetes API, and Status objects to and from errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vacate import errors
from vacate.api.fielderrors import FieldError
from vacate.api.kinds import Kind
from vacate.api.objects import Obj

_MAX_CHARACTERS = 1024 * 1024
_MAX_ERRORS = 1000
_MAX_SHOWN = 1024  # characters of an error in a shortened answer
_BY_REASON: dict[str, type[errors.ApiError]] = {}
_BY_CODE: dict[int, type[errors.ApiError]] = {}


def not_found(kind: Kind, name: str) -> errors.NotFound:
    """404 for an object."""
    return errors.NotFound(f'{kind.resource} "{name}" not found', details=_details(kind, name))


def already_exists(kind: Kind, name: str) -> errors.AlreadyExists:
    """409 for a create."""
    return errors.AlreadyExists(f'{kind.resource} "{name}" already exists', details=_details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> errors.Conflict:
    """409 for a write that lost a race or failed a precondition."""
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return errors.Conflict(message, details=_details(kind, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def modified(kind: Kind, name: str) -> errors.Conflict:
    """409 for a stale resourceVersion."""
    return conflict(kind, name, MODIFIED)


def forbidden(kind: Kind, name: str, why: str, *, causes: Sequence[Obj] = ()) -> errors.Forbidden:
    """403 about one object."""
    message = (
        f'{kind.resource} "{name}" is forbidden: {why}' if name else f"{kind.resource} is forbidden: {why}"
    )
    details = _details(kind, name)
    if causes:
        details["causes"] = list(causes)
    return errors.Forbidden(message, details=details)


def invalid(kind: Kind, name: str, field_errors: Sequence[FieldError]) -> errors.Invalid:
    """422 with every error."""
    return invalid_as(kind.group, kind.kind, name, field_errors)


def invalid_resource(kind: Kind, name: str, field_errors: Sequence[FieldError]) -> errors.Invalid:
    """422 from below the strategies, where objects are known by their resource."""
    return invalid_as(kind.group, kind.plural, name, field_errors)


def invalid_as(group: str, kind: str, name: str, field_errors: Sequence[FieldError]) -> errors.Invalid:
    """422 about something that need not be a served kind, such as the options of a request."""
    fitting = _as_many_as_fit(field_errors)
    listed = list(dict.fromkeys(fitting.values()))
    body = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    details: dict[str, Any] = {"name": name, "group": group, "kind": kind}
    details["causes"] = [field_errors[index].cause() for index in fitting]
    qualified = f"{kind}.{group}" if group else kind
    return errors.Invalid(
        f'{qualified} "{name}" is invalid: {body}', details={k: v for k, v in details.items() if v}
    )


def _as_many_as_fit(field_errors: Sequence[FieldError]) -> dict[int, str]:
    """The texts of the errors, by place. Each shows a value: all could be far longer than the object."""
    fitting: dict[int, str] = {}
    length = 0
    for index, field_error in enumerate(field_errors):
        if length > _MAX_CHARACTERS or index == _MAX_ERRORS:
            break
        fitting[index] = str(field_error)
        length += len(fitting[index])
    return fitting


def to_status(error: errors.ApiError) -> Obj:
    """The Status object that says what the error says."""
    status: Obj = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": error.list_meta,
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        status["reason"] = error.reason
    if error.shows_details:
        status["details"] = error.details
    status["code"] = error.status_code
    return status


def shortened(status: Obj, most: int) -> Obj:
    """The Status of an Invalid with so many errors at most, each of a readable length, and their number."""
    details = status.get("details") or {}
    causes = details.get("causes") or []
    if status.get("reason") != errors.Invalid.default_reason or not causes:
        return status
    shown = [{**cause, "message": _cut(cause["message"])} for cause in causes[:most]]
    if shown == causes:
        return status
    listed = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in shown))
    if left := len(causes) - len(shown):
        listed.append(f"and {left} more errors" if left > 1 else "and 1 more error")
    body = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    # The message before the errors is the same for each of them.
    beginning = status["message"].partition(" is invalid: ")[0]
    message = f"{beginning} is invalid: {body}"
    return {**status, "message": message, "details": {**details, "causes": shown}}


def _cut(message: str) -> str:
    return message if len(message) <= _MAX_SHOWN else f"{message[:_MAX_SHOWN]}…"


def from_status(status: Obj, http_code: int) -> errors.ApiError:
    """The error that a Status object describes; unknown reasons go by the code."""
    code = status.get("code") or http_code
    reason = status.get("reason") or ""
    family = _BY_REASON.get(reason) or _BY_CODE.get(code) or errors.ApiError
    message = status.get("message") or f"the server answered {code}"
    details, list_meta = status.get("details"), status.get("metadata")
    return family(message, reason=reason, details=details, code=code, list_meta=list_meta)


def _details(kind: Kind, name: str) -> dict[str, Any]:
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in details.items() if value}


def _index() -> None:
    for family in errors.ApiError.__subclasses__():
        _BY_REASON[family.default_reason] = family
        _BY_CODE.setdefault(family.code, family)
    _BY_REASON["Gone"] = errors.Gone
    _BY_REASON["ServerTimeout"] = errors.Timeout


_index()
