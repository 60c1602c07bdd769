"""Requests of both kinds for one pod, created at the same moment: one process, on both API servers."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import pytest

from support.evictions.namespace import EvictionNamespace
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.codec import codec_for
from vacate.errors import ApiError, NotFound
from vacate.eviction.dialects.registry import DIALECTS, OWN_DIALECTS
from vacate.eviction.registration import PREFIXES

INTERCEPTOR, EVACUATOR = "saver.example.com", "mover.example.com"
PODS = 30
OWN_KINDS = [one.kind for one in OWN_DIALECTS]


class Requested:
    """A pod with an interceptor and an evacuator, and the requests that were accepted for it."""

    def __init__(self, place: EvictionNamespace, pod: Obj) -> None:
        self.pod = pod
        self.kinds: list[Kind] = []
        self._place = place

    async def request(self, kind: Kind) -> None:
        made = DIALECTS[kind].new_request(codec_for(Pod).convert(self.pod), "drain.example.com", "", None)
        try:
            await self._place.client.create(kind, made, self._place.namespace)
        except ApiError:
            return  # that of the other kind was quicker
        self.kinds.append(kind)

    async def found(self, kind: Kind) -> EvictionRequest | None:
        dialect, meta = DIALECTS[kind], self.pod["metadata"]
        name = dialect.request_name(meta["name"], meta["uid"])
        try:
            return dialect.read(
                await self._place.client.get(kind, name, self._place.namespace, into=dialect.wire)
            )
        except NotFound:
            return None

    async def in_turn(self, kind: Kind) -> EvictionRequest | None:
        found = await self.found(kind)
        active = found is not None and found.status.active_interceptor_name in (INTERCEPTOR, EVACUATOR)
        return found if found and active and not found.status.active_interceptor_completed else None

    async def report(self, kind: Kind, **status: object) -> None:
        dialect, meta = DIALECTS[kind], self.pod["metadata"]
        name, patch = (
            dialect.request_name(meta["name"], meta["uid"]),
            dialect.status_patch({"status": status}),
        )
        await self._place.client.patch(kind, name, patch, self._place.namespace, subresource="status")

    async def hold(self, first: Kind, second: Kind) -> None:
        """The evacuator completes its turn whenever it has it; the interceptor forbids cancellation, and
        holds its own until the Evacuation says that it waits for that."""

        async def held() -> bool:
            if await self.in_turn(second) is not None:
                await self.report(second, activeInterceptorCompleted=True)
            if (turn := await self.in_turn(first)) is None:
                return False
            if turn.status.eviction_request_cancellation_policy != "Forbid":
                await self.report(first, evictionRequestCancellationPolicy="Forbid")
            other = await self.found(second)
            return other is None or "also requested by" in other.status.message

        await self._place.until(held, f"{self.pod['metadata']['name']} is held")

    async def is_gone(self, second: Kind) -> bool:
        """Whether the pod is gone; an evacuator that has its turn now completes it."""
        if await self.in_turn(second) is not None:
            with contextlib.suppress(NotFound):  # it goes with its pod
                await self.report(second, activeInterceptorCompleted=True)
        return await self._place.there(self.pod) is None


@pytest.mark.timeout(300)
async def test_no_pod_is_evicted_while_an_interceptor_of_the_other_kind_is_at_work(
    place: EvictionNamespace,
) -> None:
    first, second = OWN_KINDS
    turns = {f"{PREFIXES[0]}/priority_{INTERCEPTOR}": "10", f"{PREFIXES[1]}/priority_{EVACUATOR}": "10"}
    pods = await asyncio.gather(*(place.pod(f"p-{number}", annotations=turns) for number in range(PODS)))
    asked = [Requested(place, pod) for pod in pods]
    await asyncio.gather(*(one.request(kind) for one in asked for kind in OWN_KINDS))
    assert all(one.kinds for one in asked)
    intercepted = [one for one in asked if first in one.kinds]
    await asyncio.gather(*(one.hold(first, second) for one in intercepted))
    for one in intercepted:
        await place.stays(one.pod)
    both = sum(len(one.kinds) == 2 for one in asked)
    print(f"{both} of {PODS} pods were requested by both kinds")
    await asyncio.gather(*(one.report(first, activeInterceptorCompleted=True) for one in intercepted))
    await asyncio.gather(*(place.until(partial(one.is_gone, second), "it is gone") for one in asked))
