"""Setting a condition on a whole object: the transition time moves only when the status does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.objects import Obj
from vacate.api.times import format_time


def with_pod_condition(pod: Obj, type_: str, now: dt.datetime, *, reason: str = "", message: str = "") -> Obj:
    """The pod with that condition True, in the form that pods' conditions have; the input stays as it is."""
    new: Obj = {
        "type": type_,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
    }
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    status = dict(pod.get("status") or {})
    status["conditions"] = set_condition(status.get("conditions") or (), new)
    return {**pod, "status": status}


def set_condition(conditions: Sequence[Obj], new: Obj) -> list[Obj]:
    """The conditions with one of them set, in its old place if it has one."""
    old = next((one for one in conditions if one.get("type") == new["type"]), None)
    if old is None:
        return [*conditions, new]
    if old.get("status") == new["status"] and old.get("lastTransitionTime"):
        new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [new if one.get("type") == new["type"] else one for one in conditions]
