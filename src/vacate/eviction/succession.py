"""PURE. A request that supersedes another: what it is, and the record of it on the pod.

The name of a request follows from its pod, so that the old one must be gone before the new one can be
created. In between the requesters stand in a condition of the pod: a controller that dies there leaves them
to the next one. An annotation would not do: anybody who may change the pod could write it, and have the pod
evicted. Who may write its status, its node or a controller of the cluster, can end the pod anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj, metadata
from vacate.api.times import format_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    IGNORED_REGISTRATION,
    PUSHED_BY,
    RETRY,
    SKIP,
    SUPERSEDES,
)
from vacate.api.types.meta import condition
from vacate.api.untyped import mapping, maps, text
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.translation import other_finalizers
from vacate.kube.patches import guarded_by_uid
from vacate.wire.json import decode_json

HANDED_OVER: Mapping[Kind, str] = {
    EVICTIONREQUESTS: "vacate.dev/EvictionSuperseded",
    EVACUATIONS: "vacate.dev/EvacuationSuperseded",
}
"""The condition of a pod whose requesters are being handed over; its message is the new request.

Each API has its own: requests of both can be superseded at once, and neither record may replace the other.
"""

_DROPPED = (ADMITTED_STAMP, IGNORED_REGISTRATION, RETRY, SKIP, PUSHED_BY, SUPERSEDES)


def is_handed_over(pod: Pod, kind: Kind | None = None) -> bool:
    """Whether the pod carries the record of a request that is to be created, of any or of this kind."""
    return any(kind in (None, one) for one in kinds_handed_over(pod))


def kinds_handed_over(pod: Pod) -> tuple[Kind, ...]:
    """The kinds of the requests that are to be created for the pod, by its records."""
    if not pod.status.conditions:
        return ()
    found = {kind: condition(pod.status.conditions, name) for kind, name in HANDED_OVER.items()}
    return tuple(kind for kind, one in found.items() if one is not None and one.status == "True")


def successor(old: Obj, finalizers: Sequence[str]) -> Obj:
    """The request that takes over from the old one. Its interceptors are the pod's at its admission.

    What its creator named beside those of the pod, as an Evacuation's can, is named again.
    """
    meta, spec = mapping(old.get("metadata")), dict(mapping(old.get("spec")))
    spec.pop("interceptors", None)
    annotations = {
        key: value for key, value in mapping(meta.get("annotations")).items() if key not in _DROPPED
    }
    made: Obj = {
        "name": text(meta.get("name")),
        "namespace": text(meta.get("namespace")),
        "annotations": {**annotations, SUPERSEDES: text(meta.get("uid"))},
    }
    for field in ("labels", "ownerReferences"):
        if meta.get(field):
            made[field] = meta[field]
    if finalizers:
        made["finalizers"] = list(finalizers)
    return {"metadata": made, "spec": spec}


def superseded_uid(new: Obj) -> str:
    """The UID of the request that the new one takes over from."""
    return text(mapping(metadata(new).get("annotations")).get(SUPERSEDES))


def record_patch(kind: Kind, uid: str, new: Obj | None, now: Any) -> Obj:
    """The strategic merge patch of a pod's status that writes the record; without a request, removes it."""
    if new is None:
        change: Obj = {"type": HANDED_OVER[kind], "$patch": "delete"}
    else:
        change = {
            "type": HANDED_OVER[kind],
            "status": "True",
            "reason": "RequestersHandedOver",
            "message": msgspec.json.encode(new).decode(),
            "lastTransitionTime": format_time(now),
        }
    return guarded_by_uid(uid, {"status": {"conditions": [change]}})


def recorded_request(pod: Obj, dialect: Dialect) -> Obj | None:
    """The request of this API that is to be created for the pod, as its record has it."""
    meta = metadata(pod)
    name = dialect.request_name(text(meta.get("name")), text(meta.get("uid")))
    for one in maps(mapping(pod.get("status")).get("conditions")):
        if one.get("type") != HANDED_OVER[dialect.kind] or one.get("status") != "True":
            continue
        try:
            found = decode_json(text(one.get("message")), object)
        except ValueError:
            return None
        if isinstance(found, dict) and mapping(found.get("metadata")).get("name") == name:
            return found if _is_successor(found, meta, dialect) else None
    return None


def _is_successor(found: Obj, pod: Mapping[str, Any], dialect: Dialect) -> bool:
    """Whether it is a request as one is recorded: about this very pod, and held by none but requesters.

    A node writes the status of its pods. What it writes there gets no other pod evicted, and pins no request.
    """
    try:
        request = dialect.read(msgspec.convert(found, dialect.wire))
    except (msgspec.MsgspecError, ValueError, OverflowError):
        return False
    ref, held = request.spec.target.pod_ref, other_finalizers(request.metadata.finalizers)
    return (
        bool(superseded_uid(found))
        and ref is not None
        and (ref.name, ref.uid) == (pod.get("name"), pod.get("uid"))
        and request.metadata.namespace == pod.get("namespace")
        and not (held if dialect.requesters_hold else request.metadata.finalizers)
    )
