"""Sentences on the progress of an eviction, and on a pod that is still there after its end."""

from __future__ import annotations

from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import ForcedReason, forced_by, shown_stage
from vacate.views.phrases import NOTHING, listed
from vacate.views.statusrows import Row, pod_of

_FORCED = {
    ForcedReason.LIMIT_REACHED.value: "evicted past its interceptors: an administrator's limit was reached",
    ForcedReason.DELETED_WHEN_PREPARED.value: (
        "deleted past its own disruption budget: it was prepared, and its owner allows that"
    ),
}


def forced_outcome(request: EvictionRequest) -> str:
    """What became of a pod that was removed past what protects it; empty where it was not."""
    found = forced_by(request)
    return "" if found is None else _FORCED.get(found.reason, "")


def progress_text(row: Row, called: str = "interceptor") -> str:
    """The progress, as the rest of a sentence that begins with the pod."""
    message = f": {row.message}" if row.message != NOTHING else ""
    match row.stage:
        case Stage.INTERCEPTING.value if row.active != NOTHING:
            eta = f" (ETA {row.eta})" if row.eta != NOTHING else ""
            return f"waits for {called} {row.active}{eta}{message}"
        case Stage.INTERCEPTING.value:
            return f"waits for its first {called}{message}"
        case Stage.BLOCKED.value:
            return f"is blocked by {row.blocked_by}{message}"
        case Stage.EVICTING.value:
            return f"is being evicted{message}"
        case Stage.TERMINATING.value:
            return f"is terminating{message}"
    return f"is {row.stage}{message}"


def left_over_text(request: EvictionRequest, pod: Pod) -> str:
    """What keeps the pod of a complete request in the cluster; empty where nothing does."""
    name = pod_of(request)
    cancelled = shown_stage(request) in (Stage.CANCELLED, Stage.SUPERSEDED)
    if pod.metadata.uid != request.pod_uid or cancelled:
        return ""
    if not pod.terminal:
        return (
            f"pod/{name} still runs, although its request is complete: the controller did not write that. "
            "Nothing evicts the pod any more."
        )
    if pod.terminating and pod.metadata.finalizers:
        return (
            f"pod/{name} has terminated and is still there: its removal waits for its finalizers, "
            f"{listed(pod.metadata.finalizers)}. Ask their owner to remove them."
        )
    return ""
