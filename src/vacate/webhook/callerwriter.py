"""Records in the request which callers of the eviction API wait for it, and what they have heard."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
from dataclasses import replace

import msgspec

from vacate.admission.pods.bridge import (
    BridgeConfig,
    EvictionReview,
)
from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import (
    ApiError,
    Conflict,
    NotFound,
    TransportError,
)
from vacate.eviction.callers import (
    CALLERS,
    POD_LABEL,
    Caller,
    callers_of,
    needs_write,
    pod_label,
    written_callers,
)
from vacate.eviction.dialects.registry import dialect_of
from vacate.kube.eviction import check_eviction, selects
from vacate.kube.patches import guarded
from vacate.sdk.requesters.requests import has_requester, joined
from vacate.webhook.bridgereader import BridgeReader

_log = logging.getLogger(__name__)

WRITE_SECONDS = 0.4
"""How long an answer waits for a request to be made or joined; a new one is made on afterwards."""

RECORD_SECONDS = 10.0
"""How long the record of an answer is tried to be written, which nobody waits for."""

CLOSING_SECONDS = 2.0
"""How long a webhook that ends waits for such records."""

_MAX_ATTEMPTS = 5


class CallerWriter:
    """Writes the record of callers into requests."""

    def __init__(self, client: Client, reader: BridgeReader, clock: Clock) -> None:
        self._client = client
        self._reader = reader
        self._clock = clock
        self._recording: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Record what callers have heard, for a moment; then drop what is under way."""
        if self._recording:
            await asyncio.wait(self._recording, timeout=CLOSING_SECONDS)
        tasks = list(self._recording)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def join(
        self, review: EvictionReview, request: EvictionRequest, config: BridgeConfig, now: dt.datetime
    ) -> str:
        """Add the caller where it is missing. Interceptors are at work, with or without its name.

        Returns why it was not added: who waits without being recorded must be able to see that.
        """
        change = recording_patch(request, review, review.attempted(now, config.wait), config)
        requester = review.requester(request.kind)
        if not dialect_of(request).fixes_requesters(request) and not has_requester(request, requester):
            change = merged_patch(change, joined(request, requester))
        if change is None:
            return ""
        try:
            await self._patch(request, change)
        except (Conflict, NotFound):
            raise
        except (ApiError, TransportError, TimeoutError) as error:
            _log.warning("the eviction request of pod %s was not joined: %s", review.name, error)
            return str(error) or "the API server has not answered in time"
        return ""

    def record_later(
        self,
        review: EvictionReview,
        request: EvictionRequest,
        config: BridgeConfig,
        pod: Obj | None,
        *,
        final: bool,
    ) -> None:
        """Record the answer behind it: the caller does not wait for this."""

        async def record() -> None:
            answered = final or await self._budgets_allow(pod)
            await self.record(review, request, config, answered=answered, limit=RECORD_SECONDS)

        task = asyncio.create_task(record())
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def record(
        self,
        review: EvictionReview,
        request: EvictionRequest,
        config: BridgeConfig,
        *,
        answered: bool,
        limit: float = WRITE_SECONDS,
    ) -> None:
        """Record the caller's answer. It stands, whether or not this succeeds."""
        found: EvictionRequest | None = request
        for _ in range(_MAX_ATTEMPTS):
            if found is None:
                return
            caller = replace(review.attempted(self._clock.now(), config.wait), answered=answered)
            change = recording_patch(found, review, caller, config)
            if change is None:
                return
            try:
                await self._patch(found, change, limit)
                return
            except Conflict:
                found = await self._reread(found)
            except (ApiError, TransportError, TimeoutError) as error:
                _log.info("the caller of an eviction was not recorded: %s", error)
                return

    async def _budgets_allow(self, pod: Obj | None) -> bool:
        """Whether the eviction that goes on now will succeed, as far as budgets are concerned."""
        if pod is None:
            return True
        namespace = pod["metadata"]["namespace"]
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                found = await self._client.list(PODDISRUPTIONBUDGETS, namespace)
            check_eviction(pod, [budget for budget in found.items if selects(budget, pod)])
        except (ApiError, TransportError, TimeoutError):
            return False  # not known is not final: the record stays as it is
        return True

    async def _reread(self, request: EvictionRequest) -> EvictionRequest | None:
        meta = request.metadata
        with contextlib.suppress(ApiError, TransportError, TimeoutError):
            async with asyncio.timeout(WRITE_SECONDS):
                found = await self._reader.request(meta.namespace, meta.name, request.kind)
                return found if found is not None and found.metadata.uid == meta.uid else None
        return None

    async def _patch(self, request: EvictionRequest, change: Obj, limit: float = WRITE_SECONDS) -> None:
        meta = request.metadata
        async with asyncio.timeout(limit):
            await self._client.patch(request.kind, meta.name, change, meta.namespace)


def recording_patch(
    request: EvictionRequest, review: EvictionReview, caller: Caller, config: BridgeConfig
) -> Obj | None:
    """The change that records the caller; None where the record says as much already."""
    meta, callers = request.metadata, callers_of(request.metadata.annotations)
    requester = review.requester(request.kind)
    if not needs_write(callers.get(requester), caller, config.wait):
        return None
    kept = [msgspec.to_builtins(one) for one in meta.owner_references if one.uid != request.pod_uid]
    change: Obj = {"annotations": {CALLERS: written_callers({**callers, requester: caller})}}
    if request.kind != EVICTIONREQUESTS:  # an Evacuation ends with its pod
        return guarded(meta, {"metadata": change})
    if (name := request.pod_name) and meta.labels.get(POD_LABEL) != pod_label(name):
        change["labels"] = {POD_LABEL: pod_label(name)}
    if len(kept) != len(meta.owner_references):
        change["ownerReferences"] = kept
    return guarded(meta, {"metadata": change})


def merged_patch(change: Obj | None, other: Obj) -> Obj:
    """Both changes in one."""
    if change is None:
        return other
    return {**other, **change, "metadata": {**other["metadata"], **change["metadata"]}}
