"""One namespace of a cluster that attends to eviction requests, and what scenarios do in it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from support.evictions.clusters import EvictionCluster
from support.processes.cluster import environment
from support.processes.commands import Ended
from support.realcluster.evictions import DAEMON_SETS, daemon_set
from support.waiting import LIMIT
from vacate.api.kinds import EVENTS, NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.client.requests import JSON_PATCH
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.registration import PREFIXES
from vacate.sdk import Interceptor, Requester, TurnResult, serve_interceptors
from vacate.sdk.results import history_of

TIMEOUT = LIMIT
KEEPS = "example.com/kept-to-be-read"
"""A finalizer that no controller takes away."""
T = TypeVar("T")


class EvictionNamespace:
    """Pods, requesters of their evictions, and interceptors."""

    def __init__(
        self,
        cluster: EvictionCluster,
        client: Client,
        namespace: str,
        dialect: Dialect = EVICTION_REQUEST,
    ) -> None:
        self.dialect = dialect  # of the API by which evictions are requested
        self.cluster = cluster
        self.client = client
        self.namespace = namespace

    # Pods and budgets

    async def pod(
        self,
        name: str,
        *interceptors: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        owner: Obj | None = None,
        **spec: Any,
    ) -> Obj:
        """A pod that is ready; interceptors as a pod lists them, the last of which has the first turn."""
        prefix = PREFIXES[self.dialect is EVACUATION]
        body = pod_body(name, *interceptors, labels=labels, annotations=annotations, prefix=prefix, **spec)
        if owner is not None:
            body["metadata"]["ownerReferences"] = [owner]
        await self.client.create(PODS, body, self.namespace)
        return await self.ready(name)

    async def ready(self, name: str) -> Obj:
        """The pod, once it is ready."""
        return await self.until(lambda: self._if(name, is_ready), f"pod {name} is ready")

    async def daemon_pod(self, name: str) -> Obj:
        """A pod of a DaemonSet."""
        await self.client.create(DAEMON_SETS, daemon_set(name), self.namespace)
        return await self.until(lambda: self._first_ready(name), "the DaemonSet has a ready pod")

    async def find_pod(self, name: str) -> Obj | None:
        """The pod of that name, if there is one."""
        try:
            return await self.client.get(PODS, name, self.namespace)
        except NotFound:
            return None

    async def there(self, pod: Obj) -> Obj | None:
        """This very pod as it is now, if it is."""
        found = await self.find_pod(pod["metadata"]["name"])
        return found if found and found["metadata"]["uid"] == pod["metadata"]["uid"] else None

    async def gone(self, pod: Obj) -> None:
        """Return when this very pod is no more."""

        async def is_gone() -> bool:
            return await self.there(pod) is None

        await self.until(is_gone, f"pod {pod['metadata']['name']} is gone")

    async def stays(self, pod: Obj) -> None:
        """The pod is there, and nobody has asked it to end."""
        found = await self.there(pod)
        assert found is not None
        assert "deletionTimestamp" not in found["metadata"]

    async def budget(self, name: str, **spec: Any) -> None:
        """A budget over pods with app=NAME that the disruption controller has looked at."""
        spec = {"selector": {"matchLabels": {"app": name}}, **spec}
        await self.client.create(
            PODDISRUPTIONBUDGETS, {"metadata": {"name": name}, "spec": spec}, self.namespace
        )

        async def counted() -> bool:
            found = await self.client.get(PODDISRUPTIONBUDGETS, name, self.namespace)
            return bool(found.get("status", {}).get("conditions"))

        await self.until(counted, f"budget {name} is looked at")

    # Requests

    def requester(self, name: str = "drain.example.com") -> Requester:
        return Requester(self.client, name, namespace=self.namespace, dialect=self.dialect)

    async def ask(self, pod: Obj, *requesters: str) -> EvictionRequest:
        """A request that nobody collects with its pod, so that its end can be read."""
        first, *others = requesters or ("drain.example.com",)
        made = self.dialect.new_request(codec_for(Pod).convert(pod), first, "", None)
        del made["metadata"]["ownerReferences"]
        if self.dialect is EVACUATION:
            made["metadata"]["finalizers"].append(KEEPS)
        await self.client.create(self.dialect.kind, made, self.namespace)
        for other in others:
            await self.requester(other).request(pod["metadata"]["name"])
        return await self.request(pod)

    async def keep(self, pod: Obj) -> None:
        """Let the end of a request be read that its controller would remove."""
        if self.dialect is EVACUATION:
            steps = [{"op": "add", "path": "/metadata/finalizers/-", "value": KEEPS}]
            name, kind = self.name_of_request(pod), self.dialect.kind
            await self.client.patch(kind, name, steps, self.namespace, patch_type=JSON_PATCH)

    def name_of_request(self, pod: Obj) -> str:
        """What the request about this pod is called."""
        return self.dialect.request_name(pod["metadata"]["name"], pod["metadata"]["uid"])

    async def request(self, pod: Obj) -> EvictionRequest:
        """The request about this pod."""
        name, dialect = self.name_of_request(pod), self.dialect
        return dialect.read(await self.client.get(dialect.kind, name, self.namespace, into=dialect.wire))

    async def requests(self) -> list[EvictionRequest]:
        """All of the namespace."""
        found = await self.client.list(self.dialect.kind, self.namespace, into=self.dialect.wire)
        return [self.dialect.read(one) for one in found.items]

    async def until_request(
        self, pod: Obj, shows: Callable[[EvictionRequest], object], what: str
    ) -> EvictionRequest:
        """The request, once it shows that. The bridge of a busy cluster makes it after its answer."""

        async def look() -> EvictionRequest | None:
            with contextlib.suppress(NotFound):
                found = await self.request(pod)
                return found if shows(found) else None
            return None

        return await self.until(look, what)

    async def until_active(self, pod: Obj, interceptor: str) -> EvictionRequest:
        """The request, once it is that interceptor's turn."""
        return await self.until_request(
            pod, lambda one: one.status.active_interceptor_name == interceptor, f"{interceptor} is active"
        )

    async def until_stage(self, pod: Obj, stage: str) -> EvictionRequest:
        """The request, once it is at that stage."""
        return await self.until_request(
            pod, lambda one: reason(one, "Progressing") == stage, f"it is {stage}"
        )

    async def until_complete(self, pod: Obj) -> EvictionRequest:
        """The request, once it is over."""
        return await self.until_request(pod, lambda one: one.complete, "the request is complete")

    async def report(self, request: EvictionRequest, **status: Any) -> Obj:
        """Write status, as interceptors do without an SDK; fields are named as in an EvictionRequest."""
        name, change = request.metadata.name, self.dialect.status_patch({"status": status})
        return await self.client.patch(self.dialect.kind, name, change, self.namespace, subresource="status")

    def status_field(self, name: str) -> str:
        """What a field of an EvictionRequest's status is called here."""
        (found,) = self.dialect.status_patch({"status": {name: None}})["status"]
        return f"status.{found}"

    @property
    def left(self) -> tuple[str, ...]:
        """How a request may end whose pod has gone: a node says first that it has ended, then lets go."""
        return ("PodDeleted",) if self.dialect is EVACUATION else ("PodTerminated", "PodDeleted")

    async def release(self) -> None:
        """Let requests go that were kept to be read."""
        for one in await self.requests() if self.dialect is EVACUATION else ():
            change = {"metadata": {"finalizers": None}}
            with contextlib.suppress(NotFound):
                await self.client.patch(self.dialect.kind, one.metadata.name, change, self.namespace)

    async def events(self, about: str, why: str) -> list[Obj]:
        """The events of that reason about an object."""
        listed = await self.client.list(EVENTS, self.namespace)
        return [one for one in listed.items if (one["involvedObject"]["name"], one["reason"]) == (about, why)]

    # Programs

    @contextlib.asynccontextmanager
    async def serving(self, *interceptors: Interceptor, client: Client | None = None) -> AsyncIterator[None]:
        """A program of interceptors for the length of the block."""
        program = asyncio.create_task(serve_interceptors(client or self.client, interceptors))
        try:
            yield
        finally:
            program.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await program

    async def vacate(self, *arguments: str) -> Ended:
        """One command of the product, as a process, in this namespace."""
        return await run_vacate(str(self.cluster.kubeconfig), *arguments, "-n", self.namespace)

    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, seconds: float = TIMEOUT) -> T:
        """Look again and again until it is so."""
        end = time.monotonic() + seconds
        while not (found := await look()):
            assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
            await asyncio.sleep(0.05)
        return found

    async def _if(self, name: str, shows: Callable[[Obj], bool]) -> Obj:
        found = await self.find_pod(name)
        return found if found and shows(found) else {}

    async def _first_ready(self, app: str) -> Obj:
        listed = await self.client.list(PODS, self.namespace, ListOptions(label_selector=f"app={app}"))
        return next(filter(is_ready, listed.items), {})


