"""Requesters: those who want pods gone, and may change their minds."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from vacate.api.kinds import PODS
from vacate.api.names import dns1123_subdomain, label_key
from vacate.api.options import DeleteOptions
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import SUPERSEDES, EvictionRequest
from vacate.client.client import Client
from vacate.clock import Clock, SystemClock
from vacate.entropy import Entropy, system_entropy
from vacate.errors import AlreadyExists, ConfigError, Conflict, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.records.reader import is_superseded
from vacate.eviction.succession import is_handed_over
from vacate.sdk.arguments import checked_deadline, checked_namespace, checked_span
from vacate.sdk.connection import connected, find_cluster
from vacate.sdk.errors import CancellationForbidden
from vacate.sdk.requesters.requestapi import RequestApi, RequestKey
from vacate.sdk.requesters.requests import (
    Step,
    has_requester,
    joined,
    new_request,
    next_step,
    why_forbidden,
    withdrawn,
)
from vacate.sdk.requesters.sustained import SustainedRequest
from vacate.sdk.results import Result, confirmed, result_of, result_with, result_without
from vacate.sdk.watch import WatchedObject, watched

Ref = EvictionRequest | Pod | str
"""A request, its pod, or the pod's name."""


SUCCESSOR_SECONDS, SUCCESSOR_LOOKS = 5.0, 12
"""A new request that takes over is waited for so many times so long."""

_CONFLICTS = 20


