"""From EvictionRequests to Evictions and back, one pod at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import msgspec

from vacate.api.events import WARNING, EventNote, regarding
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.times import EARLIEST
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import (
    SUPERSEDES,
    EvictionRequest,
    LocalPodReference,
    RequestCondition,
    Requester,
)
from vacate.api.types.lifecycle import EVICTOR, LifecycleRequest, Reason
from vacate.api.types.meta import ObjectMeta
from vacate.client.requests import STRATEGIC_PATCH
from vacate.controllers.lifecycle.givingway import Yielding
from vacate.errors import AlreadyExists, Conflict, NotFound
from vacate.eviction.coexistence import deciding, waits_for_other
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.lifecycle.assembly import (
    DUPLICATE,
    awaiting,
    eviction_name,
    failed,
    failed_status,
    failure_of,
    final_conditions,
    first_status,
    labels_of,
    metadata_change,
    next_number,
    owners_of,
    request_status,
    requesters_of,
)
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.lifecycle.translation import NO_RESPONDER_LEFT, LifecycleRecord, has_begun
from vacate.eviction.dialects.registry import served_dialects
from vacate.eviction.model import Assign, DecisionContext, Turn
from vacate.eviction.records import events
from vacate.eviction.records.reader import is_superseded
from vacate.eviction.registration import listed_responders
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.podrequests import TARGET, request_for
from vacate.runtime.reconcile import Done, Key, Later, Outcome

RETRY_AFTER = dt.timedelta(seconds=30)
"""How long after an Eviction in which no responder was left the next one begins."""

LOOK_AGAIN = dt.timedelta(minutes=1)
"""After so long an Eviction that waits for another request looks again, should no change have woken it."""

_NUMBERS_TRIED = 10
"""How many numbers are tried for the next Eviction where others have the names."""

_POD = "pod"


def build(deps: Dependencies) -> Controller:
    """The controller, woken by requests and by Evictions."""
    targets = Targets(deps)
    requests = deps.informers.informer(LIFECYCLE_REQUESTS, LifecycleRequest, indexes={TARGET: _of_request})
    evictions = deps.informers.requests(LIFECYCLE, indexes={_POD: _pod_names})
    sources: tuple[Source[Any], ...] = (
        Source(requests, keys=_request_keys),
        Source(evictions, keys=_eviction_keys),
        # Who waits for the request of another API goes on when that has come to its end.
        *(Source(deps.informers.requests(one), keys=_eviction_keys) for one in _others(deps)),
    )
    return Controller(
        "lifecycle",
        Yielding(targets, deps),
        sources,
        deps,
        workers=8,
        refusals_on=requests,
        refused_for=targets.requests_of,
    )


def _others(deps: Dependencies) -> tuple[Dialect, ...]:
    return tuple(one for one in served_dialects(deps.gates) if one is not LIFECYCLE)


def _of_request(request: LifecycleRequest) -> Iterable[str]:
    pod = request.spec.target.pod
    return () if pod is None else (pod.uid,)


def _pod_names(eviction: EvictionRequest) -> Iterable[str]:
    return (f"{eviction.metadata.namespace}/{eviction.pod_name}",) if eviction.pod_name else ()


def _request_keys(request: LifecycleRequest) -> Iterable[Key]:
    return (Key(request.metadata.namespace, uid) for uid in _of_request(request))


def _eviction_keys(eviction: EvictionRequest) -> Iterable[Key]:
    return (Key(eviction.metadata.namespace, eviction.pod_uid),) if eviction.pod_uid else ()


class Targets:
    """Reconciles the requests for one pod with its Eviction; the key is the pod's UID."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        informers = deps.informers
        self._requests = informers.informer(
            LIFECYCLE_REQUESTS, LifecycleRequest, indexes={TARGET: _of_request}
        ).reader
        self._evictions = informers.requests(LIFECYCLE, indexes={_POD: _pod_names}).reader
        self._others = {one: informers.requests(one) for one in _others(deps)}

    async def reconcile(self, key: Key) -> Outcome:
        """One step."""
        try:
            return await self._step(self.requests_of(key), self._evictions_of(key))
        except NotFound:
            return Done()  # an informer will say what is gone

    def requests_of(self, key: Key) -> list[LifecycleRequest]:
        """The requests for the pod."""
        found = self._requests.by_index(TARGET, key.name)
        return [one for one in found if one.metadata.namespace == key.namespace]

    def _evictions_of(self, key: Key) -> list[LifecycleRecord]:
        found = self._evictions.by_index(TARGET, key.name)
        return [
            one
            for one in found
            if isinstance(one, LifecycleRecord) and one.metadata.namespace == key.namespace
        ]

    async def _step(self, requests: list[LifecycleRequest], evictions: list[LifecycleRecord]) -> Outcome:
        found = deciding(evictions)  # others are begun by those who may create them too
        if found is None or found.complete:
            return await self._without(requests, found)
        for duplicate in evictions:
            if duplicate is not found and not duplicate.complete:
                await self._fail(duplicate, Reason.INVALID, DUPLICATE)
        why = await self._keep(found, requests)
        for one in requests:
            await self._report(one, final_conditions(found) or awaiting(self._deps.clock.now(), why))
        return Later(self._deps.clock.now() + LOOK_AGAIN) if why else Done()

    async def _without(self, requests: list[LifecycleRequest], last: LifecycleRecord | None) -> Outcome:
        """No Eviction goes on: begin one where that is wanted, or say how the last one ended."""
        wanted = [one for one in requests if one.wants_eviction]
        if wanted and (last is None or failure_of(last)):
            return await self._begin(wanted, requests, last)
        now = self._deps.clock.now()
        for one in requests:
            await self._report(one, final_conditions(last) if last else awaiting(now))
        return Done()

    async def _begin(
        self, wanted: list[LifecycleRequest], requests: list[LifecycleRequest], last: LifecycleRecord | None
    ) -> Outcome:
        now = self._deps.clock.now()
        if last is not None and failure_of(last) == Reason.NO_RESPONDER and not is_superseded(last):
            ended = max((one.last_transition_time or now for one in final_conditions(last)), default=now)
            if now < ended + RETRY_AFTER:
                for one in requests:
                    await self._report(
                        one, awaiting(now, f"{NO_RESPONDER_LEFT} Another Eviction begins soon.")
                    )
                return Later(ended + RETRY_AFTER)
        # As the cache is now: one that comes while the pod is read is not to be counted, but to be kept.
        namespace, ref = wanted[0].metadata.namespace, wanted[0].spec.target.pod
        name = ref.name if ref is not None else ""
        before = [one.metadata.name for one in self._evictions.by_index(_POD, f"{namespace}/{name}")]
        pod, wrong = await self._pod(namespace, ref)
        if pod is None:
            for one in requests:
                await self._reject(one, wrong)
            return Done()
        requesters = requesters_of((), requests)
        meta = {
            "namespace": namespace,
            "labels": labels_of([one.name for one in requesters], [*dict(listed_responders(pod)), EVICTOR]),
            "ownerReferences": [msgspec.to_builtins(one) for one in owners_of(requests)],
        }
        if last is not None and is_superseded(last):
            meta["annotations"] = {SUPERSEDES: last.metadata.uid}
        target = {"pod": {"name": name, "uid": dig(pod, "metadata", "uid")}}
        if why := await self._create({"metadata": meta, "spec": {"target": target}}, next_number(before)):
            for one in requests:
                await self._explain(one, awaiting(now, why), "EvictionNotCreated", why)
            return Later(now + LOOK_AGAIN)
        return Done()  # the informer brings it, and its first status is written

    async def _create(self, eviction: Obj, number: int) -> str:
        """Create the Eviction under the first free number; why not, where the next ones are all taken."""
        namespace, target = eviction["metadata"]["namespace"], eviction["spec"]["target"]["pod"]
        first = eviction_name(number, target["name"])
        for _ in range(_NUMBERS_TRIED):
            name = eviction_name(number, target["name"])
            named = {**eviction, "metadata": {**eviction["metadata"], "name": name}}
            try:
                await self._deps.client.create(LIFECYCLE_EVICTIONS, named, namespace)
                return ""
            except AlreadyExists as error:
                try:
                    there = await self._deps.client.get(LIFECYCLE_EVICTIONS, name, namespace)
                except NotFound:
                    there = {}
                if dig(there, "spec", "target", "pod", "uid") in (None, target["uid"]):
                    raise Conflict(f"the cache does not have the newest Eviction yet: {error}") from error
            number += 1
        return (
            f"The names {first} to {name} are taken by Evictions of other pods: delete those that are over."
        )

    async def _keep(self, eviction: LifecycleRecord, requests: list[LifecycleRequest]) -> str:
        """Bring an Eviction in line with its requests; what keeps it from its beginning."""
        now, status = self._deps.clock.now(), eviction.eviction
        requesters = requesters_of(status.requesters, requests)
        if not has_begun(status):
            return await self._first(eviction, requests, now)
        if EVICTOR not in [one.name for one in status.target_responders]:  # another program has begun it
            await self._fail(eviction, Reason.INVALID, f"{EVICTOR}, which evicts the pod, is no responder.")
            return ""
        if requesters != status.requesters:
            listed = [{"name": one.name, "intent": one.intent} for one in requesters]
            await self._write(LIFECYCLE_EVICTIONS, eviction.metadata, {"requesters": listed})
            return ""  # the version has changed; the informer brings it
        if change := metadata_change(eviction, requests):
            meta = eviction.metadata
            await self._deps.client.patch(
                LIFECYCLE_EVICTIONS, meta.name, guarded(meta, {"metadata": change}), meta.namespace
            )
        return ""

    async def _first(
        self, eviction: LifecycleRecord, requests: list[LifecycleRequest], now: dt.datetime
    ) -> str:
        """Write the first status; why it is not written yet."""
        meta = eviction.metadata
        pod, wrong = await self._pod(meta.namespace, eviction.spec.target.pod_ref)
        if pod is None:
            await self._fail(eviction, Reason.INVALID, wrong)
            return ""
        # The first status begins the first turn.
        if why := self._waits(eviction, msgspec.convert(pod, Pod), now):
            return why
        requesters = requesters_of((), requests)
        status = first_status(meta.generation, dict(listed_responders(pod)), requesters, now)
        await self._write(LIFECYCLE_EVICTIONS, meta, status)
        first = status["targetResponders"][0]["name"]
        if first in dict(listed_responders(pod)):
            named = [Requester(name=one.name) for one in requesters]
            spec = msgspec.structs.replace(eviction.spec, requesters=named)
            asked = msgspec.structs.replace(eviction, spec=spec)
            for note in events.assigned(asked, Assign(first, Turn.FIRST)):
                self._deps.recorder.record(note)
        return ""

    def _waits(self, eviction: LifecycleRecord, pod: Pod, now: dt.datetime) -> str:
        """The turns of another API's request for the pod, for which this one waits."""
        meta = pod.metadata
        found = [
            request
            for dialect, informer in self._others.items()
            if (request := request_for(dialect, informer.reader, meta.namespace, meta.name, meta.uid))
        ]
        at = DecisionContext(now, EARLIEST, limits=self._deps.limits)
        return waits_for_other(eviction, Assign("", Turn.FIRST), found, pod, at)

    async def _fail(self, eviction: LifecycleRecord, reason: Reason, message: str) -> None:
        status = failed_status(eviction, reason, message, self._deps.clock.now())
        await self._write(LIFECYCLE_EVICTIONS, eviction.metadata, status)
        note = EventNote(regarding(LIFECYCLE_EVICTIONS, eviction), WARNING, "EvictionInvalid", message)
        self._deps.recorder.record(note)

    async def _reject(self, request: LifecycleRequest, why: str) -> None:
        """The request cannot be followed."""
        conditions = failed(Reason.INVALID, why, self._deps.clock.now())
        await self._explain(request, conditions, "EvictionInvalid", why)

    async def _explain(
        self, request: LifecycleRequest, conditions: list[RequestCondition], reason: str, why: str
    ) -> None:
        """Say in the request and in an Event what is in the way, once."""
        if await self._report(request, conditions):
            note = EventNote(regarding(LIFECYCLE_REQUESTS, request), WARNING, reason, why)
            self._deps.recorder.record(note)

    async def _report(self, request: LifecycleRequest, conditions: list[RequestCondition]) -> bool:
        """Say in the request how far its eviction is; whether that was news."""
        change, meta = request_status(request, conditions), request.metadata
        if change is None or meta.deletion_timestamp is not None:
            return False
        await self._write(LIFECYCLE_REQUESTS, meta, change)
        return True

    async def _write(self, kind: Kind, meta: ObjectMeta, status: Obj) -> None:
        change = guarded(meta, {"status": status})
        await self._deps.client.patch(
            kind, meta.name, change, meta.namespace, patch_type=STRATEGIC_PATCH, subresource="status"
        )

    async def _pod(self, namespace: str, ref: LocalPodReference | None) -> tuple[Obj | None, str]:
        """The pod to evict, from the server itself, or why there is none."""
        if ref is None:
            return None, "No pod is named."
        try:
            pod = await self._deps.client.get(PODS, ref.name, namespace)
        except NotFound:
            return None, f"Pod {ref.name} does not exist."
        if dig(pod, "metadata", "uid") != ref.uid:
            return None, f"Pod {ref.name} is another one: its UID is {dig(pod, 'metadata', 'uid')}."
        if dig(pod, "spec", "schedulingGroup"):
            why = "belongs to a scheduling group, whose pods cannot be evicted one by one"
            return None, f"Pod {ref.name} {why}."
        return pod, ""
