"""What verbs touch the store with: decode, compare-and-swap on the tip, encode with the new revision.

Everything from reading the tip to staging a write is synchronous, so that a read-modify-write inside the
server meets no race. Only the wait for the disk is awaited.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vacate import errors
from vacate.admission.context import Context
from vacate.admission.pods.forcedeletion import Guard
from vacate.api import status
from vacate.api.identity import Access, StatusAuthority, User
from vacate.api.kinds import PRIORITYCLASSES, Kind
from vacate.api.objects import Obj
from vacate.clock import Clock
from vacate.embedded.apiserver.auth.accounttokens import AccountTokens, new_token_key
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.policies import Policies
from vacate.embedded.apiserver.response.stored import decode, encoder, key_of, same_object
from vacate.embedded.store.commit import Write
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Entry, Key
from vacate.entropy import Entropy
from vacate.eviction.callers import DEFAULT_WAIT
from vacate.features import FeatureGates
from vacate.metrics import Metrics
from vacate.webhook.evictionbridge import EvictionBridge
from vacate.wire.message import Query, Response

LogFiles = Callable[[str, str, str], list[Path]]
"""Of a node, a pod's uid and a container: the files that its runs printed to, the newest last."""


NodeLogReader = Callable[[str, int, str, Query], Awaitable[Response]]
"""Asks a node at an address and port for the log at a path."""


@dataclass(slots=True)
class Storage:
    """The server's hands: store, clock, entropy and gates, and the few moves that all verbs share."""

    store: Store
    clock: Clock
    entropy: Entropy
    authorizer: Authorizer
    gates: FeatureGates = field(default_factory=FeatureGates)
    # Names below k8s.io that interceptors may have beside those of Kubernetes itself.
    allowed_interceptors: tuple[str, ...] = ()
    authority: StatusAuthority = field(default_factory=StatusAuthority)
    force_guard: Guard = field(default_factory=Guard)
    metrics: Metrics | None = None
    bridge: EvictionBridge | None = None  # None where direct evictions go past interceptors
    bridge_wait: dt.timedelta = DEFAULT_WAIT
    logs: LogFiles | None = None  # where nodes keep what containers print; None where none run
    node_logs: NodeLogReader | None = None  # for nodes that are processes of their own
    own_policies: Sequence[Obj] = ()  # admission policies, and what binds them, beside the stored ones
    token_key: bytes = b""  # signs the tokens of service accounts; one for this process where there is none
    policies: Policies = field(init=False, repr=False)
    _default_class: tuple[int, Obj | None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.policies = Policies(self.store, self.authorizer, self.own_policies)

    def count_force_deletion(self, result: str) -> None:
        """One more request to remove a pod before its node has confirmed its end."""
        if self.metrics is not None:
            self.metrics.force_deletions.labels(result).inc()

    def current(self, kind: Kind, namespace: str, name: str) -> tuple[Entry, Obj]:
        """The newest state, writes under way included, or NotFound."""
        entry = self.store.tip(Key(kind.resource, namespace, name))
        if entry is None:
            raise status.not_found(kind, name)
        return entry, decode(kind, entry)

    def lookup(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """Another object, for strategies that must look around."""
        entry = self.store.tip(Key(kind.resource, namespace, name))
        return None if entry is None else decode(kind, entry)

    @property
    def account_tokens(self) -> AccountTokens:
        """Issues and reads tokens of service accounts."""
        if not self.token_key:
            self.token_key = new_token_key(self.entropy)
        return AccountTokens(self.token_key, self.lookup, self.clock)

    def read_token(self, token: str) -> User | None:
        """Whose token it is, where it was issued here and is valid."""
        return self.account_tokens.read(token) if self.token_key else None

    def context(self, user: User, subresource: str = "") -> Context:
        """What a strategy may know beside the object."""
        return Context(
            user,
            self.clock.now(),
            self.gates,
            self.lookup,
            subresource,
            self._default_priority_class,
            self.allowed_interceptors,
            self._may,
            self.authority,
        )

    def _may(self, access: Access) -> bool:
        return self.authorizer.authorize(access).allowed

    def _default_priority_class(self) -> Obj | None:
        """The class for pods that name none, found anew after a class has changed."""
        changed = self.store.touched(PRIORITYCLASSES.resource)
        if self._default_class is None or self._default_class[0] != changed:
            self._default_class = (changed, self._find_default_class())
        return self._default_class[1]

    def _find_default_class(self) -> Obj | None:
        """Of several the lowest, as Kubernetes chooses."""
        page = self.store.list(PRIORITYCLASSES.resource)
        classes = [decode(PRIORITYCLASSES, entry) for entry in page.entries]
        defaults = [one for one in classes if one.get("globalDefault")]
        return min(defaults, key=lambda one: int(one.get("value", 0)), default=None)

    def stage_create(self, kind: Kind, obj: Obj) -> Write:
        """Put a new object into the log, or AlreadyExists."""
        key = key_of(kind, obj)
        try:
            return self.store.put(key, encoder(obj), expect=0)
        except errors.KeyExists:
            raise status.already_exists(kind, key.name) from None
        except errors.StoreFull as full:
            raise _no_room(full) from None

    def stage_update(self, kind: Kind, obj: Obj, old: Entry) -> Write | None:
        """Put the next state into the log; None where it equals the old one and nothing is written."""
        if same_object(encoder(obj)(old.revision), old.value):
            return None
        try:
            return self.store.put(old.key, encoder(obj), expect=old.revision)
        except errors.KeyChanged:
            raise status.modified(kind, old.key.name) from None
        except errors.StoreFull as full:
            raise _no_room(full) from None

    def stage_delete(self, kind: Kind, last: Obj, old: Entry) -> Write:
        """Take the object out; `last` is the state that watchers see go."""
        try:
            return self.store.delete(old.key, encoder(last), expect=old.revision)
        except errors.KeyChanged:
            raise status.modified(kind, old.key.name) from None

    async def write_update(self, kind: Kind, obj: Obj, old: Entry) -> Entry:
        """Update and wait for the disk; an update that changes nothing returns the old entry."""
        write = self.stage_update(kind, obj, old)
        if write is not None:
            return await write.done()
        await self.store.wait_for(old.revision)
        return old

    async def write_delete(self, kind: Kind, last: Obj, old: Entry) -> Entry:
        """Delete and wait for the disk; the entry holds the last state."""
        return await self.stage_delete(kind, last, old).done()


def _no_room(full: errors.StoreFull) -> errors.InternalError:
    """As kube-apiserver answers when etcd has exceeded its quota: 500, and nothing is written."""
    return errors.InternalError(f"{full}; delete objects, or restart with a larger --storage-quota")
