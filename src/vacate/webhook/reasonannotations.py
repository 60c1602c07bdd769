"""Annotates pods with the reason of their deletion, while the deletion waits for admission.

It never refuses one, and never holds one up for long: a pod that ends without a reason is better than one
that does not end.
"""

from __future__ import annotations

import logging

from vacate.admission.pods.terminationcause import PodDeletion, reason_change
from vacate.api.kinds import PODS
from vacate.api.lenient import mapping
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.errors import ApiError, ConfigError, NotFound, TransportError
from vacate.webhook.admissionreview import AdmissionRequest
from vacate.webhook.lookups import LookupResults, ObjectLookup, Unanswered

_log = logging.getLogger(__name__)


class ReasonAnnotator:
    """Writes the annotation where the cause of a deletion is known."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def annotate(self, request: AdmissionRequest) -> None:
        """Write the reason of this deletion; what fails is logged, and the deletion goes on."""
        eviction = request.sub_resource == "eviction"
        options = mapping((request.object or {}).get("deleteOptions")) if eviction else request.options
        deletion = PodDeletion(request.user, eviction, mapping(options), dry_run=request.dry_run is True)
        if deletion.untouched:
            return
        try:
            pod = await self._pod(request) if eviction else request.old_object
            if pod is not None and _is_one(pod, request):
                await self._write(deletion, pod)
        except (ApiError, TransportError) as error:
            _log.warning("pod %s/%s gets no reason: %s", request.namespace, request.name, error)

    async def _pod(self, request: AdmissionRequest) -> Obj | None:
        try:
            return await self._client.get(PODS, request.name or "", request.namespace or "")
        except (NotFound, ConfigError):
            return None

    async def _write(self, deletion: PodDeletion, pod: Obj) -> None:
        known = LookupResults()
        while True:
            try:
                change = reason_change(deletion, pod, known.lookup)
                break
            except Unanswered as broken_off:
                question = broken_off.question
                assert isinstance(question, ObjectLookup)
                known = known.with_object(question, await self._found(question))
        if not change:
            return
        meta = pod["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "annotations": change}}
        await self._client.patch(PODS, meta["name"], patch, meta["namespace"])

    async def _found(self, question: ObjectLookup) -> Obj | None:
        try:
            return await self._client.get(question.kind, question.name, question.namespace)
        except (NotFound, ConfigError):
            return None


def _is_one(pod: Obj, request: AdmissionRequest) -> bool:
    """Whether the object is a stored one of the review's namespace: anyone may send a review."""
    meta = mapping(pod.get("metadata"))
    identity = [meta.get(key) for key in ("name", "namespace", "uid")]
    return all(one and isinstance(one, str) for one in identity) and identity[1] == request.namespace
