"""The changes of a request that record who has called the eviction API for its pod."""

from __future__ import annotations

import msgspec

from vacate.admission.pods.bridge import BridgeConfig, EvictionReview
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.callers import (
    CALLERS,
    POD_LABEL,
    Caller,
    callers_of,
    needs_write,
    pod_label,
    written_callers,
)
from vacate.kube.patches import guarded


def recording_patch(
    request: EvictionRequest, review: EvictionReview, caller: Caller, config: BridgeConfig
) -> Obj | None:
    """The change that records the caller; None where the record says as much already."""
    meta, callers = request.metadata, callers_of(request.metadata.annotations)
    if not needs_write(callers.get(review.requester), caller, config.wait):
        return None
    ref = request.spec.target.pod_ref
    kept = [msgspec.to_builtins(one) for one in meta.owner_references if ref is None or one.uid != ref.uid]
    change: Obj = {"annotations": {CALLERS: written_callers({**callers, review.requester: caller})}}
    if ref is not None and meta.labels.get(POD_LABEL) != pod_label(ref.name):
        change["labels"] = {POD_LABEL: pod_label(ref.name)}
    if len(kept) != len(meta.owner_references):
        change["ownerReferences"] = kept
    return guarded(meta, {"metadata": change})


def merged_patch(change: Obj | None, other: Obj) -> Obj:
    """Both changes in one."""
    if change is None:
        return other
    return {**other, **change, "metadata": {**other["metadata"], **change["metadata"]}}
