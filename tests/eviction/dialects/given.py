"""An EvictionRequest and its pod as the API has them, and the way a patch takes through a server."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, 250_017, tzinfo=dt.UTC)
UID = "11111111-1111-1111-1111-111111111111"
FIRST, SECOND, LAST = "first.example.com", "second.example.com", "last.example.com"


def at(**units: float) -> dt.datetime:
    return NOW + dt.timedelta(**units)


def when(**units: float) -> str:
    return format_exact_time(at(**units))


def request(*interceptors: str, **status: Any) -> Obj:
    """A request in the order of turns (the list itself runs backwards), with that status."""
    return {
        "metadata": {
            "name": UID,
            "namespace": "shop",
            "uid": "r-1",
            "resourceVersion": "7",
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "annotations": {"vacate.dev/admitted": "true"},
        },
        "spec": {
            "type": "Soft",
            "target": {"podRef": {"name": "web", "uid": UID}},
            "requesters": [{"name": "drain.example.com"}],
            "interceptors": [{"name": name} for name in reversed(interceptors)],
            "heartbeatDeadlineSeconds": 1800,
        },
        "status": {"message": "", "evictionRequestCancellationPolicy": "Allow", **status},
    }


def pod(uid: str = UID, phase: str = "Running", **meta: Any) -> Obj:
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": uid, **meta},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": phase},
    }


def condition(type_: str, status: str, reason: str, since: str, message: str = "", **more: Any) -> Obj:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
        **more,
    }


def read(obj: Obj) -> EvictionRequest:
    return msgspec.convert(obj, EvictionRequest)


def read_pod(obj: Obj) -> Pod:
    return msgspec.convert(obj, Pod)


def patched(obj: Obj, patch: Obj) -> Obj:
    """What a server holds after the patch, one revision later."""
    result = apply_merge_patch(copy.deepcopy(obj), copy.deepcopy(patch))
    result["metadata"]["resourceVersion"] = str(int(obj["metadata"]["resourceVersion"]) + 1)
    return result


GUARD = {"uid": "r-1", "resourceVersion": "7"}
THEIRS = condition(
    "example.com/Saved", "Unknown", "Copying", "2026-03-01T11:00:00Z", "half", observedGeneration=3
)
MINE_TOO = condition("Other", "True", "Yes", "2026-03-01T11:00:00.000001Z")
ASSIGNED = condition("InterceptorAssigned", "True", "FirstInterceptor", when(minutes=-5))
INTERCEPTING = condition("Progressing", "True", "Intercepting", when(minutes=-5), "Asked.")
BLOCKED = condition("Progressing", "False", "Blocked", when(minutes=-2), "Refused.")


def at_work(**status: Any) -> Obj:
    """The first of three is at work and has reported."""
    given: Obj = {
        "activeInterceptorName": FIRST,
        "heartbeatTime": when(minutes=-1),
        "message": "Copying.",
        "conditions": [THEIRS, ASSIGNED, INTERCEPTING, MINE_TOO],
    }
    return request(FIRST, SECOND, LAST, **(given | status))


def by_type(patch: Obj) -> dict[str, Obj]:
    return {one["type"]: one for one in patch["status"]["conditions"]}
