"""What requesters send, and what stands in their way. No I/O."""

from __future__ import annotations

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.evictionrequest.reader import has_responded
from vacate.eviction.model import Ending
from vacate.sdk.results import history_of
from vacate.sdk.turnstate import ending_of

REASON = "vacate.dev/reason"
"""The annotation that holds, for people, why a pod should leave."""


def new_request(pod: Pod, requester: str, reason: str = "", deadline_seconds: int | None = None) -> Obj:
    """A request that the pod leave: named after the pod's uid, and collected with the pod."""
    meta = pod.metadata
    owner = {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "name": meta.name,
        "uid": meta.uid,
        "blockOwnerDeletion": False,
    }
    metadata: Obj = {"name": meta.uid, "namespace": meta.namespace, "ownerReferences": [owner]}
    if reason:
        metadata["annotations"] = {REASON: reason}
    spec: Obj = {
        "target": {"podRef": {"name": meta.name, "uid": meta.uid}},
        "requesters": [{"name": requester}],
    }
    if deadline_seconds is not None:
        spec["heartbeatDeadlineSeconds"] = deadline_seconds
    return {"metadata": metadata, "spec": spec}


def is_asked_by(request: EvictionRequest, requester: str) -> bool:
    """Whether the requester's name is on the request."""
    return any(one.name == requester for one in request.spec.requesters)


def joined(request: EvictionRequest, requester: str) -> Obj:
    """The change that adds the name; the guard keeps those who join at the same time."""
    return _requesters(request, [*(one.name for one in request.spec.requesters), requester])


def withdrawn(request: EvictionRequest, requester: str) -> Obj:
    """The change that takes out this name and no other."""
    return _requesters(request, [one.name for one in request.spec.requesters if one.name != requester])


def must_be_replaced(request: EvictionRequest) -> bool:
    """Whether a request is over and its pod, which exists, is still to leave."""
    return ending_of(request) not in (None, Ending.POD_TERMINATED)


def why_forbidden(request: EvictionRequest) -> str:
    """Who does not allow that requesters change their minds, as far as the request tells."""
    active = request.status.active_interceptor_name
    past = [turn.interceptor for turn in history_of(request)]
    if active and has_responded(request):
        who = f"{active}, whose turn it is" + (f", or {', '.join(past)} before it" if past else "")
    else:
        who = ", ".join(past) or "an interceptor"
    return (
        f"the eviction of pod {pod_name(request)} can no longer be cancelled: Forbid was set by {who}. "
        "It ends when the pod has left, or may be cancelled once Allow is set again "
        "(an administrator can do that with `vacate cancel --override`)"
    )


def pod_name(request: EvictionRequest) -> str:
    """Namespace and name of the pod, for people."""
    ref = request.spec.target.pod_ref
    return f"{request.metadata.namespace}/{ref.name if ref else '?'}"


def _requesters(request: EvictionRequest, names: list[str]) -> Obj:
    guard = {"resourceVersion": request.metadata.resource_version, "uid": request.metadata.uid}
    return {"metadata": guard, "spec": {"requesters": [{"name": name} for name in names]}}
