"""Evacuation as a dialect: requesters are finalizers, and a request that is over is removed."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence

from vacate.api.kinds import EVACUATIONS
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evacuation import INSTIGATOR, MAX_INSTIGATOR, Evacuation
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.base import (
    ApiTerms,
    ObjectPatch,
    Removal,
    RequestIsProcess,
    StatusPatch,
    Write,
    registered_interceptors,
)
from vacate.eviction.dialects.evacuation.translation import (
    evacuation_name,
    evacuation_text,
    other_finalizers,
    record_of,
    status_patch,
)
from vacate.eviction.dialects.evictionrequest.dialect import new_metadata
from vacate.eviction.dialects.turn_conditions import reconsidered
from vacate.eviction.model import CompletionReason, EvictionState, Finish, Target
from vacate.eviction.records.patches import finish_patch
from vacate.eviction.records.reader import process_of, target_of
from vacate.eviction.registration import Registration, resolve_evacuators
from vacate.kube.patches import guarded

COMPLETION_REASONS = (CompletionReason.POD_DELETED, CompletionReason.CANCELLED)
"""How an evacuation may end: a pod that has only terminated is still to be removed."""


class EvacuationDialect(RequestIsProcess):
    """The API of KEP-4563 as it was first proposed."""

    name = "evacuation"
    kind = EVACUATIONS
    request_kind = EVACUATIONS.kind
    wire = Evacuation
    terms = ApiTerms("evacuation", "instigator", "evacuator")
    max_requester = MAX_INSTIGATOR
    requesters_hold = True

    def read(self, obj: Evacuation) -> EvictionRequest:
        """The Evacuation in the shape of an EvictionRequest."""
        return record_of(obj)

    def status_patch(
        self, patch: Obj, request: EvictionRequest | None = None, now: dt.datetime | None = None
    ) -> Obj:
        """The patch with the names of an Evacuation's fields."""
        return status_patch(patch)

    def request_name(self, pod_name: str, pod_uid: str) -> str:
        """The UID of the pod and the beginning of its name."""
        return evacuation_name(pod_name, pod_uid)

    def registration(self, pod: Obj, allowed: Sequence[str] = ()) -> Registration:
        """Those of the pod's registration that counts for this API."""
        return resolve_evacuators(pod, allowed)

    def phrase(self, text: str) -> str:
        """The sentence with instigators and evacuators."""
        return evacuation_text(text)

    def process(self, request: EvictionRequest) -> EvictionState:
        """The request as the engine sees it: it is over when nothing is left to do for its removal."""
        return dataclasses.replace(
            process_of(request), complete=self.settled(request), reconsidered=reconsidered(request)
        )

    def target(self, request: EvictionRequest, pod: Pod | None, *, live: bool = False) -> Target:
        """The pod as the engine sees it: one that has ended is still there until it is removed."""
        found = target_of(request, pod, live=live)
        return dataclasses.replace(found, terminal=False, registered=registered_interceptors(self, pod))

    def settled(self, request: EvictionRequest) -> bool:
        """Complete, deleted, and held by no instigator: the finalizers of others are for them to remove."""
        going = request.metadata.deletion_timestamp is not None
        return request.complete and going and not request.spec.requesters

    def finish(self, request: EvictionRequest, action: Finish, now: dt.datetime) -> Write | None:
        """Say how it ended; when the pod is gone let the instigators' finalizers go; delete the object."""
        meta = request.metadata
        if not request.complete:
            return StatusPatch(finish_patch(request, action, now))
        if action.reason is CompletionReason.POD_DELETED and request.spec.requesters:
            return ObjectPatch(self.requesters_patch(request, ()))
        return Removal() if meta.deletion_timestamp is None else None

    def new_request(self, pod: Pod, requester: str, reason: str, deadline_seconds: int | None) -> Obj:
        """Named after the pod, with the instigator's finalizer, and collected with the pod."""
        meta = pod.metadata
        spec: Obj = {"podRef": {"name": meta.name, "uid": meta.uid}}
        if deadline_seconds is not None:
            spec["progressDeadlineSeconds"] = deadline_seconds
        made = new_metadata(pod, evacuation_name(meta.name, meta.uid), reason)
        return {"metadata": {**made, "finalizers": [f"{INSTIGATOR}{requester}"]}, "spec": spec}

    def for_requester(self, requester: str) -> EvacuationDialect:
        """As all do: requesters share an object."""
        return self

    def fixes_requesters(self, request: EvictionRequest) -> bool:
        """Never: where cancellation is forbidden, the evacuation goes on without instigators too."""
        return False

    def requesters_patch(self, request: EvictionRequest, names: Sequence[str]) -> Obj:
        """The instigators' finalizers; those of others stay."""
        meta = request.metadata
        finalizers = [*other_finalizers(meta.finalizers), *(f"{INSTIGATOR}{name}" for name in names)]
        return guarded(meta, {"metadata": {"finalizers": finalizers}})


EVACUATION = EvacuationDialect()
