"""The requests for the eviction of pods, as one API server and dialect have them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import NamedTuple

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.client import requests
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ConfigError, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.lifecycle.requests import LifecycleRequestRecord
from vacate.sdk.errors import HeldByFinalizers
from vacate.sdk.requesters.requests import has_requester, pod_name, withdrawn
from vacate.sdk.watch import WatchedObject, watched


class RequestKey(NamedTuple):
    """Which request: its name follows from its pod."""

    namespace: str
    pod: str
    uid: str


@dataclass(slots=True)
class LastSeen:
    """An eviction as it was last seen."""

    request: EvictionRequest | None = None


REMOVAL = 10.0
"""Seconds that an old request may take to go before its finalizers are named."""


class RequestApi:
    """Reads and writes requests. What is written is read from the answer."""

    def __init__(self, client: Client, dialect: Dialect, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._dialect = dialect
        self._clock = clock
        self._entropy = entropy

    async def pod(self, where: RequestKey) -> Pod:
        """The pod of the request; NotFound also where another pod has its name."""
        pod = await self._client.get(PODS, where.pod, where.namespace, into=Pod)
        if pod.metadata.uid != where.uid:
            raise NotFound(f'pods "{where.pod}" not found: another pod has the name now')
        return pod

    async def get(self, where: RequestKey) -> EvictionRequest | None:
        """The request, if there is one; ConfigError where another one has its name.

        Names in lifecycle.k8s.io are free for all who may create requests.
        """
        try:
            name, dialect = self._name_at(where), self._dialect
            found = dialect.read(
                await self._client.get(dialect.kind, name, where.namespace, into=dialect.wire)
            )
        except NotFound:
            return None
        if isinstance(found, LifecycleRequestRecord) and not found.has_its_own_name:
            raise ConfigError(
                f"the name of this request is taken: EvictionRequest {where.namespace}/{name} is that of "
                f"requester {found.request.spec.requester} for the pod of UID {found.pod_uid}; delete it"
            )
        return found

    async def create(self, made: Obj) -> EvictionRequest:
        """Create it; AlreadyExists where there is one of the name."""
        return self._read(await self._client.send(requests.create(self._dialect.kind, made)))

    async def patch(self, request: EvictionRequest, change: Obj) -> EvictionRequest:
        """Change it; Conflict where the change names another version."""
        meta = request.metadata
        kind = self._dialect.kind
        return self._read(await self._client.send(requests.patch(kind, meta.name, change, meta.namespace)))

    def watch_at(self, where: RequestKey) -> AbstractAsyncContextManager[WatchedObject[EvictionRequest]]:
        """A watch over the request of a pod, for the length of a block."""
        return self.watch(where.namespace, self._name_at(where))

    def watch(self, namespace: str, name: str) -> AbstractAsyncContextManager[WatchedObject[EvictionRequest]]:
        """A watch over the request of this name, for the length of a block."""
        kind, wire = self._dialect.kind, self._dialect.wire
        args = (self._client, kind, wire, namespace, name, self._clock, self._entropy)
        return watched(*args, read=self._dialect.read)

    @contextlib.asynccontextmanager
    async def process_at(
        self, where: RequestKey, dialect: Dialect, requester: str
    ) -> AsyncIterator[LastSeen]:
        """The eviction that a request leads to, where that is another object, for the length of a block.

        It goes with its pod and its requests, at once. Who may not read it learns nothing of it.
        """
        found = LastSeen()
        if dialect.kind == self._dialect.kind:
            yield found
            return

        def see(_: EvictionRequest | None, new: EvictionRequest | None) -> None:
            if new is not None and new.pod_uid == where.uid:
                found.request = new

        informer: Informer[EvictionRequest] = Informer(
            self._client,
            dialect.kind,
            dialect.wire,
            clock=self._clock,
            entropy=self._entropy,
            namespace=where.namespace,
            label_selector=requester,  # those who take part are labels
            project=dialect.read,
        )
        informer.subscribe(see)
        task = asyncio.create_task(informer.run())
        try:
            yield found
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def remove(self, request: EvictionRequest, where: RequestKey, requester: str) -> None:
        """Delete a request that is over, this one and no other of its name, and see it gone."""
        uid = request.metadata.uid
        if self._dialect.requesters_hold and has_requester(request, requester):
            request = await self.patch(request, withdrawn(request, requester))  # it would hold it itself
        if request.metadata.deletion_timestamp is None:
            with contextlib.suppress(NotFound):
                name = request.metadata.name
                await self._client.delete(self._dialect.kind, name, where.namespace, DeleteOptions(uid=uid))
        found = await self.get(where)
        if found is None or found.metadata.uid != uid:
            return
        try:
            async with asyncio.timeout(REMOVAL):
                await self._see_gone(uid, where)
        except TimeoutError:
            held = ", ".join(found.metadata.finalizers) or "nothing that it names"
            message = (
                f"an earlier request for pod {pod_name(found)} is over and cannot be replaced: "
                f"it is held by the finalizers {held}"
            )
            raise HeldByFinalizers(message, found.metadata.finalizers) from None

    async def _see_gone(self, uid: str, where: RequestKey) -> None:
        async with self.watch_at(where) as one:
            while (found := one.current) is not None and found.metadata.uid == uid:
                await one.change(one.changes)

    def _name_at(self, where: RequestKey) -> str:
        return self._dialect.request_name(where.pod, where.uid)

    def _read(self, answer: bytes) -> EvictionRequest:
        return self._dialect.read(codec_for(self._dialect.wire).decode(answer))
