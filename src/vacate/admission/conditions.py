"""Conditions of the common shape, `metav1.Condition`."""

from __future__ import annotations

import re

from vacate.admission.nameformats import label_key
from vacate.api.fielderrors import (
    FieldError,
    complaints,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from vacate.api.objects import Obj
from vacate.api.untyped import integer, maps, text

_REASON_FMT = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON = re.compile(_REASON_FMT)
_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',"
    "  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is"
    f" '{_REASON_FMT}')"
)


def condition_errors(status: Obj, path: str) -> list[FieldError]:
    """Errors of all conditions of a status."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(maps(status.get("conditions"))):
        where, sort = f"{path}[{index}]", text(condition.get("type"))
        if sort in seen:
            found.append(duplicate(f"{where}.type", sort))
        seen.add(sort)
        found += complaints(f"{where}.type", sort, label_key(sort))
        found += _one_condition_errors(condition, where)
    return found


def _one_condition_errors(condition: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if condition.get("status") not in ("True", "False", "Unknown"):
        status = text(condition.get("status"))
        found.append(not_supported(f"{path}.status", status, ("False", "True", "Unknown")))
    if (generation := integer(condition.get("observedGeneration"))) < 0:
        detail = "must be greater than or equal to zero"
        found.append(invalid(f"{path}.observedGeneration", generation, detail))
    if not condition.get("lastTransitionTime"):
        found.append(required(f"{path}.lastTransitionTime"))
    reason = text(condition.get("reason"))
    if not reason:
        found.append(required(f"{path}.reason"))
    elif not _REASON.fullmatch(reason):
        found.append(invalid(f"{path}.reason", reason, _REASON_TEXT))
    if len(text(condition.get("message")).encode(errors="surrogatepass")) > 32768:
        found.append(too_long(f"{path}.message", 32768))
    return found
