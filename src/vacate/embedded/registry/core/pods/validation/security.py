"""Security contexts: the users and groups under which a node runs processes. Nothing here reads the rest."""

from __future__ import annotations

from typing import Any

from vacate.admission.nameformats import in_range
from vacate.api.fielderrors import FieldError, complaints
from vacate.api.integers import MAX_INT32
from vacate.api.untyped import integer, mapping

_MAX_ID = MAX_INT32


def context_errors(context: Any, path: str) -> list[FieldError]:
    """The security context of a pod or of a container."""
    found: list[FieldError] = []
    for key in ("runAsUser", "runAsGroup"):
        number = mapping(context).get(key)
        if number is not None:
            found += complaints(f"{path}.{key}", number, in_range(integer(number), 0, _MAX_ID))
    return found
