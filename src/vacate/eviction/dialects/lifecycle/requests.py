"""EvictionRequests of lifecycle.k8s.io as their requesters see them: each has its own, and follows that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from vacate.api.kinds import LIFECYCLE_REQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import (
    EvictionRequest,
    EvictionRequestSpec,
    EvictionRequestStatus,
    EvictionTarget,
    Requester,
)
from vacate.api.types.lifecycle import EVICTION, FINAL_CONDITIONS, WITHDRAWN, LifecycleRequest
from vacate.eviction.dialects.evictionrequest.dialect import new_metadata
from vacate.eviction.dialects.lifecycle.translation import completion, stamped
from vacate.eviction.requesternames import digest
from vacate.kube.patches import guarded


class LifecycleRequestRecord(EvictionRequest, frozen=True):
    """One requester's EvictionRequest in the shape of one of ours."""

    kind: ClassVar[Kind] = LIFECYCLE_REQUESTS

    request: LifecycleRequest = msgspec.field(default_factory=LifecycleRequest)  # as the API has it

    @property
    def has_its_own_name(self) -> bool:
        """False where it may have taken the name of another requester's, or of one for another pod."""
        return self.metadata.name == own_request_name(self.pod_uid, self.request.spec.requester)


def request_record(obj: LifecycleRequest) -> LifecycleRequestRecord:
    """The request as a record: its requester is on it while it wants the eviction."""
    reported = [
        one for one in obj.status.conditions if one.type in FINAL_CONDITIONS and not _is_outdated(obj)
    ]
    found = completion(reported)
    wanted = [Requester(name=obj.spec.requester)] if obj.wants_eviction else []
    return LifecycleRequestRecord(
        metadata=stamped(obj.metadata),
        spec=EvictionRequestSpec(target=EvictionTarget(pod_ref=obj.spec.target.pod), requesters=wanted),
        status=EvictionRequestStatus(
            conditions=[found] if found else [*reported], message=found.message if found else ""
        ),
        request=obj,
    )


def _is_outdated(obj: LifecycleRequest) -> bool:
    """Whether the status is of an earlier intent: an eviction that is wanted again is not over."""
    return obj.wants_eviction and 0 < obj.status.observed_generation < obj.metadata.generation


def own_request_name(pod_uid: str, requester: str) -> str:
    """What a requester's EvictionRequest for a pod is called."""
    return f"{pod_uid}-{digest(requester)}"


def new_request(pod: Pod, requester: str, reason: str) -> Obj:
    """A requester's EvictionRequest: collected with the pod, and the Eviction with the last of them."""
    meta = pod.metadata
    return {
        "metadata": new_metadata(pod, own_request_name(meta.uid, requester), reason),
        "spec": {
            "target": {"pod": {"name": meta.name, "uid": meta.uid}},
            "requester": requester,
            "intent": EVICTION,
        },
    }


def intent_patch(request: EvictionRequest, names: Sequence[str]) -> Obj:
    """The change by which the requester wants the eviction, or no longer does."""
    return guarded(request.metadata, {"spec": {"intent": EVICTION if names else WITHDRAWN}})
