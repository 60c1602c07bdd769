"""Conditions: the transition time of one moves only when its status does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.meta import Condition

Assessment = tuple[str, str, str]
"""The status of a condition, its reason and its message."""


def with_pod_condition(pod: Obj, type_: str, now: dt.datetime, *, reason: str = "", message: str = "") -> Obj:
    """The pod with that condition True, in the form that pods' conditions have; the input stays as it is."""
    new = pod_condition(type_, ("True", reason, message), now)
    status = dict(pod.get("status") or {})
    status["conditions"] = set_condition(status.get("conditions") or (), new)
    return {**pod, "status": status}


def pod_condition(
    type_: str, assessment: Assessment, now: dt.datetime, *, old: Obj | None = None, generation: int = 0
) -> Obj:
    """A condition as pods have them; it has changed now, unless the old one has the same status."""
    status, reason, message = assessment
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    made: Obj = {
        "type": type_,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": since or format_time(now),
    }
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    if generation:
        made["observedGeneration"] = generation
    return made


def node_condition(type_: str, assessment: Assessment, now: dt.datetime, *, since: str = "") -> Obj:
    """A condition as Nodes have them, heard of now; it holds `since` then, or since now."""
    status, reason, message = assessment
    at = format_time(now)
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": at,
        "lastTransitionTime": since or at,
    }


def condition_object(one: Condition) -> Obj:
    """A condition as JSON has it, in kinds other than pods."""
    found: Obj = {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
    if one.observed_generation:
        found["observedGeneration"] = one.observed_generation
    for name, moment in (
        ("lastTransitionTime", one.last_transition_time),
        ("lastUpdateTime", one.last_update_time),
    ):
        if moment is not None:
            found[name] = format_time(moment)
    return found


def set_condition(conditions: Sequence[Obj], new: Obj) -> list[Obj]:
    """The conditions with one of them set, in its old place if it has one."""
    old = next((one for one in conditions if one.get("type") == new["type"]), None)
    if old is None:
        return [*conditions, new]
    if old.get("status") == new["status"] and old.get("lastTransitionTime"):
        new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [new if one.get("type") == new["type"] else one for one in conditions]
