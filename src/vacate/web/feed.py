"""The caches behind the pages: informers of all that is shown, with the rights of the user."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any

from vacate.api.installednames import EMBEDDED_BUILD, MANAGER
from vacate.api.kinds import (
    FENCINGPOLICIES,
    LEASES,
    LIFECYCLE_EVICTIONS,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    STORAGECLASSES,
)
from vacate.api.types import Lease, Node, PersistentVolume, Pod, PodDisruptionBudget, StorageClass
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cache.informer import Informer, Tuning
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.controllers.projections import project_pod
from vacate.entropy import Entropy
from vacate.errors import Forbidden, NotFound, TransportError, VacateError
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.assembly import concerning
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE, LIFECYCLE_REQUEST
from vacate.eviction.dialects.registry import DIALECTS, READ_DIALECTS
from vacate.runtime.dependencies import InformerFactory
from vacate.web.snapshot import Snapshot, Stall, Unread
from vacate.wire.message import Request

_FIRST_LOOK_SECONDS = 1.0
_READING_SECONDS = 10.0
"""For how long the first page waits for all that is on pages, and for how long pages say that it is being
read. Then they show what there is, and name what is missing."""
_MAX_TICKS = 40
_SHARED_SECONDS, _BURST_SECONDS = 0.5, 0.25
"""For how long tabs share what was made of the cluster: while nothing changes, and while much does."""
_STALL_AFTER = dt.timedelta(seconds=1)
ASK_SECONDS, _ANSWER_SECONDS, _MISSED = 2.0, 2.0, 2
"""How often the API server is asked whether it is there, how long that may take, and how many questions
without an answer count: one alone may be this machine that is busy."""
_UNMANAGED_SECONDS = 2.0  # for which a manager has not worked before pages say so
_TUNING = Tuning(first_pause=0.5, max_pause=2.0)
"""A person looks at it: an API server that answers again is noticed within seconds."""


class Feed:
    """What is known of the cluster, and a signal for each change."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        *,
        context: str,
        program: str,
        user: str = "",
        leave: str = "",
        dashboard: str = "",
    ) -> None:
        self.clock = clock
        self._client = client
        self._named = {
            "context": context, "program": program, "user": user, "leave": leave, "dashboard": dashboard
        }  # fmt: skip
        informers = InformerFactory(client, clock, entropy, _TUNING, {PODS.resource: project_pod})
        self._pods = informers.informer(PODS, Pod)
        self._nodes = informers.informer(NODES, Node)
        self._requests = {one: informers.requests(one) for one in READ_DIALECTS}
        self._budgets = informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget)
        self._maintenances = informers.informer(NODEMAINTENANCES, NodeMaintenance)
        self._policies = informers.informer(FENCINGPOLICIES, FencingPolicy)
        self._volumes = informers.informer(PERSISTENTVOLUMES, PersistentVolume)
        self._classes = informers.informer(STORAGECLASSES, StorageClass)
        self._leases = informers.informer(LEASES, Lease, field_selector=f"metadata.name={MANAGER}")
        self._all: Sequence[Informer[Any]] = informers.all()
        self._changed = asyncio.Event()
        self._heartbeats: dict[str, deque[dt.datetime]] = {}
        self._silent: Stall | None = None
        self._embedded = False
        self._unmanaged = False
        self.version = 0
        self._last: tuple[float, Snapshot] | None = None
        self._began = clock.monotonic()
        for one in self._all:
            if one is not self._leases:  # renewed every few seconds, which is no news
                one.subscribe(self._note)
        for requests in self._requests.values():
            requests.subscribe(self._note_heartbeat)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the cluster for as long as the block runs."""
        tasks = [asyncio.create_task(one.run()) for one in self._all]
        tasks.append(asyncio.create_task(self._watch_connection()))
        tasks.append(asyncio.create_task(self._ask_again()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def wait_first(self) -> None:
        """Return when each kind is there or cannot be read, and after a moment in any case."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_LOOK_SECONDS):
                while self._reading():
                    await self.clock.sleep(0.02)

    def _reading(self) -> list[str]:
        """What has not arrived yet, soon after the start."""
        if self.clock.monotonic() - self._began > _READING_SECONDS:
            return []
        return [one.kind.plural for one in self._all if not one.reader.synced and one.trouble is None]

    async def wait_change(self, since: int, seconds: float) -> int:
        """The version after the next change, or after so many seconds."""
        if self.version == since:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
        return self.version

    def snapshot(self) -> Snapshot:
        """The cluster as it was known a moment ago. Tabs share it, and what is made of it."""
        now = self.clock.monotonic()
        if self._last is not None:
            made, known = self._last
            if now - made < (_SHARED_SECONDS if known.version == self.version else _BURST_SECONDS):
                return known
        found = self._snapshot()
        self._last = (now, found)
        return found

    def _snapshot(self) -> Snapshot:
        known = (one for informer in self._requests.values() for one in informer.reader.list())
        read = [api for api, one in self._requests.items() if one.reader.synced and not _refused(one)]
        apis = [one for one in DIALECTS.values() if one in read]
        not_own = isinstance(self._requests[EVICTION_REQUEST].trouble, NotFound)
        return Snapshot(
            now=self.clock.now(),
            version=self.version,
            reading=self._reading(),
            **self._named,
            pods=self._pods.reader.list(),
            nodes=self._nodes.reader.list(),
            requests=concerning(known, are_all=LIFECYCLE_REQUEST in read),
            apis=apis,
            preferred=LIFECYCLE if not_own and LIFECYCLE in apis else EVICTION_REQUEST,
            budgets=self._budgets.reader.list(),
            maintenances=self._maintenances.reader.list(),
            policies=self._policies.reader.list(),
            volumes=self._volumes.reader.list(),
            classes=self._classes.reader.list(),
            leases=self._manager_leases(),
            embedded=self._embedded,
            unmanaged=self._unmanaged,
            unread=self._unread(),
            unreadable=[one for informer in self._all for one in informer.reader.list_unreadable()],
            stall=self.stall(),
            heartbeats=self._heartbeats,
        )

    def _manager_leases(self) -> Sequence[Lease] | None:
        known = self._leases.reader.synced and not _refused(self._leases)
        return self._leases.reader.list() if known else None

    def stall(self) -> Stall | None:
        """Whether the API server has not answered for a while; a kind that is refused is another matter."""
        # One that was refused before never followed anything: its time is that of the start.
        known = [one for one in self._all if one.reader.synced] or self._all
        found = [
            (one.stalled_since, str(one.trouble))
            for one in known
            if one.stalled_since is not None and one.trouble is not None and not _refused(one)
        ]
        since, reason = min(found, default=(None, ""))
        if since is None or self.clock.now() - since < _STALL_AFTER:
            return self._silent
        return Stall(since, reason)

    def _unread(self) -> list[Unread]:
        found = []
        for one in self._all:
            if one.reader.synced and not _refused(one):
                continue
            name, trouble = one.kind.plural, one.trouble
            if isinstance(trouble, NotFound | Forbidden) and one.kind.group == LIFECYCLE_EVICTIONS.group:
                continue  # few clusters have that API
            if isinstance(trouble, NotFound) and name == "evacuations":
                continue  # an API of its own, which most clusters do not serve
            if isinstance(trouble, NotFound):
                found.append(Unread(name, "this cluster does not serve them"))
            elif trouble is not None and _refused(one):
                found.append(Unread(name, str(trouble), forbidden=True))
            elif trouble is None:
                found.append(Unread(name, "they have not arrived yet"))
        return found

    def touch(self) -> None:
        """Something else that pages show has changed."""
        self._note(None, None)

    def _note(self, old: object, new: object) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def _note_heartbeat(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        """Remember the heartbeats that are seen: a request keeps only the last one."""
        if new is None:
            if old is not None:
                self._heartbeats.pop(old.metadata.uid, None)
            return
        seen = new.status.heartbeat_time
        if seen is None or not new.status.active_interceptor_name:
            return
        ticks = self._heartbeats.setdefault(new.metadata.uid, deque(maxlen=_MAX_TICKS))
        if not ticks or ticks[-1] != seen:
            ticks.append(seen)

    async def _ask_again(self) -> None:
        """Ask for what everybody may read: a server that is frozen keeps its connections open, and sends
        nothing. One that is gone breaks them, which the informers notice themselves."""
        answered, missed = self.clock.now(), 0
        while True:
            heard = False
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    version = await self._client.send(Request("GET", "/version"))
                heard, self._embedded = True, f'{EMBEDDED_BUILD}"'.encode() in version
            except TimeoutError:
                missed += 1
                if missed >= _MISSED:
                    self._silent = Stall(answered, "it keeps its connections open and sends nothing")
                continue
            except TransportError:
                pass
            except VacateError:  # also an answer
                heard = True
            if heard:
                answered, missed, self._silent = self.clock.now(), 0, None
            await self.clock.sleep(ASK_SECONDS)

    async def _watch_connection(self) -> None:
        """Make the loss of the connection or of the manager, and its return, a change like any other.

        Without the API server no Lease is renewed: then nothing new is known of the manager, and after that
        it has a moment.
        """
        before: object = None
        worked = self.clock.monotonic()
        while True:
            stalled, now = self.stall() is not None, self.clock.monotonic()
            # A snapshot that is made too early would be what the first pages show.
            if stalled or self._reading() or not self.snapshot().manager.text:
                worked = now
            if not stalled:
                self._unmanaged = now - worked >= _UNMANAGED_SECONDS
            state = (stalled, self._unmanaged, tuple(one.resource for one in self._unread()))
            if state != before:
                before = state
                self._note(None, None)
            await self.clock.sleep(0.5)


def _refused(informer: Informer[Any]) -> bool:
    return isinstance(informer.trouble, Forbidden | NotFound)
