"""Reads which callers of the eviction API a request stands for, and withdraws those that stopped asking.

Nothing is remembered here: the record in the request says until when each caller counts as waiting. So it
does not matter which replica of the webhook wrote it, nor when this controller was started.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from vacate.api.events import NORMAL, EventNote, regarding
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import LifecycleRequest
from vacate.errors import NotFound
from vacate.eviction.callers import CALLERS, POD_LABEL, callers_of, pod_owner, written_callers
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE_REQUEST
from vacate.eviction.dialects.registry import dialect_of
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

QUEUE = "evictionbridge"


def build(deps: Dependencies, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The controller of a dialect, woken by requests that the bridge has written into."""
    name = QUEUE if dialect is EVICTION_REQUEST else f"{QUEUE}-{dialect.kind.plural}"
    requests = deps.informers.requests(dialect)
    source = Source(requests, when=_matters)
    bridged = BridgedRequests(deps, dialect, requests.reader.get)
    return Controller(name, bridged, (source,), deps, refusals_on=requests)


def build_evacuation(deps: Dependencies) -> Controller:
    """The controller of Evacuations."""
    return build(deps, EVACUATION)


def build_lifecycle(deps: Dependencies) -> Controller:
    """The controller of the EvictionRequests of lifecycle.k8s.io, each of which is one caller's."""
    requests = deps.informers.informer(LIFECYCLE_REQUESTS, LifecycleRequest)
    source = Source(requests, when=lambda _, after: after is not None and is_bridged(after))

    def get(namespace: str, name: str) -> EvictionRequest | None:
        found = requests.reader.get(namespace, name)
        return None if found is None else LIFECYCLE_REQUEST.read(found)

    bridged = BridgedRequests(deps, LIFECYCLE_REQUEST, get)
    return Controller(f"{QUEUE}-lifecycle", bridged, (source,), deps, refusals_on=requests)


class BridgedRequests:
    """Reconciles the requesters of a request with the callers that still ask."""

    def __init__(
        self, deps: Dependencies, dialect: Dialect, get: Callable[[str, str], EvictionRequest | None]
    ) -> None:
        """`get` finds a request in the cache, by namespace and name."""
        self._deps = deps
        self._dialect = dialect
        self._get = get

    async def reconcile(self, key: Key) -> Outcome:
        """Withdraw whose time is over, or come back when it is."""
        request = self._get(key.namespace, key.name)
        if request is None or not is_bridged(request):
            return Done()
        now = self._deps.clock.now()
        due = due_withdrawal(request, now)
        if due.forbidden:
            return Done()  # a change of the policy wakes us
        if not due.names and due.until is not None:
            return Later(due.until)
        return await self._withdraw(key)

    async def _withdraw(self, key: Key) -> Outcome:
        """The request itself is read once more: an attempt may be on its way to the cache."""
        client, now, dialect = self._deps.client, self._deps.clock.now(), self._dialect
        try:
            request = dialect.read(await client.get(dialect.kind, key.name, key.namespace, into=dialect.wire))
            due = due_withdrawal(request, now)
            if not is_bridged(request) or due.forbidden or (not due.names and due.until is not None):
                return Done() if due.until is None else Later(due.until)
            await client.patch(dialect.kind, key.name, withdrawal_patch(request, due.names), key.namespace)
        except NotFound:
            return Done()
        if not request.complete:
            for name in due.names:
                self._deps.recorder.record(_withdrawn(request, name))
        return Done() if due.until is None else Later(due.until)


def _matters(before: EvictionRequest | None, after: EvictionRequest | None) -> bool:
    return after is not None and is_bridged(after)


def _withdrawn(request: EvictionRequest, name: str) -> EventNote:
    text = f"{name} is withdrawn: it has not asked for the eviction of the pod any more."
    return EventNote(regarding(request.kind, request), NORMAL, "CallerWithdrawn", text)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The callers that are gone, or when to look again."""

    names: tuple[str, ...] = ()
    until: dt.datetime | None = None  # when the next caller counts as gone
    forbidden: bool = False  # an interceptor forbids cancellation: the request is looked at when that changes


def due_withdrawal(request: EvictionRequest, now: dt.datetime) -> Withdrawal:
    """Whose time is over. From an Evacuation that is being deleted all are withdrawn: they would hold it."""
    callers, dialect = callers_of(request.metadata.annotations), dialect_of(request)
    if dialect.requesters_hold and request.metadata.deletion_timestamp is not None:
        return Withdrawal(tuple(callers))
    gone = tuple(name for name, one in callers.items() if one.until <= now)
    until = min((one.until for one in callers.values() if one.until > now), default=None)
    return Withdrawal(gone, until, bool(gone) and dialect.fixes_requesters(request) and not request.complete)


def is_bridged(request: EvictionRequest | LifecycleRequest) -> bool:
    """Whether the bridge has written into the request."""
    return CALLERS in request.metadata.annotations


def withdrawal_patch(request: EvictionRequest, names: tuple[str, ...]) -> Obj:
    """One guarded change: names and records of these callers go.

    With the last caller the request belongs to its pod again, and is collected with it, at once where the
    pod is gone. `request` is read from the server: owners of others must be kept.
    """
    meta, ref = request.metadata, request.spec.target.pod_ref
    left = {name: one for name, one in callers_of(meta.annotations).items() if name not in names}
    changed: Obj = {"annotations": {CALLERS: written_callers(left)}}
    if not left and request.kind == EVICTIONREQUESTS:
        changed["labels"] = {POD_LABEL: None}
        if ref is not None and all(one.uid != ref.uid for one in meta.owner_references):
            kept = [msgspec.to_builtins(one) for one in meta.owner_references]
            changed["ownerReferences"] = [*kept, pod_owner(ref.name, ref.uid)]
    requesters = [one.name for one in request.spec.requesters]
    dialect = dialect_of(request)
    # One of lifecycle.k8s.io would ask for another eviction after one that has failed.
    fixed = request.complete and not dialect.requesters_hold and request.kind != LIFECYCLE_REQUESTS
    if fixed or not any(name in names for name in requesters):
        return guarded(meta, {"metadata": changed})
    patch = dialect.requesters_patch(request, [name for name in requesters if name not in names])
    return {**patch, "metadata": {**patch["metadata"], **changed}}
