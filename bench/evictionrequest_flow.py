"""Requests on their way: through the whole process, and as the bare writes that it consists of."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import orjson

from bench import load
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.codec import codec_for
from vacate.client.credentials import Credentials
from vacate.client.kubeconfig import load_cluster
from vacate.client.tls import client_context
from vacate.clock import SystemClock
from vacate.eviction.model import Assign, CompletionReason, Finish, Turn
from vacate.eviction.records.patches import assign_patch, finish_patch
from vacate.sdk.interceptors.patches import status_patch
from vacate.sdk.values import Report

T = TypeVar("T")

NAMESPACE = "bench"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
REQUESTS = EVICTIONREQUESTS.collection_path(NAMESPACE)
CONNECTIONS = 16
MERGE = "merge-patch+json"

_CLOCK = SystemClock()


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[load.Api]:
    """A bare client of the cluster."""
    cluster = load_cluster([kubeconfig])
    shown = Credentials(cluster.token, cluster.client_certificate, cluster.client_key)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + 4, ssl=client_context(cluster, shown))
    headers = {"Authorization": f"Bearer {cluster.token}"} if cluster.token else {}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield load.Api(session, cluster.server, headers)


async def side_by_side(items: Sequence[T], work: Callable[[T], Awaitable[Any]]) -> list[Any]:
    """Work on all, so many at once as there are connections; what came of each, in order."""
    found: list[Any] = [None] * len(items)
    pending = iter(enumerate(items))

    async def worker() -> None:
        for place, item in pending:
            found[place] = await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(worker())
    return found


def request_for(target: Obj) -> Obj:
    """What a requester sends."""
    name, uid = target["metadata"]["name"], target["metadata"]["uid"]
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": uid, "namespace": NAMESPACE},
        "spec": {
            "target": {"podRef": {"name": name, "uid": uid}},
            "requesters": [{"name": "drain.example.com"}],
        },
    }


class Writer:
    """Every write of the process, sent by hand.

    `prepare` does to a request and for a pod what the server's admission does not do.
    `controller` is the user that may write what is the controller's, where the client may not.
    """

    def __init__(
        self,
        api: load.Api,
        prepare: Callable[[Obj, Obj], Obj] = lambda request, _: request,
        controller: str = "",
    ) -> None:
        self._api = api
        self._controller = controller
        self._prepare = prepare

    async def ask(self, target: Obj) -> bytes:
        """Create the request."""
        body = self._prepare(request_for(target), target)
        return await self._api.send("POST", REQUESTS, json.dumps(body).encode())

    async def evict(self, target: Obj) -> bytes:
        """Evict the pod, that very one."""
        name, uid = target["metadata"]["name"], target["metadata"]["uid"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        return await self._api.send("POST", f"{PODS}/{name}/eviction", json.dumps(body).encode())

    async def whole(self, target: Obj) -> None:
        """All that it takes for one pod, one write after the other."""
        await self.complete(await self.until_evicted(target))

    async def until_evicted(self, target: Obj) -> EvictionRequest:
        """All that it takes until the pod is evicted; the request as it is then."""
        answer = await self.ask(target)
        request = codec_for(EvictionRequest).decode(answer)
        for place in reversed(range(len(request.spec.interceptors))):
            turn = Turn.FIRST if request.status.active_interceptor_name is None else Turn.PREVIOUS_COMPLETED
            action = Assign(
                request.spec.interceptors[place].name, turn, request.status.active_interceptor_name
            )
            made = assign_patch(request, action, _CLOCK.now())
            request = await self._patch(request, made, self._controller)
            for completed in (False, True):  # taken on, and done
                patch = status_patch(request, Report(), _CLOCK.now(), beat=not completed, completed=completed)
                request = await self._patch(request, patch or {})
        await self.evict(target)
        return request

    async def complete(self, request: EvictionRequest) -> None:
        """Say that the pod is deleted; admission wants it to be, where it can see that."""
        made = finish_patch(request, Finish(CompletionReason.POD_DELETED), _CLOCK.now())
        await self._send(request, made, self._controller)

    async def _patch(self, request: EvictionRequest, patch: Obj, as_user: str = "") -> EvictionRequest:
        return codec_for(EvictionRequest).decode(await self._send(request, patch, as_user))

    async def _send(self, request: EvictionRequest, patch: Obj, as_user: str) -> bytes:
        path = f"{REQUESTS}/{request.metadata.name}/status"
        return await self._api.send("PATCH", path, orjson.dumps(patch), MERGE, as_user)


@dataclass
class Follower:
    """Watches the requests: which are complete, and how long each hand-over took."""

    complete: dict[str, float] = field(default_factory=dict)
    hand_overs: list[float] = field(default_factory=list)
    _done_at: dict[str, float] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, api: load.Api, opened: asyncio.Event) -> None:
        """Until cancelled."""
        listed = orjson.loads(await api.send("GET", f"{REQUESTS}?limit=1"))
        version = listed["metadata"]["resourceVersion"]
        rest = b""
        async with api.watch(
            f"{REQUESTS}?watch=true&resourceVersion={version}&timeoutSeconds=3600"
        ) as stream:
            opened.set()
            async for chunk in stream.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                now = time.perf_counter()
                for line in lines:
                    self._see(orjson.loads(line)["object"], now)
                self._news.set()

    async def wait_for(self, names: Sequence[str]) -> None:
        """Return when all of them are complete."""
        while not all(name in self.complete for name in names):
            self._news.clear()
            await self._news.wait()

    def _see(self, request: Obj, now: float) -> None:
        name, status = request["metadata"]["name"], request.get("status") or {}
        if status.get("activeInterceptorCompleted"):
            self._done_at.setdefault(name, now)
        elif name in self._done_at and status.get("activeInterceptorName"):
            self.hand_overs.append(now - self._done_at.pop(name))
        if any(one["type"] == "Complete" for one in status.get("conditions", ())):
            self.complete.setdefault(name, now)


@asynccontextmanager
async def following(api: load.Api) -> AsyncIterator[Follower]:
    """A follower whose watch is open, until the end of the block."""
    follower, opened = Follower(), asyncio.Event()
    task = asyncio.create_task(follower.follow(api, opened))
    try:
        await opened.wait()
        yield follower
    finally:
        task.cancel()
        await asyncio.wait([task])
