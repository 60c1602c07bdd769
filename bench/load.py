"""The load: creates, gets, evictions and watch fan-out over HTTPS, for any API server.

A bare aiohttp client on 16 connections, so that as little as possible is measured beside the server.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from vacate.admission.pods.forcedeletion import DISABLED, GUARD_LABEL
from vacate.client.credentials import Credentials
from vacate.client.kubeconfig import load_cluster
from vacate.client.tls import client_context

CONNECTIONS = 16
NAMESPACE = "bench"
NODE = "bench-node"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
WATCHERS = 50
UNGUARDED = {GUARD_LABEL: DISABLED}
"""No node runs these pods, so that none can confirm their end: they are force deleted in the end."""


@dataclass(frozen=True)
class Figures:
    """Operations per second of wall time, and what the server spent on them."""

    creates: float
    gets: float
    evictions: float
    fanout: float
    cpu_us_create: float
    cpu_us_get: float
    cpu_us_evict: float
    bytes_per_object: float


class Api:
    """Just enough of a client."""

    def __init__(self, session: aiohttp.ClientSession, server: str, headers: dict[str, str]) -> None:
        self._session = session
        self._server = server
        self._headers = headers

    async def send(
        self, method: str, path: str, body: bytes | None = None, kind: str = "json", as_user: str = ""
    ) -> bytes:
        headers = {**self._headers, "Content-Type": f"application/{kind}"}
        if as_user:
            headers["Impersonate-User"] = as_user
        async with self._session.request(method, self._server + path, data=body, headers=headers) as answer:
            raw = await answer.read()
            if answer.status >= 300 and answer.status not in (404, 409):
                raise SystemExit(f"{method} {path}: {answer.status} {raw[:300]!r}")
            return raw

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._session.get(self._server + path, headers=self._headers) as answer:
            yield answer


def pod(name: str) -> bytes:
    """About 600 bytes, bound to a node so that an eviction is a graceful one."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": {"app": "bench", "tier": "backend", "release": "stable"},
                "annotations": {"example.com/owner": "team-a", "example.com/note": "x" * 120},
            },
            "spec": {
                "nodeName": NODE,
                "automountServiceAccountToken": False,
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example.com/bench:1.0.0",
                        "command": ["/bin/server", "--port=8080"],
                        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                    }
                ],
            },
        }
    ).encode()


async def run(kubeconfig: Path, objects: int, server_pid: int | None = None) -> Figures:
    """Prepare a namespace, run the four loads, remove the namespace's pods."""
    cluster = load_cluster([kubeconfig])
    shown = Credentials(cluster.token, cluster.client_certificate, cluster.client_key)
    context = client_context(cluster, shown)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + WATCHERS, ssl=context)
    headers = {"Authorization": f"Bearer {cluster.token}"} if cluster.token else {}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        api = Api(session, cluster.server, headers)
        return await _measure(api, objects, Meter(server_pid))


class Meter:
    """What the server process has used, where its id is known."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid

    def cpu_seconds(self) -> float:
        if self._pid is None:
            return 0.0
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def resident_bytes(self) -> int:
        if self._pid is None:
            return 0
        return int(Path(f"/proc/{self._pid}/statm").read_text().split()[1]) * 4096


async def _measure(api: Api, objects: int, meter: Meter) -> Figures:
    await _prepare(api)
    names = [f"pod-{number:06}" for number in range(objects)]
    before = meter.resident_bytes()
    creates, cpu_create = await _phase(names, meter, lambda name: api.send("POST", PODS, pod(name)))
    grown = meter.resident_bytes() - before
    gets, cpu_get = await _phase(names * 2, meter, lambda name: api.send("GET", f"{PODS}/{name}"))
    fanout = await _fanout(api, names[: min(200, objects)])
    evictions, cpu_evict = await _phase(names, meter, lambda name: api.send("POST", *_eviction(name)))
    await api.send("DELETE", f"{PODS}?gracePeriodSeconds=0")
    scale = 1e6
    return Figures(
        creates, gets, evictions, fanout,
        cpu_create * scale, cpu_get * scale, cpu_evict * scale, grown / objects,
    )  # fmt: skip


async def _prepare(api: Api) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": UNGUARDED},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    await api.send("POST", "/api/v1/namespaces", json.dumps(namespace).encode())
    await api.send("POST", "/api/v1/nodes", json.dumps(node).encode())


async def _phase(
    names: list[str], meter: Meter, work: Callable[[str], Coroutine[Any, Any, bytes]]
) -> tuple[float, float]:
    """Operations per second, and the server's CPU seconds for each."""
    pending = iter(names)

    async def worker() -> None:
        for name in pending:
            await work(name)

    cpu, began = meter.cpu_seconds(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(worker())
    elapsed = time.perf_counter() - began
    return len(names) / elapsed, (meter.cpu_seconds() - cpu) / len(names)


def _eviction(name: str) -> tuple[str, bytes]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
    return f"{PODS}/{name}/eviction", json.dumps(body).encode()


async def _fanout(api: Api, names: list[str]) -> float:
    """Events delivered per second to all watchers together, while labels are patched."""
    listed = json.loads(await api.send("GET", f"{PODS}?limit=1"))
    start = listed["metadata"]["resourceVersion"]
    counts = [0] * WATCHERS
    ready: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in counts]

    async def listen(number: int) -> None:
        path = f"{PODS}?watch=true&resourceVersion={start}&timeoutSeconds=300"
        async with api.watch(path) as stream:
            ready[number].set_result(None)
            async for chunk in stream.content.iter_any():
                counts[number] += chunk.count(b'{"type":')
                if counts[number] >= len(names):
                    return

    async with asyncio.TaskGroup() as group:
        for number in range(WATCHERS):
            group.create_task(listen(number))
        await asyncio.gather(*ready)
        began = time.perf_counter()
        for index, name in enumerate(names):
            patch = json.dumps({"metadata": {"labels": {"round": str(index)}}}).encode()
            await api.send("PATCH", f"{PODS}/{name}", patch, "merge-patch+json")
    return sum(counts) / (time.perf_counter() - began)