def pod_body(
    name: str,
    *interceptors: str,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    prefix: str = PREFIXES[0],
    **spec: Any,
) -> Obj:
    """A pod whose interceptors are registered by annotations, as stock clusters have it."""
    turns = {f"{prefix}/priority_{one}": str(10 * place) for place, one in enumerate(interceptors, 1)}
    return {
        "metadata": {
            "name": name,
            "labels": dict(labels or {}),
            "annotations": {**turns, **(annotations or {})},
        },
        "spec": {"containers": [{"name": "main", "image": "app:1"}], **spec},
    }


def is_ready(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def reason(request: EvictionRequest, condition: str) -> str:
    """The reason of a condition, or nothing."""
    return next((one.reason for one in request.status.conditions if one.type == condition), "")


def turns(request: EvictionRequest) -> list[tuple[str, TurnResult]]:
    """Who has had a turn, and how it ended."""
    return [(turn.interceptor, turn.result) for turn in history_of(request)]


async def run_vacate(kubeconfig: str, *arguments: str) -> Ended:
    """One command of the product, as a process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacate", *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**environment(), "KUBECONFIG": kubeconfig},
    )  # fmt: skip
    out, err = await asyncio.wait_for(child.communicate(), TIMEOUT)
    return Ended(child.returncode or 0, out.decode(), err.decode())


@contextlib.asynccontextmanager
async def enter_place(
    cluster: EvictionCluster, dialect: Dialect = EVICTION_REQUEST
) -> AsyncIterator[EvictionNamespace]:
    """A new namespace there; it is asked to go at the end, and not waited for."""
    client = Client(HttpTransport(load_cluster([cluster.kubeconfig]), SystemClock()))
    place = EvictionNamespace(cluster, client, f"t-{system_entropy().uid()[:8]}", dialect)
    try:
        await client.create(NAMESPACES, {"metadata": {"name": place.namespace}})
        yield place
        await place.release()
        await client.delete(NAMESPACES, place.namespace)
    finally:
        await client.aclose()
        await asyncio.sleep(0.05)  # connections say farewell by TLS
