"""Has a new request take over from one that is superseded. Every step can be repeated after a crash.

The record on the pod comes first, then the old request's end, its removal, the new request, and last the
record goes. Requesters that come meanwhile make the new request themselves: the recorded ones join it then.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging

from vacate.api.events import WARNING, EventNote, Regarding
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig, metadata, terminating
from vacate.api.options import DeleteOptions
from vacate.api.types.core import TERMINAL_PHASES
from vacate.api.types.evictionrequest import SUPERSEDES, EvictionRequest
from vacate.client.codec import codec_for
from vacate.controllers.eviction.requestwriter import RequestWriter
from vacate.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.translation import instigators, other_finalizers
from vacate.eviction.model import Supersede
from vacate.eviction.records import events
from vacate.eviction.records.patches import supersede_patch
from vacate.eviction.records.reader import is_superseded
from vacate.eviction.succession import record_patch, recorded_request, successor, superseded_uid
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Later, Outcome

log = logging.getLogger(__name__)

AGAIN = dt.timedelta(seconds=10)
"""A new request that was refused, or an old one that does not go, is tried again after so long."""

_HELD = "the present request is held by finalizers, whose owners have to remove them"
_TRANSIENT_ERRORS = (ServiceUnavailable, Timeout, TooManyRequests, Conflict)


class Succession:
    """What is done about superseded requests of one API. It reads the server, not caches: it is rare."""

    def __init__(self, deps: Dependencies, dialect: Dialect, writer: RequestWriter) -> None:
        self._deps = deps
        self._dialect = dialect
        self._writer = writer
        # Otherwise the requesters have objects of their own, whose controller begins the next process.
        self._named_by_pod = bool(dialect.request_name("", "uid"))

    async def begin(self, request: EvictionRequest, action: Supersede) -> Outcome:
        """Supersede a request that the server shows as it was decided upon; Conflict where it does not."""
        ref, meta = request.spec.target.pod_ref, request.metadata
        if ref is None:
            return Done()
        if not self._named_by_pod:
            await self._writer.write(request, supersede_patch(request, action, self._deps.clock.now()))
            self._writer.note(*events.superseded(request, action))
            return Done()
        found = await self._read(meta.namespace, meta.name)
        if found is None or metadata(found).get("resourceVersion") != meta.resource_version:
            raise Conflict("the request has changed meanwhile")
        if held := self._foreign_finalizers(found):
            self._complain(meta.namespace, ref.name, ref.uid, f"{_HELD}: {', '.join(held)}")
            return Later(self._deps.clock.now() + AGAIN)
        now = self._deps.clock.now()
        await self._record(ref.name, meta.namespace, ref.uid, self._successor(found))
        await self._writer.write(request, supersede_patch(request, action, now))
        self._writer.note(*events.superseded(request, action))
        return await self.proceed(meta.namespace, ref.name, meta.name) or Done()

    async def proceed(self, namespace: str, pod_name: str, request_name: str) -> Outcome | None:
        """Do what is left to be done for a pod, whatever a process before this one has done.

        None where that is nothing: the record is of another API's request, or cannot be read.
        """
        if not self._named_by_pod:
            return None
        pod = await self._pod(namespace, pod_name)
        if pod is None or terminating(pod) or dig(pod, "status", "phase") in TERMINAL_PHASES:
            return Done()  # it needs no request any more
        uid = str(metadata(pod)["uid"])
        if self._dialect.request_name(pod_name, uid) != request_name:
            return Done()
        wanted = recorded_request(pod, self._dialect)
        found = await self._read(namespace, request_name)
        if wanted is None:
            if found is None or not is_superseded(self._typed(found)):
                return None
            wanted = self._successor(found)
            await self._record(pod_name, namespace, uid, wanted)
        old = superseded_uid(wanted)
        if found is not None and metadata(found)["uid"] == old:
            if not self._typed(found).complete:
                # The process before this one died before it ended the request, which goes on then.
                return await self._forget(pod_name, namespace, uid)
            if not await self._remove(found):
                return Later(self._deps.clock.now() + AGAIN)
            found = await self._read(namespace, request_name)
        try:
            await self._take_over(wanted, found, namespace)
        except _TRANSIENT_ERRORS:
            raise
        except ApiError as error:
            self._complain(namespace, pod_name, uid, str(error))
            return Later(self._deps.clock.now() + AGAIN)
        return await self._forget(pod_name, namespace, uid)

    async def _take_over(self, wanted: Obj, found: Obj | None, namespace: str) -> None:
        if found is None:
            try:
                await self._deps.client.create(self._dialect.kind, wanted, namespace)
            except AlreadyExists:
                raise Conflict("another requester was quicker") from None
            return
        there = self._typed(found)
        if there.metadata.annotations.get(SUPERSEDES) == superseded_uid(wanted):
            return  # it was done before
        if there.complete or there.metadata.deletion_timestamp is not None:
            await self._remove(found)
            raise Conflict("another request for the pod is over")
        names = [one.name for one in there.spec.requesters]
        names += [one for one in self._requesters(wanted) if one not in names]
        patch = (
            self._dialect.requesters_patch(there, names) if not self._dialect.fixes_requesters(there) else {}
        )
        meta = {**(patch.get("metadata") or {}), "annotations": {SUPERSEDES: superseded_uid(wanted)}}
        await self._deps.client.patch(
            self._dialect.kind, there.metadata.name, {**patch, "metadata": meta}, namespace
        )

    async def _remove(self, found: Obj) -> bool:
        """Delete a request that is over; whether it is gone, or about to be."""
        client, kind, request = self._deps.client, self._dialect.kind, self._typed(found)
        meta = request.metadata
        with contextlib.suppress(NotFound):
            if self._dialect.requesters_hold and request.spec.requesters:
                found = await client.patch(
                    kind, meta.name, self._dialect.requesters_patch(request, ()), meta.namespace
                )
            if not terminating(found):
                await client.delete(kind, meta.name, meta.namespace, DeleteOptions(uid=meta.uid))
        left = await self._read(meta.namespace, meta.name)
        return left is None or metadata(left)["uid"] != meta.uid

    async def _forget(self, pod_name: str, namespace: str, uid: str) -> Outcome:
        await self._record(pod_name, namespace, uid, None)
        return Done()

    async def _record(self, pod_name: str, namespace: str, uid: str, new: Obj | None) -> None:
        patch = record_patch(self._dialect.kind, uid, new, self._deps.clock.now())
        with contextlib.suppress(NotFound):
            await self._deps.client.patch_status(PODS, pod_name, patch, namespace)

    async def _pod(self, namespace: str, name: str) -> Obj | None:
        try:
            return await self._deps.client.get(PODS, name, namespace)
        except NotFound:
            return None

    async def _read(self, namespace: str, name: str) -> Obj | None:
        try:
            return await self._deps.client.get(self._dialect.kind, name, namespace)
        except NotFound:
            return None

    def _typed(self, obj: Obj) -> EvictionRequest:
        return self._dialect.read(codec_for(self._dialect.wire).convert(obj))

    def _successor(self, obj: Obj) -> Obj:
        finalizers = metadata(obj).get("finalizers") or []
        return successor(obj, finalizers if self._dialect.requesters_hold else ())

    def _requesters(self, wanted: Obj) -> list[str]:
        if self._dialect.requesters_hold:
            return instigators(metadata(wanted).get("finalizers") or [])
        return [one["name"] for one in wanted["spec"].get("requesters") or []]

    def _foreign_finalizers(self, found: Obj) -> list[str]:
        finalizers: list[str] = metadata(found).get("finalizers") or []
        return other_finalizers(finalizers) if self._dialect.requesters_hold else finalizers

    def _complain(self, namespace: str, pod_name: str, uid: str, error: str) -> None:
        about = Regarding(PODS.api_version, PODS.kind, pod_name, namespace, uid)
        message = f"The request that takes over from the superseded one is refused, and tried again: {error}"
        note = EventNote(about, WARNING, "SuccessorRefused", message[: events.MAX_MESSAGE])
        self._deps.recorder.record(note)
