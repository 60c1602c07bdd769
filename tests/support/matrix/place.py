"""Where a case of the matrix runs: a cluster with nodes, a namespace, one drain, and ways to refuse."""

from __future__ import annotations

import contextlib
import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from vacate.api.kinds import CONFIGMAPS, NODEMAINTENANCES, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.clock import SystemClock
from vacate.errors import NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.registration import PREFIXES

T = TypeVar("T")
STOP = {"sim.vacate.dev/stop-seconds": "0.1"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the API server refuses of Vacate: which requests, and by what it refuses them."""

    by: str  # policy, webhook, away, quota or rights
    method: str  # POST, PATCH or DELETE
    kind: Kind
    subresource: str = ""
    link: str = ""  # whose requests, in virtual time; empty for Vacate's


class Place(ABC):
    """One cluster, and in it a namespace and a drain of their own."""

    setup_seconds = 60.0  # until what a case needs is there

    def __init__(self, client: Client, namespace: str, nodes: list[str]) -> None:
        self.client = client
        self.namespace = namespace
        self.nodes = nodes  # the first is drained
        self.drain_name = f"drain-{namespace}"
        self.dialect: Dialect = EVICTION_REQUEST  # in which the drain requests

    @property
    def node(self) -> str:
        """The node that is drained."""
        return self.nodes[0]

    @abstractmethod
    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        """What it returns, as soon as that is something; fails where it is nothing in time."""

    @abstractmethod
    def now(self) -> float:
        """Seconds on the clock of the place."""

    def moment(self) -> dt.datetime:
        """Now, as what the product writes has it."""
        return SystemClock().now()

    @abstractmethod
    async def check_progress(
        self, what: str, since: dt.datetime, removed: dt.datetime, seconds: float
    ) -> None:
        """That the drain went on soon, where the machine may have been slow to see its end.

        `since` is when the removal of the cause began, `removed` when it was over.
        """

    @abstractmethod
    async def refuse(self, refusal: Refusal) -> None:
        """From now on the API server refuses this."""

    async def stop(self, part: str) -> None:
        """A part of the cluster is away from now on: manager, server or node."""
        raise NotImplementedError(part)

    async def start(self, part: str) -> None:
        """It is back."""
        raise NotImplementedError(part)

    @abstractmethod
    async def allow(self) -> None:
        """Nothing is refused any more."""

    # Objects

    def interceptor(self, name: str) -> str:
        """What an interceptor is called in the API of the drain."""
        return f"{name}/backup" if self.dialect is LIFECYCLE else name

    async def requests(self) -> list[EvictionRequest]:
        """The requests of this namespace by the API of the drain, as records."""
        found = (await self.client.list(self.dialect.kind, self.namespace)).items
        return [self.dialect.read(codec_for(self.dialect.wire).convert(one)) for one in found]

    async def turn(self, interceptor: str) -> EvictionRequest:
        """The request once the interceptor has its turn in it."""

        async def look() -> EvictionRequest | None:
            status = ((one, one.status) for one in await self.requests() if not one.complete)
            return next((one for one, now in status if now.active_interceptor_name == interceptor
                         and not now.active_interceptor_completed), None)  # fmt: skip

        return await self.until(look, f"{interceptor} has its turn", self.setup_seconds)

    async def report(self, request: EvictionRequest, *conditions: Obj, **status: Any) -> None:
        """What an interceptor writes into the request, beside the conditions of others."""
        if conditions:
            meta = request.metadata
            stored = await self.client.get(self.dialect.kind, meta.name, meta.namespace)
            types = [one["type"] for one in conditions]
            # A merge patch replaces the list; the strategic one of lifecycle.k8s.io adds to it.
            old = [] if self.dialect is LIFECYCLE else stored["status"].get("conditions", [])
            status["conditions"] = [*(one for one in old if one["type"] not in types), *conditions]
        patch = self.dialect.status_patch({"status": status}, request, await self.server_time())
        await self.client.patch(
            self.dialect.kind,
            request.metadata.name,
            patch,
            request.metadata.namespace,
            patch_type=self.dialect.status_patch_type,
            subresource="status",
        )

    async def server_time(self) -> dt.datetime:
        """By the clock of the API server, which checks what is reported."""
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "now"}}
        made = await self.client.create(CONFIGMAPS, probe, self.namespace, dry_run=True)
        return parse_time(made["metadata"]["creationTimestamp"])

    def registration(self, *interceptors: str) -> tuple[dict[str, str], Obj]:
        """What registers interceptors on a pod, the last for the first turn: its annotations and its spec."""
        numbered = list(enumerate(interceptors, 1))
        if self.dialect is LIFECYCLE:
            responders = [{"name": one, "priority": 10_000 + at} for at, one in numbered]
            return {}, {"evictionResponders": responders} if responders else {}
        prefix = PREFIXES[self.dialect is EVACUATION]
        return {f"{prefix}/priority_{one}": str(10 * at) for at, one in numbered}, {}

    async def pod(self, name: str, *interceptors: str, node: str = "", **parts: Any) -> Obj:
        """A pod on the node that is drained, once it is ready; nothing re-creates it."""
        turns, responders = self.registration(*interceptors)
        meta = {
            "name": name,
            "labels": {"app": self.namespace, **parts.pop("labels", {})},
            "annotations": {**STOP, **turns, **parts.pop("annotations", {})},
            **({"finalizers": parts.pop("finalizers")} if "finalizers" in parts else {}),
        }
        ready = parts.pop("ready", True)
        spec = {
            "nodeName": node or self.node,
            "containers": [{"name": "main", "image": "app:1"}],
            **responders,
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, **parts}}
        await self.client.create(PODS, body, self.namespace)
        return await self.until(lambda: self._if(name, ready=ready), f"pod {name} runs", self.setup_seconds)

    async def _if(self, name: str, *, ready: bool) -> Obj | None:
        found = await self.client.get(PODS, name, self.namespace)
        return (
            found if is_ready(found) is ready and found.get("status", {}).get("phase") == "Running" else None
        )

    async def budget(self, name: str, **spec: Any) -> None:
        """A budget over the pods of the namespace, once its controller has looked at it."""
        selector = {"selector": {"matchLabels": {"app": self.namespace}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
        await self.client.create(PODDISRUPTIONBUDGETS, {**body, "spec": {**selector, **spec}}, self.namespace)

        async def counted() -> bool | None:
            found = await self.client.get(PODDISRUPTIONBUDGETS, name, self.namespace)
            if found.get("status", {}).get("expectedPods"):
                return True
            with contextlib.suppress(NotFound):  # a drain that was quicker leaves none to be counted
                return await self.is_drained()
            return None

        await self.until(counted, f"budget {name} is counted", self.setup_seconds)

    async def drain(self, name: str = "", **spec: Any) -> None:
        """Drain the node of the pods of this namespace alone; others may use it too."""
        rules = {"unmanagedPods": "Evict", "localDataPods": "Evict", "daemonSetPods": "Ignore"}
        pods = {**rules, **spec.pop("pods", {}), "selector": {"matchLabels": {"app": self.namespace}}}
        if self.dialect is not EVICTION_REQUEST:
            spec = {"requestKind": self.dialect.request_kind, **spec}
        body = {
            "apiVersion": NODEMAINTENANCES.api_version,
            "kind": NODEMAINTENANCES.kind,
            "metadata": {"name": name or self.drain_name},
            "spec": {"nodes": [self.node], **spec, "pods": pods},
        }
        await self.client.create(NODEMAINTENANCES, body)

    async def status(self, name: str = "") -> Obj:
        """The status of the drain."""
        found = await self.client.get(NODEMAINTENANCES, name or self.drain_name)
        return dict(found.get("status", {}))

    async def is_drained(self) -> bool | None:
        """Whether the drain has ended."""
        return (await self.status()).get("phase") == "Drained" or None

    async def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Delete an object, if it is there."""
        with contextlib.suppress(NotFound):
            await self.client.delete(kind, name, namespace or (self.namespace if kind.namespaced else ""))


def is_ready(pod: Obj) -> bool:
    """Whether the pod says that it is ready."""
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
