"""One pod, one request: whichever API a second one comes by, it is refused with the first one's name."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api import status as refusals
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj, name_of
from vacate.api.types.readable import is_complete
from vacate.crds.evictionrequest.target import TargetReference, named_pod
from vacate.eviction.dialects.evacuation.translation import evacuation_name
from vacate.features import FeatureGates


def requests_by_others(kind: Kind, pod: TargetReference, gates: FeatureGates) -> list[tuple[Kind, str]]:
    """What requests for the pod are called where they come by other APIs, those whose gates are open."""
    if not pod.name or not pod.uid:
        return []
    names = {EVICTIONREQUESTS: pod.uid, EVACUATIONS: evacuation_name(pod.name, pod.uid)}
    return [(other, name) for other, name in names.items() if other != kind and gates.enabled(other.gate)]


def refuse_second_request(kind: Kind, obj: Obj, ctx: Context) -> None:
    """Refuse a new request for a pod that is requested by another API already; `obj` is its record."""
    pod = named_pod(obj)
    for other, name in requests_by_others(kind, pod, ctx.gates):
        first = ctx.lookup(other, pod.namespace, name)
        if first is not None and not is_complete(first):
            why = (
                f'the eviction of pod "{pod.name}" is requested by {other.kind} "{name}" already: join that '
                "one, or create this one when it is over"
            )
            raise refusals.forbidden(kind, name_of(obj), why)
