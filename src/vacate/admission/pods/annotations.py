"""Annotations that register interceptors where the field is not known, of either prefix."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj
from vacate.eviction.registration import annotation_errors, annotations_of, registered_names, registering

GATES = ("EvictionRequestAPI", "EvacuationAPI")
"""The APIs that read them: both read those of either prefix."""


def registration_errors(pod: Obj, before: Obj | None, ctx: Context) -> list[FieldError]:
    """Errors of a pod's annotations, where they are new: older ones do not stand in the way of an update."""
    now = registering(annotations_of(pod))
    if not now or not any(map(ctx.gates.enabled, GATES)):
        return []
    if before is not None and registering(annotations_of(before)) == now:
        return []
    kept = registered_names(before) if before is not None else ()
    return annotation_errors(now, (*ctx.allowed_interceptors, *kept))
