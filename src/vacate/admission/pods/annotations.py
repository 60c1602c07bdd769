"""Annotations that register interceptors where the field is not known, of either prefix."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.admission.rules import table
from vacate.api.fielderrors import ErrorType, FieldError
from vacate.api.objects import Obj
from vacate.eviction.registration import annotation_errors, annotations_of, registered_names, registering

GATES = ("EvictionRequestAPI", "EvacuationAPI")
"""The APIs that read them: both read those of either prefix."""

_HERE = "metadata.annotations[*/priority_*]"

RULES = table(
    "Pod",
    (f"{_HERE}#name", ErrorType.INVALID, "a DNS subdomain behind priority_, or in hash_ of the same key"),
    (_HERE, ErrorType.FORBIDDEN, "k8s.io only for known interceptors of Kubernetes"),
    (_HERE, ErrorType.DUPLICATE, "unique names"),
    (f"{_HERE}#number", ErrorType.INVALID, "PRIORITY or PRIORITY/ROLE, the priority from 0 to 100000"),
    (_HERE, ErrorType.REQUIRED, "for every hash_ of the same key"),
    (f"{_HERE}#one", ErrorType.FORBIDDEN, "only one with the role controller"),
    (f"{_HERE}#controller", ErrorType.INVALID, "10000 with the role controller"),
    (f"{_HERE}#others", ErrorType.INVALID, "not 10000 without the role controller"),
    (
        "metadata.annotations#interceptors",
        ErrorType.TOO_MANY,
        "at most 99 beside the one with the role controller",
    ),
)


def registration_errors(pod: Obj, before: Obj | None, ctx: Context) -> list[FieldError]:
    """Errors of a pod's annotations, where they are new: older ones do not stand in the way of an update."""
    now = registering(annotations_of(pod))
    if not now or not any(map(ctx.gates.enabled, GATES)):
        return []
    if before is not None and registering(annotations_of(before)) == now:
        return []
    kept = registered_names(before) if before is not None else ()
    return annotation_errors(now, (*ctx.allowed_interceptors, *kept))
