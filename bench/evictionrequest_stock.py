"""A folder of an embedded cluster with many pods and an open request for each, written straight to its log.

Creating 300,000 objects through the API would take minutes and show nothing. One pod and one request are
created by a real server, admission and all; the others are copies of them under other names and uids.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson

from vacate.api.identity import EVICTION_CONTROLLER
from vacate.api.kinds import EVICTIONREQUESTS, NAMESPACES, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.response.stored import encoder
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.cluster.directory import Folder
from vacate.embedded.store.log import Record
from vacate.embedded.store.sqlite import SqliteLog
from vacate.entropy import system_entropy
from vacate.eviction.model import Assign, Turn
from vacate.eviction.records.patches import assign_patch

NAMESPACE = "stock"
INTERCEPTOR = "backup.example.com"
_DAY = 86400
_RUN = 5000  # records written at once
_APPS = 500  # distinct sets of labels
_NODES = 1000


def pod(name: str) -> Obj:
    """A small web server that runs, some 2 kB with its defaults and status."""
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"app": "web", "tier": "backend", "release": "stable"},
            "annotations": {"example.com/owner": "team-a", "example.com/note": "x" * 120},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web",
                    "uid": str(uuid.UUID(int=7)),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "nodeName": "node-0",
            "automountServiceAccountToken": False,
            "evictionInterceptors": [{"name": INTERCEPTOR}],
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/web:1.0.0",
                    "command": ["/bin/server", "--port=8080"],
                    "env": [{"name": f"SETTING_{number}", "value": "value"} for number in range(6)],
                    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                }
            ],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1", "hostIP": "192.168.0.1"},
    }


async def fill(folder: Path, count: int) -> None:
    """Make the folder's database with so many pods and as many requests."""
    path = Folder(folder).database
    path.parent.mkdir(parents=True, exist_ok=True)
    first_pod, first_request, revision = await _originals(path)
    log = SqliteLog(path)
    await log.open()
    try:
        records: list[Record] = []
        for number, record in enumerate(_copies(first_pod, first_request, count), start=revision + 1):
            kind, obj = record
            meta = obj["metadata"]
            value = encoder(obj)(number)
            records.append(Record(number, kind.resource, NAMESPACE, meta["name"], False, number, value))
            if len(records) == _RUN:
                await log.append(records)
                records = []
        await log.append(records)
    finally:
        await log.aclose()


async def _originals(path: Path) -> tuple[Obj, Obj, int]:
    server = await open_server(ServerParts(SqliteLog(path), SystemClock(), system_entropy()))
    client = Client(InProcessTransport(server, ADMIN))
    try:
        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        made = await client.create(PODS, pod("original"), NAMESPACE)
        status = {"status": {"phase": "Running", "podIP": "10.0.0.1", "hostIP": "192.168.0.1"}}
        made = await client.patch(PODS, "original", status, NAMESPACE, subresource="status")
        asked = await client.create(EVICTIONREQUESTS, request_for(made), NAMESPACE)
        controller = Client(InProcessTransport(server, replace(ADMIN, name=EVICTION_CONTROLLER)))
        assigned = await _assign(controller, asked)
        return made, assigned, server.storage.store.revision
    finally:
        await server.storage.store.aclose()


def request_for(target: Obj, deadline: int = _DAY) -> Obj:
    """A request for the pod, as a requester sends it."""
    meta = target["metadata"]
    return {
        "metadata": {"name": meta["uid"], "namespace": meta["namespace"]},
        "spec": {
            "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": "drain.example.com"}],
            "heartbeatDeadlineSeconds": deadline,
        },
    }


async def _assign(client: Client, request: Obj) -> Obj:
    typed = codec_for(EvictionRequest).decode(orjson.dumps(request))
    patch = assign_patch(typed, Assign(INTERCEPTOR, Turn.FIRST), SystemClock().now())
    name = request["metadata"]["name"]
    return await client.patch(EVICTIONREQUESTS, name, patch, NAMESPACE, subresource="status")


def _copies(first_pod: Obj, first_request: Obj, count: int) -> Iterator[tuple[Kind, Obj]]:
    for number in range(count - 1):
        name, uid = f"web-{number:06}-{number % 97:05}", str(uuid.UUID(int=(number + 1) << 64 | 1 << 32))
        meta = {**first_pod["metadata"], "name": name, "uid": uid}
        meta["labels"] = {**meta["labels"], "app": f"web-{number % _APPS}"}
        spec = {**first_pod["spec"], "nodeName": f"node-{number % _NODES}"}
        yield PODS, {**first_pod, "metadata": meta, "spec": spec}
        meta = {**first_request["metadata"], "name": uid, "uid": str(uuid.UUID(int=number + 1))}
        meta["labels"] = {**meta.get("labels", {}), "app": f"web-{number % _APPS}"}
        target = {"podRef": {"name": name, "uid": uid}}
        yield (
            EVICTIONREQUESTS,
            {**first_request, "metadata": meta, "spec": {**first_request["spec"], "target": target}},
        )
