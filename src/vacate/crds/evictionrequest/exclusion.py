"""One pod, one request: whichever API a second one comes by, it is refused with the first one's name."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api import status as refusals
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj, name_of
from vacate.api.types.readable import is_complete
from vacate.crds.evictionrequest.target import named_pod
from vacate.eviction.dialects.evacuation.translation import evacuation_name


def refuse_second_request(kind: Kind, obj: Obj, ctx: Context) -> None:
    """Refuse a new request for a pod that is requested by another API already; `obj` is its record."""
    pod = named_pod(obj)
    if not pod.name or not pod.uid:
        return
    names = {EVICTIONREQUESTS: pod.uid, EVACUATIONS: evacuation_name(pod.name, pod.uid)}
    for other, name in names.items():
        if other == kind or not ctx.gates.enabled(other.gate):
            continue
        first = ctx.lookup(other, pod.namespace, name)
        if first is not None and not is_complete(first):
            why = (
                f'the eviction of pod "{pod.name}" is requested by {other.kind} "{name}" already: join that '
                "one, or create this one when it is over"
            )
            raise refusals.forbidden(kind, name_of(obj), why)
