"""Whole clusters with controllers and simulated nodes, embedded and real, for one body of scenarios."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from hack.kubelab.children import end_child
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS
from hack.kubelab.up import start_nodes

from support.processes.cluster import FAST_PODS, running_cluster
from support.waiting import LIMIT
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, NODES, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.errors import NotFound

LABS = ("embedded", "real")
NODE_COUNT = 3
TIMEOUT = LIMIT
Look = Callable[[], Awaitable[bool]]


@contextmanager
def open_lab(name: str, folder: Path) -> Iterator[Path]:
    """A running cluster of that sort; its kubeconfig."""
    if name == "embedded":
        with running_cluster(
            folder, "--nodes", str(NODE_COUNT), "--no-guard-force-deletion", *FAST_PODS
        ) as cluster:
            yield cluster.kubeconfig
        return
    with running(Path(os.environ[ASSETS]), folder) as plane:
        nodes = start_nodes(plane, NODE_COUNT, *FAST_PODS)
        try:
            yield plane.kubeconfig
        finally:
            end_child(nodes, 10.0)


class Lab:
    """One namespace of a cluster, and what scenarios do in it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def create(self, kind: Kind, obj: Obj) -> Obj:
        return await self.client.create(kind, obj, self.namespace if kind.namespaced else "")

    async def get(self, kind: Kind, name: str) -> Obj:
        return await self.client.get(kind, name, self.namespace if kind.namespaced else "")

    async def pods(self) -> list[Obj]:
        """Those that are not terminating."""
        listed = await self.client.list(PODS, self.namespace)
        return [pod for pod in listed.items if "deletionTimestamp" not in pod["metadata"]]

    async def pods_on(self, node: str) -> list[Obj]:
        """Also those that are terminating."""
        listed = await self.client.list(
            PODS, self.namespace, ListOptions(field_selector=f"spec.nodeName={node}")
        )
        return list(listed.items)

    async def rolled_out(self, name: str, replicas: int) -> bool:
        """What `kubectl rollout status` waits for."""
        deployment = await self.get(DEPLOYMENTS, name)
        status = deployment.get("status", {})
        counts = [status.get(f"{which}Replicas", 0) for which in ("updated", "available", "ready")]
        seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        return bool(seen and status.get("replicas", 0) == replicas and counts == [replicas] * 3)

    async def until(self, look: Look, what: str) -> None:
        """Look again and again until it is so."""
        end = time.monotonic() + TIMEOUT
        while not await look():
            assert time.monotonic() < end, f"not within {TIMEOUT:.0f} s: {what}"
            await asyncio.sleep(0.05)

    async def nodes_ready(self) -> bool:
        listed = await self.client.list(NODES)
        return sum(is_ready(node) for node in listed.items) == NODE_COUNT

    async def namespace_is_gone(self) -> bool:
        try:
            await self.client.get(NAMESPACES, self.namespace)
        except NotFound:
            return True
        return False


def is_ready(node: Obj) -> bool:
    """Whether pods may come."""
    conditions = node.get("status", {}).get("conditions", [])
    untainted = not node["spec"].get("taints")
    return untainted and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@asynccontextmanager
async def enter_lab(kubeconfig: Path, namespace: str) -> AsyncIterator[Lab]:
    """A new namespace there, its nodes ready."""
    client = Client(HttpTransport(load_cluster([kubeconfig]), SystemClock()))
    lab = Lab(client, namespace)
    try:
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        await lab.until(lab.nodes_ready, "all nodes are ready")
        yield lab
    finally:
        await client.aclose()
