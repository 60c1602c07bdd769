"""`spec.evictionInterceptors`: who may act when the pod's eviction is requested, the last of them first."""

from __future__ import annotations

from dataclasses import replace

from vacate.admission.checks import unchanged
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, duplicate, too_many
from vacate.api.objects import Obj
from vacate.api.types.lifecycle import participant_errors, pod_priority_errors
from vacate.api.untyped import maps, sequence, text
from vacate.eviction.registration import (
    ALLOWED_KUBERNETES_NAMES,
    MAX_INTERCEPTORS,
    name_errors,
)

__all__ = [
    "ALLOWED_KUBERNETES_NAMES",
    "change_errors",
    "drop_where_gated",
    "interceptor_errors",
    "name_errors",
    "responder_errors",
    "tolerating",
]

FIELD = "evictionInterceptors"
GATE = "EvictionRequestAPI"
MAXIMUM = MAX_INTERCEPTORS

RESPONDERS = "evictionResponders"
"""The field of Kubernetes' own API. The pod stays as it was created with it, like most of a spec."""
MAX_RESPONDERS = 10

_OFF_BY_DEFAULT = ("schedulingGroup",)
_GATES = {FIELD: GATE, RESPONDERS: "LifecycleAPI"}


def drop_where_gated(spec: Obj, before: Obj | None, ctx: Context) -> None:
    """Without its gate new objects lose a field; those that have it keep it.

    What other gates would let in that are off in Kubernetes by default is never kept.
    """
    for name in _OFF_BY_DEFAULT:
        spec.pop(name, None)
    for name, gate in _GATES.items():
        if name in spec and not ctx.gates.enabled(gate) and not (before and before.get(name)):
            del spec[name]


def interceptor_errors(spec: Obj, path: str, ctx: Context) -> list[FieldError]:
    """Errors of the list and of each name in it."""
    allowed = ctx.allowed_interceptors
    where = f"{path}.{FIELD}"
    count = len(sequence(spec.get(FIELD)))
    found = [too_many(where, count, MAXIMUM)] if count > MAXIMUM else []
    seen: set[str] = set()
    for index, interceptor in enumerate(maps(spec.get(FIELD))):
        name = text(interceptor.get("name"))
        found += name_errors(name, f"{where}[{index}].name", allowed)
        if name in seen:
            found.append(duplicate(f"{where}[{index}].name", name))
        elif name:
            seen.add(name)
    return found


def responder_errors(spec: Obj, path: str) -> list[FieldError]:
    """Errors of the list of responders, and of each name and priority in it."""
    where, listed = f"{path}.{RESPONDERS}", maps(spec.get(RESPONDERS))
    if len(listed) > MAX_RESPONDERS:
        return [too_many(where, len(listed), MAX_RESPONDERS)]
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, one in enumerate(listed):
        name, at = text(one.get("name")), f"{where}[{index}]"
        if name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
        found += participant_errors(f"{at}.name", name)
        found += pod_priority_errors(f"{at}.priority", one.get("priority"))
    return found


def tolerating(ctx: Context, *specs: Obj) -> Context:
    """The context in which names that these pod specs have already are allowed: an update is about changes.

    Names that an administrator has allowed once may not be allowed any more; a client that removes a
    finalizer from such a pod, or scales such a Deployment, must not be refused for it.
    """
    kept = [text(one.get("name")) for spec in specs for one in maps(spec.get(FIELD))]
    return replace(ctx, allowed_interceptors=(*ctx.allowed_interceptors, *kept)) if kept else ctx


def change_errors(spec: Obj, before: Obj, path: str) -> list[FieldError]:
    """The list stays as the pod was created with it."""
    return unchanged(f"{path}.{FIELD}", spec.get(FIELD), before.get(FIELD))
