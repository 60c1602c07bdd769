"""EvictionRequests for conformance cases, and short ways to arrange the pods that they are about."""

from __future__ import annotations

from typing import Any

from support.arms.arm import As, Obj
from support.arms.caseapi import CaseApi
from support.arms.objects import pod
from vacate.api.identity import EVICTION_CONTROLLER, MASTERS
from vacate.api.kinds import EVICTIONREQUESTS, PODS

FIRST, SECOND = "first.example.com", "second.example.com"
FORBID = {"evictionRequestCancellationPolicy": "Forbid"}


def request(of: Obj, **spec: Any) -> Obj:
    """A request to evict this pod."""
    meta = of["metadata"]
    target = {"podRef": {"name": meta["name"], "uid": meta["uid"]}}
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": meta["uid"]},
        "spec": {"target": target, "requesters": [{"name": "drain.example.com"}], **spec},
    }


async def a_pod(api: CaseApi, name: str = "web", *interceptors: str) -> Obj:
    """A pod with these interceptors, the last of which has the first turn."""
    spec: Obj = {"evictionInterceptors": [{"name": one} for one in interceptors]} if interceptors else {}
    return await api.given(PODS, pod(name, **spec))


async def a_request(api: CaseApi, name: str = "web", *interceptors: str, status: Obj | None = None) -> Obj:
    """A request for a new pod, in this state."""
    made = await api.given(EVICTIONREQUESTS, request(await a_pod(api, name, *interceptors)))
    if status is None:
        return made
    controller = As(EVICTION_CONTROLLER, (MASTERS,))
    answer = await api.patch(
        EVICTIONREQUESTS, made["metadata"]["name"], {"status": status}, sub="status", as_user=controller
    )
    return answer.ok()


def complete(reason: str = "Cancelled") -> Obj:
    """The status of a request that is over."""
    since = "2026-01-01T00:00:00Z"
    one = {"type": "Complete", "status": "True", "reason": reason, "message": "", "lastTransitionTime": since}
    return {"conditions": [one]}
