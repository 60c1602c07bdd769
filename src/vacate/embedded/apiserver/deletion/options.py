"""What a client may say beside DELETE: reading and checking `DeleteOptions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vacate.api import status
from vacate.api.fielderrors import ErrorType, FieldError, complaints, invalid
from vacate.api.integers import fits
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import GATE, reason_complaints
from vacate.embedded.apiserver.request.integers import parse_int64
from vacate.embedded.schema.mismatch import mismatch
from vacate.errors import BadRequest
from vacate.features import FeatureGates

BACKGROUND = "Background"
FOREGROUND = "Foreground"
ORPHAN = "Orphan"
_POLICIES = (FOREGROUND, BACKGROUND, ORPHAN)
_TYPES: dict[str, type] = {"string": str, "bool": bool, "list": list, "map": dict}
_UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
_DELETE_OPTIONS = Kind("meta.k8s.io", "v1", "DeleteOptions", "", "", namespaced=False)


def options_from_body(body: Any) -> DeleteOptions:
    """Read the JSON form; a field of a wrong type is a BadRequest."""
    if body is None:
        return DeleteOptions()
    if not isinstance(body, dict):
        raise BadRequest(mismatch("map", body))
    preconditions = _typed(body, "preconditions", "map") or {}
    return DeleteOptions(
        grace_period_seconds=_typed(body, "gracePeriodSeconds", "int64"),
        uid=_typed(preconditions, "uid", "string", at="preconditions."),
        resource_version=_typed(preconditions, "resourceVersion", "string", at="preconditions."),
        orphan_dependents=_typed(body, "orphanDependents", "bool"),
        propagation_policy=_typed(body, "propagationPolicy", "string"),
        dry_run=_texts(body, "dryRun"),
        unsafe=_typed(body, _UNSAFE, "bool"),
        reason=_typed(body, "reason", "string") or "",
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


def _typed(body: Obj, name: str, form: str, *, at: str = "") -> Any:
    value = body.get(name)
    if value is None:
        return None
    if not (fits(value, form) if form == "int64" else isinstance(value, _TYPES[form])):
        raise BadRequest(mismatch(form, value, f"{at}{name}"))
    return value


def _texts(body: Obj, name: str) -> tuple[str, ...]:
    values = _typed(body, name, "list") or ()
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise BadRequest(mismatch("string", value, f"{name}[{index}]"))
    return tuple(values)


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_int64(text)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _flag(text: str | None) -> bool | None:
    return None if text is None else text != "0" and text.lower() != "false"
