"""An API server over a log: the store opened, the default objects in place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import orjson
from multidict import CIMultiDict

from vacate.admission.pods.forcedeletion import Guard
from vacate.api.identity import StatusAuthority, User
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, name_of, namespace_of
from vacate.api.times import format_time
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.embedded.apiserver.auth.authentication import Authenticator, with_authenticated
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.auth.storedpolicy import StoredRbac
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.response.stored import key_of
from vacate.embedded.apiserver.selectableattributes import project
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs import create, update
from vacate.embedded.bootstrap import bootstrap_objects, must_recreate, reconcile
from vacate.embedded.bootstrap.identities import BOOTSTRAP, controller
from vacate.embedded.store.commit import Write
from vacate.embedded.store.log import Log
from vacate.embedded.store.store import Store
from vacate.entropy import Entropy
from vacate.eviction.callers import DEFAULT_WAIT
from vacate.features import FeatureGates
from vacate.install.manifests.policies import responder_policy
from vacate.metrics import Metrics
from vacate.webhook.evictionbridge import BRIDGE_GATE, EvictionBridge
from vacate.wire.message import Request

_ADMITTED: dict[bytes, bytes] = {}
"""What admission makes of each default object: it differs in UID and time alone, and servers are many."""


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What a server is made from."""

    log: Log
    clock: Clock
    entropy: Entropy
    metrics: Metrics = field(default_factory=Metrics)
    gates: FeatureGates = field(default_factory=FeatureGates)
    tokens: Mapping[str, User] = field(default_factory=dict)
    allowed_interceptors: tuple[str, ...] = ()
    authority: StatusAuthority = field(default_factory=StatusAuthority)
    force_guard: Guard = field(default_factory=Guard)
    bridge_wait: dt.timedelta = DEFAULT_WAIT
    storage_quota: int | None = None  # bytes of objects; None for as many as there are
    token_key: bytes = b""  # see Storage

    @property
    def policies(self) -> list[Obj]:
        """Those that the server has of itself: where responders are bound to accounts, these alone report."""
        bound = self.authority.interceptors
        return responder_policy(bound, self.authority.controllers) if bound else []


async def open_server(parts: ServerParts) -> ApiServer:
    """Open the store and put the default objects in place. Close with `server.storage.store.aclose()`."""
    store = Store(parts.log, project, metrics=parts.metrics)
    await store.open()
    authorizer = Authorizer(StoredRbac(store))
    storage = Storage(
        store,
        parts.clock,
        parts.entropy,
        authorizer,
        parts.gates,
        parts.allowed_interceptors,
        parts.authority,
        parts.force_guard,
        parts.metrics,
        own_policies=parts.policies,
        token_key=parts.token_key,
    )
    storage.policies.in_force = False
    try:
        await _bootstrap(storage)
    except BaseException:
        await store.aclose()
        raise
    storage.policies.in_force = True
    if parts.storage_quota is not None:
        store.limit(parts.storage_quota)  # not before: a full store must come up, or nothing could be deleted
    server = ApiServer(storage, Authenticator(parts.tokens, storage.read_token), parts.metrics)
    if parts.gates.enabled(BRIDGE_GATE):
        transport = InProcessTransport(server, controller("evictionrequest-controller"))
        client = Client(transport, user_agent="vacate/eviction-bridge")
        storage.bridge, storage.bridge_wait = (
            EvictionBridge(client, parts.clock, parts.metrics, embedded=True),
            parts.bridge_wait,
        )
    return server


async def _bootstrap(storage: Storage) -> None:
    """Create what is missing and add what newer releases want; take nothing away.

    All is staged before the first write is awaited, so that a disk syncs a few times and not once for each.
    """
    under_way = [write for kind, wanted in bootstrap_objects() for write in _stage(storage, kind, wanted)]
    for write in under_way:
        await write.done()


def _stage(storage: Storage, kind: Kind, wanted: Obj) -> Iterator[Write]:
    """The writes that put one default object in place."""
    call = _call(storage, kind, wanted)
    entry = storage.store.get(key_of(kind, wanted))
    if entry is None:
        yield storage.stage_create(kind, _admitted(storage, call, wanted))
        return
    found, existing = storage.current(kind, call.namespace, call.name)
    if must_recreate(existing, wanted):
        yield storage.stage_delete(kind, existing, found)
        yield create.stage(storage, call, wanted)
        return
    updated = reconcile(kind, existing, wanted)
    if updated is not None:
        admitted = update.admit(storage, call, updated, existing)
        if write := storage.stage_update(kind, admitted, found):
            yield write


def _admitted(storage: Storage, call: Call, wanted: Obj) -> Obj:
    """A default object as it is written."""
    given = orjson.dumps(wanted)
    if given not in _ADMITTED:
        admitted = create.admit(storage, call, wanted)
        _ADMITTED[given] = orjson.dumps(admitted)
        return admitted
    obj: Obj = orjson.loads(_ADMITTED[given])
    obj["metadata"] |= {"uid": storage.entropy.uid(), "creationTimestamp": format_time(call.now)}
    return obj


def _call(storage: Storage, kind: Kind, obj: Obj) -> Call:
    user = with_authenticated(User(BOOTSTRAP.name, BOOTSTRAP.groups))
    request = Request("POST", kind.collection_path(namespace_of(obj)), headers=CIMultiDict())
    return Call(request, user, kind, namespace_of(obj), name_of(obj), "", storage.clock.now())