class Requester:
    """One requester: all that it does, it does under its own name only."""

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        namespace: str = "default",
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        dialect: Dialect = EVICTION_REQUEST,
    ) -> None:
        checked_namespace("namespace", namespace)
        name = dialect.participant(name)
        field_errors = dns1123_subdomain(name) if dialect.kind.custom else label_key(name)
        if field_errors:
            raise ConfigError(f"requester {name!r}: {'; '.join(field_errors)}")
        self.name = name
        self.namespace = namespace  # of pods that are named without one
        self.client = client
        self.dialect = dialect  # the API that requests are made in
        self.clock: Clock = clock or SystemClock()
        self.entropy: Entropy = entropy or system_entropy()

    async def request(
        self,
        pod: Ref,
        namespace: str = "",
        *,
        reason: str = "",
        deadline_seconds: int | None = None,
    ) -> EvictionRequest:
        """Request the pod's eviction: create the request, or join the one that exists.

        A request that is over, though the pod is still there, is replaced by a new one; HeldByFinalizers
        where it cannot be removed (`evict_past` evicts the pod then). An EvictionRequest that forbids
        cancellation takes no more names and is returned as it is: the pod goes anyway. `reason` is kept for
        readers and `deadline_seconds` counts, both only where the request is created here.
        """
        checked_deadline(deadline_seconds)
        where = await self._where(pod, namespace)
        for _ in range(_CONFLICTS):
            target = await self._api.pod(where)
            try:
                return await self._ask(target, reason, deadline_seconds)
            except (AlreadyExists, Conflict) as error:
                if error.is_refusal:  # a webhook's, which may have any code
                    raise
        raise Conflict(f"the request for pod {where.pod} changes too quickly to be joined")

    async def find(self, ref: Ref, namespace: str = "") -> EvictionRequest | None:
        """The request for the pod as the server has it, if there is one."""
        try:
            return await self._api.get(await self._where(ref, namespace))
        except NotFound:
            return None

    async def withdraw(self, ref: Ref, namespace: str = "") -> bool:
        """Take out this requester's name, and no other; False where it is not on a request that goes on.

        The last name that goes cancels the request. CancellationForbidden while an interceptor forbids it:
        an EvictionRequest keeps the name then, and an Evacuation goes on without it. Where a new one takes
        over, that one is waited for; Conflict where it does not come.
        """
        for _ in range(_CONFLICTS):
            request = await self._going_on(ref, namespace)
            if request is None or request.complete or not has_requester(request, self.name):
                return False
            if self.dialect.fixes_requesters(request):
                raise CancellationForbidden(why_forbidden(request))
            with contextlib.suppress(Conflict, NotFound):
                await self._api.patch(request, withdrawn(request, self.name))
                if request.forbids_cancellation:
                    raise CancellationForbidden(why_forbidden(request))
                return True
        raise Conflict("the request changes too quickly to be withdrawn from")

    async def evict_past(self, pod: Ref, namespace: str = "", *, wait: bool = False) -> None:
        """Evict the pod through the eviction API, past a request that is over and cannot be removed.

        For a pod whose eviction cannot be requested (HeldByFinalizers). Disruption budgets decide:
        TooManyRequests where one refuses. `wait`: return when the pod is gone.
        """
        where = await self._where(pod, namespace)
        await self.client.evict(where.pod, where.namespace, DeleteOptions(uid=where.uid))
        if wait:
            await self._vanished(None, where)

    async def wait(self, ref: Ref, namespace: str = "", *, timeout: dt.timedelta | None = None) -> Result:
        """Return when the request is over; TimeoutError where it is not in time.

        A request that vanishes together with its pod is a success; so is a pod without a request that
        is gone.
        """
        checked_span("timeout", timeout)
        seconds = None if timeout is None else timeout.total_seconds()
        async with asyncio.timeout(seconds):
            try:
                where = await self._where(ref, namespace)
            except NotFound:
                return result_without(None, self.clock.now(), pod_is_there=False)
            return await self._wait(where)

    async def follow(self, ref: Ref, namespace: str = "") -> AsyncGenerator[EvictionRequest, None]:
        """The request as it is, and after each change; ends when the request is over or gone."""
        where = await self._where(ref, namespace)
        async with self._api.watch_at(where) as one:
            while one.current is not None or await self._successor(one, where):
                seen = one.changes
                if (current := one.current) is None:
                    continue
                yield current
                if current.complete and not is_superseded(current):
                    return
                await one.change(seen)

    def keep_requested(
        self,
        pod: Pod | str,
        namespace: str = "",
        *,
        reason: str = "",
        deadline_seconds: int | None = None,
    ) -> SustainedRequest:
        """Ask, and ask again whenever someone removes this name or the request while the pod is there.

        `async with requester.keep_requested("web-1") as sustained: result = await sustained.wait()`
        """
        checked_deadline(deadline_seconds)
        return SustainedRequest(self, pod, namespace, reason, deadline_seconds)

    async def live_pod(self, where: RequestKey) -> Pod | None:
        """The pod as the server has it; None where the name is free or taken by another."""
        try:
            return await self._api.pod(where)
        except NotFound:
            return None

    @property
    def _api(self) -> RequestApi:
        """In the dialect and with the client of the moment: both may be set anew."""
        dialect = self.dialect.for_requester(self.name)
        return RequestApi(self.client, dialect, self.clock, self.entropy)

    async def _ask(self, pod: Pod, reason: str, deadline_seconds: int | None) -> EvictionRequest:
        where = RequestKey(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        request = await self._api.get(where)
        step = next_step(request, self.name)
        if request is not None and step is Step.REPLACE:
            await self._api.remove(request, where, self.name)
        if request is None or step is Step.REPLACE:
            made = new_request(pod, self.name, reason, deadline_seconds, self.dialect)
            return await self._api.create(made)
        return await self._api.patch(request, joined(request, self.name)) if step is Step.JOIN else request

    async def _wait(self, where: RequestKey) -> Result:
        async with self._api.process_at(where, self.dialect, self.name) as seen:
            result = await self._end(where)
        return result if seen.request is None else result_with(result, seen.request, self.clock.now())

    async def _end(self, where: RequestKey) -> Result:
        async with self._api.watch_at(where) as one:
            while (current := one.current) is not None or await self._successor(one, where):
                seen = one.changes
                if current is not None and (result := result_of(current)) is not None:
                    return confirmed(result, await self.live_pod(where) if result.pod_ended else None)
                if current is not None:
                    await one.change(seen)
        return await self._vanished(one.last, where)

    async def _successor(self, one: WatchedObject[EvictionRequest], where: RequestKey) -> bool:
        """Whether a new request takes over from the one that is gone: awaited while the pod stays."""
        if one.last is None or not is_superseded(one.last):
            # A watch that began anew may have missed that it was superseded; the pod has the record.
            pod = await self.live_pod(where)
            if pod is None or not is_handed_over(pod):
                return one.current is not None and SUPERSEDES in one.current.metadata.annotations
        for _ in range(SUCCESSOR_LOOKS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SUCCESSOR_SECONDS):
                    while one.current is None:
                        await one.change(one.changes)
                    return True
            pod = await self.live_pod(where)
            if pod is None or pod.terminating:
                return False
        return False

    async def _going_on(self, ref: Ref, namespace: str) -> EvictionRequest | None:
        """The request for the pod; where another takes over its requesters, that one."""
        request = await self.find(ref, namespace)
        if request is not None and not is_superseded(request):
            return request
        try:
            where = await self._where(ref, namespace)
        except NotFound:
            return request
        pod = await self.live_pod(where)
        if pod is None or not (request is not None or is_handed_over(pod)):
            return request
        async with self._api.watch_at(where) as one:
            for _ in range(SUCCESSOR_LOOKS):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SUCCESSOR_SECONDS):
                        while (found := one.current) is None or is_superseded(found):
                            await one.change(one.changes)
                        return found
                pod = await self.live_pod(where)
                if pod is None or pod.terminating:
                    return None
        raise Conflict(f"the request for pod {where.pod} is superseded, and its successor is not there")

    def following(
        self, request: EvictionRequest
    ) -> AbstractAsyncContextManager[WatchedObject[EvictionRequest]]:
        """A watch over the request, for the length of a block."""
        return self._api.watch(request.metadata.namespace, request.metadata.name)

    async def _vanished(self, last: EvictionRequest | None, where: RequestKey) -> Result:
        """The request is gone. A terminating pod is waited for; one that stays is not being evicted."""
        pod = await self.live_pod(where)
        if pod is not None and pod.terminating:
            args = (where.namespace, where.pod, self.clock, self.entropy)
            async with watched(self.client, PODS, Pod, *args) as one:
                while (found := one.current) is not None and found.metadata.uid == where.uid:
                    await one.change(one.changes)
            pod = None
        return result_without(last, self.clock.now(), pod_is_there=pod is not None)

    async def _where(self, ref: Ref, namespace: str) -> RequestKey:
        """Which request is meant; NotFound where the pod of that name is gone."""
        if isinstance(ref, Pod):
            return RequestKey(ref.metadata.namespace, ref.metadata.name, ref.metadata.uid)
        if isinstance(ref, EvictionRequest):
            return RequestKey(ref.metadata.namespace, ref.pod_name, ref.pod_uid or ref.metadata.name)
        if not isinstance(ref, str):
            raise ConfigError(
                f"a pod is given as its name, a Pod or an EvictionRequest, not {type(ref).__name__}"
            )
        checked_namespace("namespace", namespace)
        if not ref:
            raise ConfigError("the pod's name is empty")
        pod = await self.client.get(PODS, ref, namespace or self.namespace, into=Pod)
        return RequestKey(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


@contextlib.asynccontextmanager
async def open_requester(
    name: str,
    *,
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    dialect: Dialect = EVICTION_REQUEST,
) -> AsyncIterator[Requester]:
    """A requester over a connection of its own, closed at the end of the block."""
    config = find_cluster(kubeconfig, context)
    async with connected(config, user_agent=f"vacate-sdk/{name}") as client:
        yield Requester(client, name, namespace=config.namespace, dialect=dialect)
