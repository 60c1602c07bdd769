"""The Event that says who has removed a pod before its node confirmed the end of its processes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from vacate.admission.pods.forcedeletion import ForceDeletionReason
from vacate.api.identity import quote
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.api.times import format_time

REASON = "ForceDeleted"
COMPONENT = "pod-force-delete-guard"
"""The source of these Events."""

_HOW = {
    ForceDeletionReason.CONFIRMED: "after confirming the consequences",
    ForceDeletionReason.SYSTEM: "by its identity",
    ForceDeletionReason.OWN_GRACE: "at once, since the pod's own grace period is 0",
    ForceDeletionReason.UNGUARDED: "in a namespace without the guard",
}
"""What the Event says of each reason. The pod's own node, which has seen the processes end, needs none."""


def force_deletion_event(
    pod: Obj, user: str, ground: ForceDeletionReason, now: dt.datetime, *, name: str = ""
) -> Obj | None:
    """The Event, of that name if there is one; None where the pod's own node removes it."""
    if ground not in _HOW:
        return None
    named = {"name": name} if name else {"generateName": f"{name_of(pod)[:40]}.force-"}
    message = (
        f"User {quote(user[:200])} force deleted the pod {_HOW[ground]}; node "
        f"{dig(pod, 'spec', 'nodeName')} has not confirmed that its processes have ended"
    )
    return pod_warning(pod, named, REASON, message, COMPONENT, now)


def pod_warning(
    pod: Obj, named: Mapping[str, str], reason: str, message: str, component: str, now: dt.datetime
) -> Obj:
    """An Event about a pod that says what someone else is to know."""
    at, meta = format_time(now), pod["metadata"]
    return {
        "metadata": {**named, "namespace": namespace_of(pod)},
        "involvedObject": {
            "apiVersion": PODS.api_version,
            "kind": PODS.kind,
            "name": name_of(pod),
            "namespace": namespace_of(pod),
            "uid": meta.get("uid", ""),
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "source": {"component": component},
    }
