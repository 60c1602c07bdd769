"""One step of an eviction request: what is known, what the engine decides, and what is done about it.

Everything that must outlast the process is in the request itself, and every write of it names the version
that the decision was made upon. Two controllers at once, or one that starts in the middle, thus do no harm:
the later one gets a conflict and looks again.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import RETRY, EvictionRequest
from vacate.controllers.eviction.attempts import ANSWER_TIMEOUT, EvictionAttempts, failures, key_of
from vacate.controllers.eviction.budgetwatcher import BudgetWatcher
from vacate.controllers.eviction.collectiongrace import COLLECTION, Collection, collected_with_pod
from vacate.controllers.eviction.evictor import Evictor, TargetUnclear
from vacate.controllers.eviction.owners import owner_exists
from vacate.controllers.eviction.requestwriter import RequestWriter
from vacate.controllers.eviction.succession import Succession
from vacate.controllers.eviction.watchhealth import WatchHealth
from vacate.errors import Conflict, NotFound
from vacate.eviction.coexistence import waits_for_other
from vacate.eviction.dialects.base import Dialect, ObjectPatch, Removal, StatusPatch, registered_interceptors
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import served_dialects
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    Action,
    AlreadyComplete,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    Finish,
    Hold,
    Limits,
    NotAdmitted,
    Presence,
    ReadTarget,
    Skip,
    Stage,
    Supersede,
    Target,
)
from vacate.eviction.records import events
from vacate.eviction.records.patches import (
    assign_patch,
    heartbeat_patch,
    hold_patch,
    last_turn_patch,
    limit_patch,
    registration_patch,
    skip_patch,
    unadmitted_patch,
)
from vacate.eviction.records.reader import is_superseded
from vacate.eviction.succession import is_handed_over
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.podrequests import read_request, request_for
from vacate.runtime.reconcile import Done, Key, Later, Outcome

CACHE_LAG = dt.timedelta(seconds=30)
"""How long a write of ours is taken as made, though the cache does not show it."""


class EvictionRequests:
    """Reconciles a request with its pod."""

    def __init__(self, deps: Dependencies, dialect: Dialect = EVICTION_REQUEST) -> None:
        self._dialect = dialect
        self.attempts = EvictionAttempts(deps.entropy)
        self._deps = deps
        self._informer = deps.informers.requests(dialect)
        self._requests = self._informer.reader
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._evictor = Evictor(deps, self.attempts, dialect)
        self._seen_gone: dict[Key, None] = {}  # requests whose pods were seen to be deleted
        # By request: the version that its end was written upon, and when.
        self._ended: dict[Key, tuple[str, dt.datetime]] = {}
        self._collection = Collection()
        self._watch_health = WatchHealth(self._informer, deps.clock)
        self._writer = RequestWriter(deps, dialect, self._watch_health)
        self._succession = Succession(deps, dialect, self._writer)
        self._handed_over: dict[Key, str] = {}  # by request: the pod that carries the record of its successor
        self._retried: dict[Key, tuple[str, str]] = {}  # by request: its uid, and the try that was asked for
        self._others = [one for one in served_dialects(deps.gates) if one is not dialect]
        self._other_requests = {one: deps.informers.requests(one).reader for one in self._others}
        self.budgets: BudgetWatcher | None = None

    def beside(self, other: EvictionRequest) -> Iterable[Key]:
        """The request for the pod of another API's request."""
        ref = other.spec.target.pod_ref
        return () if ref is None else self._keys(other.metadata.namespace, ref.name, ref.uid)

    def request_of(self, pod: Pod) -> Iterable[Key]:
        """The pod's request, if it has one."""
        meta = pod.metadata
        key = Key(meta.namespace, self._dialect.request_name(meta.name, meta.uid))
        return (key,) if key in self._handed_over else self._keys(meta.namespace, meta.name, meta.uid)

    def _keys(self, namespace: str, pod_name: str, pod_uid: str) -> Iterable[Key]:
        found = request_for(self._dialect, self._requests, namespace, pod_name, pod_uid)
        return () if found is None else (key_of(found),)

    def on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Remember that a pod is gone: a uid never comes back, so the server need not be asked."""
        if old is not None and new is None:
            for key in self.request_of(old):
                self._seen_gone[key] = None
                self._handed_over.pop(key, None)
        kind = self._dialect.kind
        if new is not None and any(one is not None and is_handed_over(one, kind) for one in (old, new)):
            meta = new.metadata
            key = Key(meta.namespace, self._dialect.request_name(meta.name, meta.uid))
            self._handed_over.pop(key, None)
            if is_handed_over(new, kind):
                self._handed_over[key] = meta.name

    async def reconcile(self, key: Key) -> Outcome:
        """One step of the process."""
        request = self._requests.get(*key)
        if (pod := self._pod_to_proceed_with(key, request)) is not None:
            handed_over = await self._succession.proceed(key.namespace, pod, key.name)
            if handed_over is not None:
                return handed_over
        if request is None or self._dialect.settled(request):
            self._forget(key)
            return Done()
        if self._requests.unreadable(*key) is not None:
            return Done()  # what is known is not the newest; the informer will bring what can be read
        if (known_at := self._cache_is_behind(key, request)) is not None:
            return Later(known_at)
        self._retry(key, request)
        try:
            return await self._advance(request, self._target(request))
        except NotFound:
            # The request was removed meanwhile and its informer will say so. A server that has just started
            # may also not know the kind yet.
            return Later(self._deps.clock.now() + ANSWER_TIMEOUT)

    def _pod_to_proceed_with(self, key: Key, request: EvictionRequest | None) -> str | None:
        """The pod whose requesters are being handed over to a new request; None where none is."""
        if request is not None and is_superseded(request) and request.pod_name:
            return request.pod_name
        return self._handed_over.get(key)

    def _retry(self, key: Key, request: EvictionRequest) -> None:
        """A user has asked for another try: the eviction is tried at once."""
        asked = request.metadata.annotations.get(RETRY)
        if asked is not None and self._retried.get(key) != (request.metadata.uid, asked):
            self._retried[key] = request.metadata.uid, asked
            self.attempts.wake(key)

    def _cache_is_behind(self, key: Key, request: EvictionRequest) -> dt.datetime | None:
        """Until when the cache may lack the end that was just written; None where it does not.

        A pod that has terminated is deleted a moment later: that must not lead to a second write.
        """
        version, at = self._ended.get(key, ("", None))
        if at is None or version != request.metadata.resource_version:
            return None
        until, now = at + CACHE_LAG, self._deps.clock.now()
        return until if now < until <= now + CACHE_LAG else None  # it may have been set back

    def _forget(self, key: Key) -> None:
        self.attempts.forget(key)
        self._ended.pop(key, None)
        self._collection.forget(key)
        self._seen_gone.pop(key, None)
        self._retried.pop(key, None)

    # What is known

    def _target(self, request: EvictionRequest) -> Target:
        if key_of(request) in self._seen_gone:
            return Target(Presence.GONE)
        return self._dialect.target(request, self._cached_pod(request))

    def _cached_pod(self, request: EvictionRequest) -> Pod | None:
        return self._pods.get(request.metadata.namespace, request.pod_name)

    async def _live_target(self, request: EvictionRequest) -> Target:
        ref, namespace = request.spec.target.pod_ref, request.metadata.namespace
        if ref is None:
            return self._dialect.target(request, None, live=True)
        reading = self._deps.client.get(PODS, ref.name, namespace, into=Pod)
        try:
            pod = await self._watch_health.ask(reading)
        except NotFound:
            return self._dialect.target(request, None, live=True)
        return self._dialect.target(request, pod, live=True)

    def _moment(self, request: EvictionRequest, now: dt.datetime) -> DecisionContext:
        if self.budgets is not None and failures(request):
            self.budgets.begin(request.metadata.namespace, now)
        attempt = self.attempts.next_of(request, now)
        limits = self._deps.limits if self._dialect.cuts_turns_short else Limits()
        return DecisionContext(now, self._watch_health.since(now), attempt, limits)

    # What is done

    async def _advance(self, request: EvictionRequest, target: Target, *, fresh: bool = False) -> Outcome:
        now = self._deps.clock.now()
        ignored = registration_patch(request, now)
        if ignored is not None:
            await self._writer.write(request, ignored)
            self._writer.note(events.registration_ignored(request))
            return Done()  # the informer brings what was written
        moment = self._moment(request, now)
        action: Action = decide(self._dialect.process(request), target, moment)
        if self._others and (why := await self._awaited(request, action, moment)):
            return await self._wait_for_other(request, why, now)
        return await self._act(request, action, target, now, fresh=fresh)

    async def _act(
        self, request: EvictionRequest, action: Action, target: Target, now: dt.datetime, *, fresh: bool
    ) -> Outcome:
        match action:
            case AlreadyComplete():
                return Done()
            case NotAdmitted():
                return await self._reject(request, now)
            case ReadTarget():
                return await self._advance(request, await self._live_target(request), fresh=fresh)
            case Finish():
                return await self._finish(request, action, target, now)
            case Assign():
                return await self._assign(request, action, now)
            case Skip() | CorrectHeartbeat() | Supersede():
                return await self._intervene(request, action, now)
            case Hold():
                return await self._hold(request, action, target, now)
            case Evict(recheck=True) if not fresh:
                return await self._look_again(request)
            case Evict():
                if not action.limit and await self._end_last_turn(request, now):
                    return Done()  # the informer brings the request as it is now
                return await self._evict(request, action, now)

    async def _awaited(self, request: EvictionRequest, action: Action, moment: DecisionContext) -> str:
        """What of another API's request for the pod is waited for; empty where nothing is.

        Where an interceptor may have a turn the server is asked too: two requests that were created at
        the same moment come to the cache one after the other.
        """
        ref, namespace = request.spec.target.pod_ref, request.metadata.namespace
        if ref is None or not isinstance(action, Assign | Evict | Supersede):
            return ""
        found, pod = list[EvictionRequest](), self._cached_pod(request)
        for one in self._others:
            other = request_for(one, self._other_requests[one], namespace, ref.name, ref.uid)
            named = registered_interceptors(one, pod) or (one.kind.custom and request.spec.interceptors)
            if other is None and named:
                with contextlib.suppress(NotFound):
                    reading = read_request(self._deps.client, one, namespace, ref, pod)
                    other = await self._watch_health.ask(reading)
            if other is not None:
                found.append(other)
        at = replace(moment, next_attempt=None)
        return waits_for_other(request, action, found, pod, at) if found else ""

    async def _wait_for_other(self, request: EvictionRequest, why: str, now: dt.datetime) -> Outcome:
        patch = hold_patch(request, Hold(Stage.BLOCKED, self._dialect.phrase(why)), now)
        if patch is not None:
            await self._writer.write(request, patch)
            self._writer.note(*events.other_request(request, why))
        if self.budgets is not None:
            self.budgets.pass_on(request)
        return Later(now + ANSWER_TIMEOUT)  # its changes wake this one; that is for what was not in the cache

    async def _intervene(
        self, request: EvictionRequest, action: Skip | CorrectHeartbeat | Supersede, now: dt.datetime
    ) -> Outcome:
        """Put right what an interceptor wrote or did not write, or let interceptors have a turn again."""
        if isinstance(action, Supersede):
            return await self._succession.begin(request, action)
        if isinstance(action, Skip):
            await self._writer.write(request, skip_patch(request, action, now))
            self._writer.note(*events.skipped(request, action))
        else:
            await self._writer.write(request, heartbeat_patch(request, action))
            self._writer.note(events.heartbeat_corrected(request))
        return Done()

    async def _reject(self, request: EvictionRequest, now: dt.datetime) -> Outcome:
        patch = unadmitted_patch(request, now)
        if patch is not None:
            await self._writer.write(request, patch)
            self._writer.note(events.unadmitted(request))
        return Done()

    async def _finish(
        self, request: EvictionRequest, action: Finish, target: Target, now: dt.datetime
    ) -> Outcome:
        """One write of those that a dialect needs to end a request; the informer asks for the next."""
        meta, client, kind = request.metadata, self._deps.client, self._dialect.kind
        match self._dialect.finish(request, action, now):
            case StatusPatch(patch):
                key = key_of(request)
                # An Evacuation has finalizers, which its end takes away: no collector removes it before.
                collected = self._dialect is EVICTION_REQUEST and collected_with_pod(request, action, target)
                if (until := self._collection.until(key)) is None:
                    if collected:
                        self._writer.note(*events.finished(request, action))
                    if collected or self._dialect.in_grace(request):
                        until = self._collection.begin(key, now)
                if until is not None and now < until <= now + COLLECTION:  # it may have been set back
                    return Later(until)
                await self._writer.write(request, patch)
                self._ended[key] = (meta.resource_version, now)
                if not collected and patch["status"].get("conditions"):
                    self._writer.note(*events.finished(request, action))
            case ObjectPatch(patch):
                await self._watch_health.ask(client.patch(kind, meta.name, patch, meta.namespace))
            case Removal():
                await self._watch_health.ask(
                    client.delete(kind, meta.name, meta.namespace, DeleteOptions(uid=meta.uid))
                )
        return Done()

    async def _assign(self, request: EvictionRequest, action: Assign, now: dt.datetime) -> Outcome:
        await self._writer.write(request, assign_patch(request, action, now))
        self._writer.note(*events.assigned(request, action))
        if action.previous is not None:
            self._writer.count_turn(request)
        return Done()

    async def _end_last_turn(self, request: EvictionRequest, now: dt.datetime) -> bool:
        """Before the pod is evicted, write down how the last turn ended; whether that was news."""
        patch = last_turn_patch(request, now)
        if patch is None:
            return False
        await self._writer.write(request, patch)
        self._writer.note(*events.turn_ended(request))
        self._writer.count_turn(request)
        return True

    async def _hold(
        self, request: EvictionRequest, action: Hold, target: Target, now: dt.datetime
    ) -> Outcome:
        pod = self._cached_pod(request)
        left_alone = pod is not None and bool(action.message) and action.message == target.unevictable
        # A pod's author may have made up the owner that keeps the pod from being evicted.
        if left_alone and pod and not await self._watch_health.ask(owner_exists(self._deps.client, pod)):
            return await self._advance(request, replace(target, unevictable=""))
        if action.stage is Stage.BLOCKED and await self._end_last_turn(request, now):
            return Done()
        if action.message:
            action = replace(action, message=self._dialect.phrase(action.message))
        patch, upkeep = hold_patch(request, action, now), self._dialect.upkeep(request, now)
        if patch is not None:
            await self._writer.write(request, patch)
            self._writer.note(*events.held(request, action))
        elif upkeep.patch is not None:
            await self._writer.write(request, upkeep.patch)
        due = [at for at in (action.until, upkeep.at) if at is not None]
        return Later(min(due)) if due else Done()

    async def _look_again(self, request: EvictionRequest) -> Outcome:
        """A late heartbeat may be on its way to the cache: let the server itself say how things stand."""
        meta = request.metadata
        dialect = self._dialect
        reading = self._deps.client.get(dialect.kind, meta.name, meta.namespace, into=dialect.wire)
        found = dialect.read(await self._watch_health.ask(reading))
        if found.metadata.uid != meta.uid or found.complete:
            return Done()  # the informer will bring it
        return await self._advance(found, self._target(found), fresh=True)

    async def _evict(self, request: EvictionRequest, action: Evict, now: dt.datetime) -> Outcome:
        """Evict only what the cache shows now: the server debits a budget before it compares uids."""
        reached = limit_patch(request, action.limit, now) if action.limit else None
        if reached is not None:
            await self._writer.write(request, reached)
            self._writer.note(*events.limit_reached(request, action.limit))
            self._deps.metrics.bypasses.labels("limit").inc()
            return Done()  # the informer brings what was written
        pod = self._cached_pod(request)
        if pod is None or pod.metadata.uid != request.pod_uid:
            return Done()  # it is there, but the cache does not know yet, and will
        outcome = await self._ask_to_evict(request, pod)
        if not isinstance(outcome, TargetUnclear):
            return outcome
        target = await self._live_target(request)
        if target.presence is not Presence.GONE:
            raise Conflict(f"the pod is just being changed: {outcome.error}")
        return await self._advance(request, target)

    async def _ask_to_evict(self, request: EvictionRequest, pod: Pod) -> Outcome | TargetUnclear:
        changes = self.budgets.changes if self.budgets is not None else 0
        try:
            return await self._evictor.evict(request, pod)
        finally:
            if self.budgets is not None and self.attempts.waits(key_of(request)):
                self.budgets.on_refusal(request, changes)
