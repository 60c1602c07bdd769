"""What a client may say beside DELETE: reading and checking `DeleteOptions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vacate.api import status
from vacate.api.fielderrors import ErrorType, FieldError, complaints, invalid
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import GATE, reason_complaints
from vacate.embedded.apiserver.request.integers import is_int64, parse_int64
from vacate.errors import BadRequest
from vacate.features import FeatureGates

BACKGROUND = "Background"
FOREGROUND = "Foreground"
ORPHAN = "Orphan"
_POLICIES = (FOREGROUND, BACKGROUND, ORPHAN)
_UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
_DELETE_OPTIONS = Kind("meta.k8s.io", "v1", "DeleteOptions", "", "", namespaced=False)


def options_from_body(body: Any) -> DeleteOptions:
    """Read the JSON form; a field of a wrong type is a BadRequest in the words of Go's decoder."""
    if body is None:
        return DeleteOptions()
    if not isinstance(body, dict):
        raise BadRequest(_cannot(body, "value", "DeleteOptions"))
    preconditions = _typed(body, "preconditions", dict, "v1.Preconditions") or {}
    return DeleteOptions(
        grace_period_seconds=_typed(body, "gracePeriodSeconds", int, "int64"),
        uid=_typed(preconditions, "uid", str, "types.UID", at="preconditions."),
        resource_version=_typed(preconditions, "resourceVersion", str, "string", at="preconditions."),
        orphan_dependents=_typed(body, "orphanDependents", bool, "bool"),
        propagation_policy=_typed(body, "propagationPolicy", str, "v1.DeletionPropagation"),
        dry_run=_texts(body, "dryRun"),
        unsafe=_typed(body, _UNSAFE, bool, "bool"),
        reason=_typed(body, "reason", str, "v1.TerminationReason") or "",
    )


def options_from_query(query: Mapping[str, Sequence[str]]) -> DeleteOptions:
    """Read the form that a DELETE without a body has: each parameter with its values."""
    first = {name: values[0] for name, values in query.items() if values}
    return DeleteOptions(
        grace_period_seconds=_number(first.get("gracePeriodSeconds")),
        uid=first.get("uid") or None,
        resource_version=first.get("resourceVersion") or None,
        orphan_dependents=_flag(first.get("orphanDependents")),
        propagation_policy=first.get("propagationPolicy"),
        dry_run=tuple(query.get("dryRun", ())),
        unsafe=_flag(first.get(_UNSAFE)),
        reason=first.get("reason", ""),
    )


def drop_gated(options: DeleteOptions, gates: FeatureGates) -> DeleteOptions:
    """Without its gate a reason is dropped, as a field that the server does not know."""
    return options if gates.enabled(GATE) else replace(options, reason="")


def check_options(options: DeleteOptions) -> None:
    """Refuse options that contradict themselves, with all errors at once."""
    field_errors = _errors(options)
    if field_errors:
        raise status.invalid(_DELETE_OPTIONS, "", field_errors)


def _errors(options: DeleteOptions) -> list[FieldError]:
    field_errors = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        both = "orphanDependents and deletionPropagation cannot be both set"
        field_errors.append(invalid("propagationPolicy", policy, both))
    if policy is not None and policy not in _POLICIES:
        field_errors.append(_unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if any(directive != "All" for directive in options.dry_run):
        field_errors.append(_unsupported("dryRun", list(options.dry_run), ("All",)))
    return field_errors + complaints("reason", options.reason, reason_complaints(options.reason))


def _unsupported(path: str, value: Any, supported: Sequence[str]) -> FieldError:
    known = ", ".join(f'"{one}"' for one in supported)
    return FieldError(path, ErrorType.NOT_SUPPORTED, f"supported values: {known}", value)


def _typed(body: Obj, name: str, wanted: type, go_type: str, *, at: str = "") -> Any:
    value = body.get(name)
    if value is None:
        return None
    fits = isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
    if not fits or (wanted is int and not is_int64(value)):
        raise BadRequest(_cannot(value, f"Go struct field DeleteOptions.{at}{name}", go_type))
    return value


def _texts(body: Obj, name: str) -> tuple[str, ...]:
    values = _typed(body, name, list, "[]string") or ()
    for value in values:
        if not isinstance(value, str):
            raise BadRequest(_cannot(value, f"Go struct field DeleteOptions.{name}", "string"))
    return tuple(values)


def _cannot(value: Any, where: str, go_type: str) -> str:
    return f"json: cannot unmarshal {_json_name(value)} into {where} of type {go_type}"


def _json_name(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float) or (isinstance(value, int) and not is_int64(value)):
        return f"number {value}"
    names = {int: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "value")


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_int64(text)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _flag(text: str | None) -> bool | None:
    return None if text is None else text != "0" and text.lower() != "false"
