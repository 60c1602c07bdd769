"""Environment variables of containers."""

from __future__ import annotations

from vacate.api.fielderrors import FieldError, complaints, invalid, required
from vacate.api.names import env_name
from vacate.api.objects import Obj
from vacate.api.untyped import maps, text

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_OF = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_TOO_MANY = "may not have more than one field specified at a time"


def environment_errors(container: Obj, path: str) -> list[FieldError]:
    """Errors of single variables, then of those that come by the dozen."""
    found: list[FieldError] = []
    for index, variable in enumerate(maps(container.get("env"))):
        where = f"{path}.env[{index}]"
        if name := text(variable.get("name")):
            found += complaints(f"{where}.name", name, env_name(name))
        else:
            found.append(required(f"{where}.name"))
        if type(source := variable.get("valueFrom")) is dict:
            found += _source_errors(source, text(variable.get("value")), f"{where}.valueFrom")
    for index, source in enumerate(maps(container.get("envFrom"))):
        found += _bulk_errors(source, f"{path}.envFrom", index)
    return found


def _source_errors(source: Obj, value: str, path: str) -> list[FieldError]:
    count = sum(source.get(key) is not None for key in _SOURCES)
    if count == 0:
        return [invalid(path, "", _ONE_OF)]
    if value:
        return [invalid(path, "", "may not be specified when `value` is not empty")]
    return [invalid(path, "", _TOO_MANY)] if count > 1 else []


def _bulk_errors(source: Obj, path: str, index: int) -> list[FieldError]:
    prefix = text(source.get("prefix"))
    found = complaints(f"{path}[{index}].prefix", prefix, env_name(prefix)) if prefix else []
    count = sum(source.get(key) is not None for key in ("configMapRef", "secretRef"))
    if count == 0:
        found.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif count > 1:
        found.append(invalid(path, "", _TOO_MANY))
    return found
