"""Annotates pods with the reason of their deletion, while the deletion waits for admission.

It never refuses one, and never holds one up for long: a pod that ends without a reason is better than one
that does not end.

Others may refuse the deletion, and webhooks are asked side by side. So the caller of an eviction is checked,
as the eviction bridge does it, and the reason of an eviction that is refused is not written. A deletion is
not tried as another user, since the right to that would be one to delete every pod: there the reason is taken
back where the pod has not been deleted in the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from vacate.admission.pods.terminationcause import PodDeletion, reason_change
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig, terminating
from vacate.api.terminationreason import ANNOTATION
from vacate.api.untyped import mapping
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import ApiError, NotFound, TransportError
from vacate.webhook.admissionreview import AdmissionRequest
from vacate.webhook.lookups import LookupRequired, LookupResults, ObjectLookup

_log = logging.getLogger(__name__)


CHECK_SECONDS = 1.0
"""How long an eviction waits for the check of its caller; then it goes on without a reason."""

TAKEN_BACK_AFTER = 35.0
"""Seconds after which a pod is looked at whose deletion was annotated: no admission takes longer."""

_MAX_LOOKS = 1_000  # pods that are to be looked at


class ReasonAnnotator:
    """Writes the annotation where the cause of a deletion is known."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._looks: set[asyncio.Task[None]] = set()

    async def annotate(
        self, request: AdmissionRequest, evicting: tuple[str, ...], check: Callable[[], Awaitable[None]]
    ) -> None:
        """Write the reason of this deletion; what fails is logged, and the deletion goes on.

        `evicting` are the user names of managers and shutdown agents. `check` raises where the caller of an
        eviction may not evict.
        """
        eviction = request.sub_resource == "eviction"
        options = mapping((request.object or {}).get("deleteOptions")) if eviction else request.options
        dry_run = request.dry_run is True
        deletion = PodDeletion(request.user, eviction, mapping(options), dry_run, evicting)
        if deletion.untouched:
            return
        try:
            named = ObjectLookup(PODS, request.namespace or "", request.name or "")
            pod = await named.found(self._client) if eviction else request.old_object
            if pod is not None and _is_one(pod, request):
                await self._write(deletion, pod, check)
        except (ApiError, TransportError, TimeoutError) as error:
            why = str(error) or "whether its caller may evict it was not known in time"
            _log.warning("pod %s/%s gets no reason: %s", request.namespace, request.name, why)

    async def _write(self, deletion: PodDeletion, pod: Obj, check: Callable[[], Awaitable[None]]) -> None:
        known = LookupResults()
        while True:
            try:
                change = reason_change(deletion, pod, known.lookup)
                break
            except LookupRequired as broken_off:
                question = broken_off.question
                assert isinstance(question, ObjectLookup)
                known = known.with_object(question, await question.found(self._client))
        if not change:
            return
        if deletion.eviction:
            async with asyncio.timeout(CHECK_SECONDS):
                await check()
        await self._patch(pod, change)
        if not deletion.eviction and change[ANNOTATION] and len(self._looks) < _MAX_LOOKS:
            task = asyncio.create_task(self._take_back(pod, change))
            self._looks.add(task)
            task.add_done_callback(self._looks.discard)

    async def _patch(self, pod: Obj, change: Mapping[str, str | None]) -> None:
        meta = pod["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "annotations": dict(change)}}
        await self._client.patch(PODS, meta["name"], patch, meta["namespace"])

    async def _take_back(self, pod: Obj, written: Mapping[str, str | None]) -> None:
        """Remove the reason where the pod has not been deleted, and no other has been written."""
        await self._clock.sleep(TAKEN_BACK_AFTER)
        meta = pod["metadata"]
        try:
            found = await self._client.get(PODS, meta["name"], meta["namespace"])
            annotations = mapping(dig(found, "metadata", "annotations"))
            same = all(annotations.get(key) == value for key, value in written.items())
            if same and found["metadata"]["uid"] == meta["uid"] and not terminating(found):
                await self._patch(found, dict.fromkeys(written))
        except NotFound:
            return
        except (ApiError, TransportError) as error:
            _log.warning("pod %s keeps a reason that is not true: %s", meta["name"], error)


def _is_one(pod: Obj, request: AdmissionRequest) -> bool:
    """Whether the object is a stored one of the review's namespace: anyone may send a review."""
    meta = mapping(pod.get("metadata"))
    identity = [meta.get(key) for key in ("name", "namespace", "uid")]
    return all(one and isinstance(one, str) for one in identity) and identity[1] == request.namespace
