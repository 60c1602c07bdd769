"""The administrator's way out: every requester removed, and Forbid undone where it is in the way."""

from __future__ import annotations

import msgspec

from vacate.api.kinds import EVICTIONREQUESTS, SELFSUBJECTREVIEWS
from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import ALLOW, EvictionRequest
from vacate.cli.notes import OVERRIDDEN, note
from vacate.cli.reach import Cluster
from vacate.decide.dialects.story_words import listed
from vacate.errors import ApiError, Conflict, VacateError

_ATTEMPTS = 20


async def override(cluster: Cluster, request: EvictionRequest, requester: str) -> str:
    """Remove every requester; what was done, as the rest of a sentence that begins with the pod."""
    names = listed([one.name for one in request.spec.requesters]) or "nobody"
    allowed_again = False
    for _ in range(_ATTEMPTS):
        try:
            if request.forbids_cancellation:
                request = await _allow(cluster, request)
                allowed_again = True
            if request.spec.requesters:
                await _empty(cluster, request)
            break
        except Conflict:
            request = await _read(cluster, request)
    else:
        raise VacateError("the request changes too quickly; try again")
    how = ", after setting the cancellation policy from Forbid to Allow" if allowed_again else ""
    who = await _user(cluster, requester)
    said = f"{who} removed all requesters ({names}){how}."
    noted = await note(cluster, request, OVERRIDDEN, said, warning=True)
    first = "the interceptor's Forbid was set to Allow, and " if allowed_again else ""
    last = "" if noted else "; no Event could be written about it"
    return f"may stay: {first}all requesters were removed ({names}){last}"


async def _allow(cluster: Cluster, request: EvictionRequest) -> EvictionRequest:
    patch = _guarded(request, {"status": {"evictionRequestCancellationPolicy": ALLOW}})
    return await _patch(cluster, request, patch, "status")


async def _empty(cluster: Cluster, request: EvictionRequest) -> EvictionRequest:
    return await _patch(cluster, request, _guarded(request, {"spec": {"requesters": []}}))


async def _patch(
    cluster: Cluster, request: EvictionRequest, patch: Obj, subresource: str = ""
) -> EvictionRequest:
    meta = request.metadata
    changed = await cluster.client.patch(
        EVICTIONREQUESTS, meta.name, patch, meta.namespace, subresource=subresource
    )
    return msgspec.convert(changed, EvictionRequest)


async def _read(cluster: Cluster, request: EvictionRequest) -> EvictionRequest:
    meta = request.metadata
    return await cluster.client.get(EVICTIONREQUESTS, meta.name, meta.namespace, into=EvictionRequest)


def _guarded(request: EvictionRequest, patch: Obj) -> Obj:
    return {"metadata": {"resourceVersion": request.metadata.resource_version}, **patch}


async def _user(cluster: Cluster, requester: str) -> str:
    """Who the server takes us for; the requester's name where it does not say."""
    try:
        review = await cluster.client.create(SELFSUBJECTREVIEWS, {})
    except ApiError:
        return requester
    return str(dig(review, "status", "userInfo", "username") or requester)
