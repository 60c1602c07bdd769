"""Reads which callers of the eviction API a request stands for, and withdraws those that stopped asking.

Nothing is remembered here: the record in the request says until when each caller counts as waiting. So it
does not matter which replica of the webhook wrote it, nor when this controller was started.
"""

from __future__ import annotations

from collections.abc import Callable

from vacate.api.events import NORMAL, EventNote, regarding
from vacate.api.kinds import LIFECYCLE_REQUESTS
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import LifecycleRequest
from vacate.controllers.evictionbridge.withdrawals import due_withdrawal, is_bridged, withdrawal_patch
from vacate.errors import NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE_REQUEST
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
