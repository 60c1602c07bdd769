"""EvictionRequest as a dialect: its objects are the record that all dialects share."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence

from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.base import (
    ApiTerms,
    RequestIsProcess,
    StatusPatch,
    Write,
    registered_interceptors,
)
from vacate.eviction.dialects.turn_conditions import reconsidered
from vacate.eviction.model import EvictionState, Finish, Target
from vacate.eviction.records.patches import finish_patch
from vacate.eviction.records.reader import process_of, target_of
from vacate.eviction.registration import Registration, resolve
from vacate.kube.patches import guarded

REASON = "vacate.dev/reason"
"""The annotation that holds, for readers, why a pod should be evicted."""


class EvictionRequestDialect(RequestIsProcess):
    """The API of KEP-4563 as it is proposed now."""

    name = "evictionrequest"
    kind = EVICTIONREQUESTS
    request_kind = EVICTIONREQUESTS.kind
    wire = EvictionRequest
    terms = ApiTerms("evictionrequest", "requester", "interceptor")
    max_requester = 253
    requesters_hold = False

    def read(self, obj: EvictionRequest) -> EvictionRequest:
        """The object itself."""
        return obj

    def status_patch(
        self, patch: Obj, request: EvictionRequest | None = None, now: dt.datetime | None = None
    ) -> Obj:
        """The patch itself."""
        return patch

    def request_name(self, pod_name: str, pod_uid: str) -> str:
        """The UID of the pod."""
        return pod_uid

    def registration(self, pod: Obj, allowed: Sequence[str] = ()) -> Registration:
        """Those of the pod's registration that counts for this API."""
        return resolve(pod, allowed)

    def phrase(self, text: str) -> str:
        """The sentence as it is: the record has the words of this API."""
        return text

    def process(self, request: EvictionRequest) -> EvictionState:
        """The request as the engine sees it."""
        return dataclasses.replace(process_of(request), reconsidered=reconsidered(request))

    def target(self, request: EvictionRequest, pod: Pod | None, *, live: bool = False) -> Target:
        """The pod as the engine sees it; one that has ended is as good as gone."""
        found = target_of(request, pod, live=live)
        return dataclasses.replace(found, registered=registered_interceptors(self, pod))

    def settled(self, request: EvictionRequest) -> bool:
        """A request that is complete stays for those who look back."""
        return request.complete

    def finish(self, request: EvictionRequest, action: Finish, now: dt.datetime) -> Write:
        """The condition Complete."""
        return StatusPatch(finish_patch(request, action, now))

    def new_request(self, pod: Pod, requester: str, reason: str, deadline_seconds: int | None) -> Obj:
        """Named after the pod's UID, and collected with the pod."""
        meta = pod.metadata
        spec: Obj = {
            "target": {"podRef": {"name": meta.name, "uid": meta.uid}},
            "requesters": [{"name": requester}],
        }
        if deadline_seconds is not None:
            spec["heartbeatDeadlineSeconds"] = deadline_seconds
        return {"metadata": new_metadata(pod, meta.uid, reason), "spec": spec}

    def for_requester(self, requester: str) -> EvictionRequestDialect:
        """As all do: requesters share an object."""
        return self

    def fixes_requesters(self, request: EvictionRequest) -> bool:
        """While cancellation is forbidden."""
        return request.forbids_cancellation

    def requesters_patch(self, request: EvictionRequest, names: Sequence[str]) -> Obj:
        """The list of requesters."""
        return guarded(request.metadata, {"spec": {"requesters": [{"name": name} for name in names]}})


def new_metadata(pod: Pod, name: str, reason: str) -> Obj:
    """The metadata of a new request: it belongs to the pod and goes with it."""
    meta = pod.metadata
    owner = {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "name": meta.name,
        "uid": meta.uid,
        "blockOwnerDeletion": False,
    }
    made: Obj = {"name": name, "namespace": meta.namespace, "ownerReferences": [owner]}
    return {**made, "annotations": {REASON: reason}} if reason else made


EVICTION_REQUEST = EvictionRequestDialect()
