"""Odd values, each field of a struct, and objects with an odd value in one of them."""

from __future__ import annotations

import copy
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from support.hostile.poison import BAD_TIMES
from vacate.api.objects import Obj

TIMES = (
    *BAD_TIMES,
    "0001-01-01T00:00:00Z",
    "9998-12-31T23:59:59.9999999Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "2026-08-20T12:00:00.5+14:00",
    "2026-08-20t12:00:00z",
    "2026-08-20T12:00:00.123456Z",
)
NUMBERS: tuple[float, ...] = (
    0, 1, -1, 100, 1.0, 600.0, 1e3, 0.5, 1e15, 1e18, 1e19, 1e308, 5e-324, 2**31 - 1, 2**31, -(2**31),
    -(2**31) - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, -(2**63),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    *TIMES, *NUMBERS,
    True, False, "", "text", "50%", "1", None, [], [None], ["text"], [{}], {}, {"a": None}, {"a": "b"},
    {"a": 1},
)  # fmt: skip
FILLED: dict[str, Obj] = {
    "conditions": {
        "type": "Odd", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    },
    "containers": {"name": "web", "image": "web:1"},
    "ownerReferences": {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u"},
    "tolerations": {"key": "k", "operator": "Exists", "effect": "NoExecute"},
    "taints": {"key": "k", "effect": "NoExecute"},
    "topologySpreadConstraints": {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
    "containerStatuses": {"name": "web", "image": "web:1", "imageID": "", "ready": True, "restartCount": 0},
    "ports": {"containerPort": 80},
    "evictionInterceptors": {"name": "a.example.com"},
    "requesters": {"name": "a.example.com"},
    "blockers": {"node": "node-1", "kind": "Budget"},
}  # fmt: skip


def leaves(shape: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of each field; an empty step goes into a list."""
    shape = get_args(shape)[0] if get_origin(shape) is Annotated else shape
    if get_origin(shape) in (types.UnionType, typing.Union):
        for part in get_args(shape):
            yield from leaves(part, path)
        return
    if get_origin(shape) is list:
        yield path
        yield from leaves(get_args(shape)[0], (*path, ""))
    elif isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        hints = get_type_hints(shape, include_extras=True)
        yield from [path] if path else []
        for field in msgspec.structs.fields(shape):
            yield from leaves(hints[field.name], (*path, field.encode_name))
    elif shape is not type(None):
        yield path


def changed(obj: Obj, path: tuple[str, ...], value: Any) -> Obj:
    """The object with the value there, and with what must be beside it."""
    made = copy.deepcopy(obj)
    here: Any = made
    for step, following in zip(path, [*path[1:], None], strict=True):
        if following is None:
            if step:
                here[step] = value
            else:
                here[:] = [value]
        elif step == "":
            here = here[0]
        else:
            filled: Any = [copy.deepcopy(FILLED.get(step, {}))] if following == "" else {}
            if not isinstance(here.get(step), type(filled)) or not here[step]:
                here[step] = filled
            here = here[step]
    return made
