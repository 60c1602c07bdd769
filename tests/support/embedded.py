"""An embedded server on a memory store, with a clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from multidict import CIMultiDict, MultiDict

from vacate.api.identity import MASTERS
from vacate.api.kinds import NAMESPACES, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.auth.authentication import Authenticator
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.auth.storedpolicy import StoredRbac
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.apiserver.selectableattributes import project
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Key, Scope
from vacate.entropy import seeded_entropy
from vacate.features import FeatureGates
from vacate.metrics import Metrics
from vacate.wire.message import Peer, Request

T0 = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)
ADMIN = Peer("admin", (MASTERS,))


class StillClock:
    """Shows one time until a test moves it; waiting lets others run and takes no time."""

    def __init__(self) -> None:
        self.moment = T0

    def now(self) -> dt.datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def move(self, seconds: float) -> None:
        self.moment += dt.timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        for _ in range(int(seconds) + 1):
            await asyncio.sleep(0)

    async def sleep_until(self, moment: dt.datetime) -> None:
        await self.sleep(0)


@dataclass(frozen=True)
class Answer:
    """A response, decoded."""

    code: int
    body: Obj
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


class Embedded:
    """The server, its store and its clock; objects are seeded past admission."""

    def __init__(
        self, store: Store, log: MemoryLog, clock: StillClock, gates: FeatureGates | None = None
    ) -> None:
        self.store = store
        self.log = log
        self.clock = clock
        authorizer = Authorizer(StoredRbac(store))
        self.storage = Storage(store, clock, seeded_entropy(1), authorizer, gates=gates or FeatureGates())
        self.server = ApiServer(self.storage, Authenticator(), Metrics())

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        peer: Peer = ADMIN,
        accept: str = "application/json",
    ) -> Answer:
        """One request, of the admin unless specified otherwise; a body that is not bytes is sent as JSON."""
        sent = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        headers = CIMultiDict({"Content-Type": content_type, "Accept": accept})
        request = Request(method, path, MultiDict(query or {}), headers, sent, peer)
        response = await self.server.handle(request)
        assert isinstance(response.body, bytes)
        return Answer(response.status, orjson.loads(response.body), response.headers)

    async def seed(self, kind: Kind, obj: Obj) -> Obj:
        """Put an object into the store as it is, and give it back as stored."""
        entry = await self.storage.stage_create(kind, obj).done()
        return decode(kind, entry)

    def stored(self, kind: Kind, name: str, namespace: str = "d") -> Obj | None:
        """The committed object."""
        entry = self.store.get(Key(kind.resource, namespace if kind.namespaced else "", name))
        return None if entry is None else decode(kind, entry)

    async def changes(self, kind: Kind, after: int) -> list[tuple[str, Obj]]:
        """What a watcher of the kind has received since a revision: ADDED, MODIFIED, DELETED."""
        watch = self.store.watch(Scope(kind.resource), after)
        found: list[tuple[str, Obj]] = []
        async for batch in watch:
            for change in batch:
                event = "DELETED" if change.deleted else "MODIFIED" if change.before else "ADDED"
                found.append((event, decode(kind, change.after)))
            break
        watch.close()
        return found


@asynccontextmanager
async def embedded(*, slow: int = 0, gates: FeatureGates | None = None) -> AsyncIterator[Embedded]:
    """A server with the namespace `d`; a slow log lets others run that often before each commit."""
    clock = StillClock()
    log = MemoryLog(clock=clock, latency=lambda: float(slow))
    store = Store(log, project)
    await store.open()
    server = Embedded(store, log, clock, gates)
    await server.seed(NAMESPACES, namespace("d"))
    try:
        yield server
    finally:
        await store.aclose()


def namespace(name: str, *, phase: str = "Active") -> Obj:
    return {
        "metadata": {"name": name, "uid": f"ns-{name}", "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": phase},
    }


def a_pod(name: str = "p", **changes: Any) -> Obj:
    """A ready pod on a node, as the store has it; `meta`, `spec` and `status` change parts of it."""
    meta = {
        "name": name,
        "namespace": "d",
        "uid": f"uid-{name}",
        "generation": 1,
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "labels": {"app": "web"},
        **changes.get("meta", {}),
    }
    spec = {
        "nodeName": "n1",
        "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i"}],
        **changes.get("spec", {}),
    }
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T11:00:00Z"}
    status = {"phase": "Running", "conditions": [ready], **changes.get("status", {})}
    return {"metadata": meta, "spec": spec, "status": status}


def a_budget(name: str = "b", *, allowed: int = 1, **changes: Any) -> Obj:
    meta = {"name": name, "namespace": "d", "uid": f"uid-{name}", "generation": 1}
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **changes.get("spec", {})}
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 3,
        "conditions": [],
        **changes.get("status", {}),
    }
    return {"metadata": {**meta, **changes.get("meta", {})}, "spec": spec, "status": status}


POD_PATH = PODS.collection_path("d")
BUDGET_PATH = PODDISRUPTIONBUDGETS.collection_path("d")
