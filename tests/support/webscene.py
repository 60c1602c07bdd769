"""The pages of `vacate web` over an API server whose objects a test has written, in a thread of their own.

The driver of the browser has an event loop of its own in the thread of the tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

from vacate.api.identity import MASTERS, service_account_user
from vacate.api.kinds import (
    EVICTIONREQUESTS,
    FENCINGPOLICIES,
    LEASES,
    NAMESPACES,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.cli.common.connection import Cluster, Connection
from vacate.cli.web.reads import reads_of, run_at
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import Entropy, seeded_entropy
from vacate.kube.exclusivevolumes import ATTACHMENT, EXCLUSIVE
from vacate.testing.builders import node as build_node
from vacate.testing.builders import pod as build_pod
from vacate.views.phrases import counted
from vacate.web.feed import Feed
from vacate.web.server import WebServer
from vacate.web.site import Site
from vacate.web.visitors import OneBrowser
from vacate.wire.message import Peer, Request, Response

T = TypeVar("T")
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
_CLOCK = SystemClock()
_CONTROLLER = service_account_user("kube-system", "evictionrequest-controller")
_SECONDS = 120.0
PATIENCE = 180_000.0
"""Milliseconds for which the driver waits for what a test awaits."""


def ago(minutes: float) -> str:
    """A time, so long before now."""
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Past(SystemClock):
    """The clock of the API server. What is written while it is behind was written so long ago."""

    behind = dt.timedelta()

    def now(self) -> dt.datetime:
        return super().now() - self.behind


class Freezing(InProcessTransport):
    """The way to an API server that can be frozen: connections stay open, and nothing is answered."""

    def __init__(self, server: ApiServer, peer: Peer) -> None:
        super().__init__(server, peer)
        self.thawed = asyncio.Event()
        self.thawed.set()

    async def send(self, request: Request) -> Response:
        await self.thawed.wait()
        return await super().send(request)


class Scene:
    """An API server and the program of the pages. What is called in it blocks the caller."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stack = contextlib.AsyncExitStack()
        self._listening = contextlib.AsyncExitStack()
        self.past = Past()
        self._way: Freezing
        self._site: Site
        self.admin: Client
        self.controller: Client  # who alone writes the stages of requests
        self.server: WebServer
        self.visitors: OneBrowser
        self.port = 0
        self.address = ""  # that lets one browser in

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, in the thread of the scene."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    def open(self) -> None:
        """Start it, with an empty cluster."""
        self._thread.start()
        self.run(self._open())
        self.listen()

    async def _open(self) -> None:
        api = await open_server(ServerParts(MemoryLog(), self.past, seeded_entropy(1)))
        self._stack.push_async_callback(api.storage.store.aclose)
        self.admin = Client(InProcessTransport(api, Peer("admin", (MASTERS,))))
        self.controller = Client(InProcessTransport(api, Peer(_CONTROLLER, (MASTERS,))))
        self._way = Freezing(api, Peer("admin", (MASTERS,)))
        client = Client(self._way)
        feed = Feed(client, _CLOCK, seeded_entropy(2), context="prod-eu-1", program="vacate", user="admin")
        await self._stack.enter_async_context(feed.running())
        self._site = Site(feed, reads_of(Cluster(client, "default", _CLOCK), run_at(Connection())))
        self._serve(seeded_entropy(3))

    def _serve(self, entropy: Entropy) -> None:
        self.visitors = OneBrowser(self._site, entropy)
        self.server = WebServer(self.visitors, entropy)

    def listen(self) -> None:
        """Serve the pages, again under the same port if they were before."""
        self.address = self.run(self._listening.enter_async_context(self.server.listening(self.port)))
        self.port = int(self.address.partition("127.0.0.1:")[2].partition("/")[0])

    def freeze(self, *, frozen: bool) -> None:
        """As if the machine of the API server hung, or went on."""
        change = self._way.thawed.clear if frozen else self._way.thawed.set
        self._loop.call_soon_threadsafe(change)

    def stop_listening(self) -> None:
        """As if the program were gone."""
        self.run(self._listening.aclose())

    def start_again(self) -> None:
        """Another program under the same port, which has another token and knows no cookie."""
        self.stop_listening()
        self._serve(seeded_entropy(5))
        self.listen()

    def close(self) -> None:
        """End it."""
        self.stop_listening()
        self.run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()


@contextlib.contextmanager
def scene() -> Iterator[Scene]:
    """A scene for the length of the block."""
    one = Scene()
    one.open()
    try:
        yield one
    finally:
        one.close()


async def write(client: Client, kind: Kind, obj: Obj, status: Obj | None = None) -> Obj:
    """Create an object, and write its status."""
    namespace = obj["metadata"].get("namespace", "")
    made = await client.create(kind, obj, namespace)
    if status is None:
        return made
    return await client.update(kind, {**made, "status": status}, subresource="status")


async def broken_cluster(one: Scene) -> None:
    """A drain that two causes hold, beside much that moves; texts of others that are markup."""
    client, controller = one.admin, one.controller
    one.past.behind = dt.timedelta(minutes=103)
    for name in ("payments", "media", "search"):
        await write(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for number in range(38, 46):
        await client.create(NODES, build_node(f"worker-{number}", labels={"pool": "workers-a"}))
    for name in ("worker-46", "edge-2"):
        lost = build_node(name, labels={"pool": "workers-a"} if name == "worker-46" else {})
        lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": ago(9)}]
        await client.create(NODES, lost)
    budget = {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "ledger", "namespace": "payments"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "ledger"}}},
    }  # fmt: skip
    await write(client, PODDISRUPTIONBUDGETS, budget, {
        "expectedPods": 3, "desiredHealthy": 3, "currentHealthy": 3, "disruptionsAllowed": 0,
        "observedGeneration": 1,
    })  # fmt: skip
    labels = {"app": "ledger"}
    pods = {
        "ledger-2": build_pod("ledger-2", namespace="payments", node="worker-39", labels=labels),
        "ledger-0": build_pod("ledger-0", namespace="payments", node="worker-44", labels=labels),
        "catalog-db-0": build_pod(
            "catalog-db-0", namespace="media", node="worker-40",
            interceptors=["backup.media.example.com"],
        ),
        "indexer-0": build_pod("indexer-0", namespace="search", node="worker-41"),
        "orders-0": build_pod("orders-0", namespace="payments", node="worker-46"),
    }  # fmt: skip
    for number in range(6):
        name = f"web-{number}"
        pods[name] = build_pod(name, namespace="search", node="worker-41")
    for name, obj in pods.items():
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name.rpartition("-")[0]}
        obj["metadata"]["ownerReferences"] = [{**owner, "uid": "u", "controller": True}]
    made = {name: await write(client, PODS, obj, RUNNING) for name, obj in pods.items()}
    one.past.behind = dt.timedelta(minutes=43)
    await _request(client, controller, made["ledger-2"], 43, "Blocked", {
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "podEvictionStatus": {"failedAPIEvictionCounter": 10},
    })  # fmt: skip
    one.past.behind = dt.timedelta(minutes=20)
    await _request(client, controller, made["catalog-db-0"], 20, "Intercepting", {
        "activeInterceptorName": "backup.media.example.com",
        "activeInterceptorCompleted": False,
        "heartbeatTime": ago(20),
        "message": f"Uploading, 61 % {HOSTILE}",
    })  # fmt: skip
    one.past.behind = dt.timedelta(minutes=103)
    await _maintenances(client)
    one.past.behind = dt.timedelta()
    policy = {
        "apiVersion": FENCINGPOLICIES.api_version, "kind": "FencingPolicy", "metadata": {"name": "rack-7"},
        "spec": {"nodeSelector": {"matchLabels": {"pool": "workers-a"}},
                 "agent": {"command": {"program": "fence_redfish", "options": {}}}},
    }  # fmt: skip
    row = {
        "name": "worker-46", "phase": "AwaitingApproval", "since": ago(9), "podsWaiting": 1,
        "message": "node worker-46 is unreachable, and a person has to approve that it is fenced",
    }  # fmt: skip
    words = "1 node is unreachable: worker-46 waits for approval"
    await write(client, FENCINGPOLICIES, policy, {"nodesUnreachable": 1, "message": words, "nodes": [row]})
    holder = {"namespace": "payments", "name": "orders-0", "uid": made["orders-0"]["metadata"]["uid"]}
    held = {"node": "worker-46", "pods": [holder], "since": ago(60)}
    await client.create(PERSISTENTVOLUMES, {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-orders-0", "annotations": {EXCLUSIVE: "true", ATTACHMENT: json.dumps(held)}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"},
            "csi": {"driver": "disks.example.com", "volumeHandle": "orders-0"},
            "claimRef": {"namespace": "payments", "name": "data-orders-0", "uid": "u"},
        },
    })  # fmt: skip
    await manager(client)


async def manager(client: Client) -> None:
    """The Lease of one that works: without it, that is what the pages say first."""
    lease = {
        "holderIdentity": "vacate-manager-0",
        "leaseDurationSeconds": 3600,
        "renewTime": f"{ago(0)[:-1]}.000000Z",
    }
    await client.create(
        LEASES,
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
         "metadata": {"name": "vacate-manager", "namespace": "default"}, "spec": lease},
        "default",
    )  # fmt: skip


async def busy_cluster(one: Scene) -> None:
    """A drain of sixty nodes that moves: one interceptor works, a pod ends, and nothing needs a person."""
    client, controller = one.admin, one.controller
    one.past.behind = dt.timedelta(minutes=20)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media"}}
    await write(client, NAMESPACES, namespace)
    names = [f"worker-{number:02}" for number in range(1, 61)]
    for name in names:
        await client.create(NODES, build_node(name))
    for number in range(12):
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "thumbs", "uid": "u"}
        obj = build_pod(
            f"thumbs-{number}", namespace="media", node="worker-41", interceptors=["drain.media.example.com"]
        )
        obj["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        made = await write(client, PODS, obj, RUNNING)
        if number < 4:
            one.past.behind = dt.timedelta(seconds=15)
            await _request(client, controller, made, 2, "Intercepting", {
                "activeInterceptorName": "drain.media.example.com", "activeInterceptorCompleted": False,
                "heartbeatTime": ago(0.25), "expectedInterceptorFinishTime": ago(-3 - number),
                "message": f"{70 - number} of 214 connections are left",
            })  # fmt: skip
            one.past.behind = dt.timedelta(minutes=20)
    rows = [_row(name, "Drained", 20, 20, 103 - place) for place, name in enumerate(names[:40])]
    rows += [_row("worker-41", "Draining", 24, 12, 5), _row("worker-42", "Draining", 20, 19, 4)]
    rows += [{"name": name, "phase": "Pending", "message": "waits for its turn"} for name in names[42:]]
    status = {
        "phase": "Draining", "observedGeneration": 1, "nodesTotal": 60, "nodesDrained": 40,
        "podsTotal": 844, "podsEvicted": 831, "percent": 67, "nodes": rows, "estimatedFinishTime": ago(-41),
    }  # fmt: skip
    spec = {"nodes": names, "reason": "Kernel 6.12 security update", "maxNodes": 2}
    await write(client, NODEMAINTENANCES, _maintenance("kernel-6-12", spec), status)
    one.past.behind = dt.timedelta()
    await manager(client)


async def _request(
    client: Client, controller: Client, pod: Obj, minutes: float, stage: str, status: Obj
) -> None:
    meta = pod["metadata"]
    obj = {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": "EvictionRequest",
        "metadata": {"name": meta["uid"], "namespace": meta["namespace"]},
        "spec": {
            "type": "Soft",
            "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": "kernel-6-12.nodemaintenance.vacate.dev"}],
        },
    }
    reasons = {"Progressing": stage}
    if "activeInterceptorName" in status:
        reasons["InterceptorAssigned"] = "FirstInterceptor"
    known = {"status": "True", "message": "written by a test", "lastTransitionTime": ago(minutes)}
    conditions = [{"type": type_, "reason": reason, **known} for type_, reason in reasons.items()]
    made = await client.create(EVICTIONREQUESTS, obj, meta["namespace"])
    await controller.update(
        EVICTIONREQUESTS, {**made, "status": {"conditions": conditions, **status}}, subresource="status"
    )


async def _maintenances(client: Client) -> None:
    nodes = [f"worker-{number}" for number in range(38, 46)]
    spec = {"nodes": nodes, "reason": f"Kernel 6.12 security update {HOSTILE}", "maxNodes": 3}
    await write(client, NODEMAINTENANCES, _maintenance("kernel-6-12", spec), drain_status())
    rows = [_row(f"edge-{number}", "Drained", 9, 9, 400 - number) for number in range(3)]
    done = {"phase": "Drained", "observedGeneration": 1, "nodesTotal": 3, "nodesDrained": 3,
            "podsTotal": 27, "podsEvicted": 27, "percent": 100, "nodes": rows}  # fmt: skip
    spec = {"nodes": [row["name"] for row in rows], "reason": "Firmware"}
    await write(client, NODEMAINTENANCES, _maintenance("firmware", spec), done)


def _maintenance(name: str, spec: Obj) -> Obj:
    return {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": "NodeMaintenance",
        "metadata": {"name": name},
        "spec": spec,
    }


def drain_status() -> Obj:
    """The status of the drain that is stuck."""
    rows = [
        _row("worker-38", "Drained", 20, 20, 103),
        _row("worker-39", "Blocked", 22, 21, 76),
        _row("worker-40", "Blocked", 20, 18, 25),
        _row("worker-41", "Draining", 23, 9, 5),
        *({"name": f"worker-{number}", "phase": "Pending", "message": "waits for its turn"}
          for number in range(42, 46)),
    ]  # fmt: skip
    look = {"text": "see which pods the budget counts", "command": "kubectl describe pdb ledger -n payments"}
    patch = """kubectl patch pdb ledger -n payments --type merge -p '{"spec":{"minAvailable":2}}'"""
    budget = {
        "node": "worker-39", "namespace": "payments", "pod": "ledger-2", "kind": "DisruptionBudget",
        "name": "ledger", "since": ago(43), "resolution": "Manual",
        "message": "Disruption budget ledger needs 3 healthy pods, has 3, and allows 0 disruptions now.",
        "remedy": "disruption budget ledger needs all of its 3 pods healthy and never allows an eviction",
        "remedies": [{"text": "let one pod be away at a time", "command": patch}, look],
    }  # fmt: skip
    silent = {
        "node": "worker-40", "namespace": "media", "pod": "catalog-db-0", "kind": "Interceptor",
        "name": "backup.media.example.com", "since": ago(20), "resolution": "Manual", "endTime": ago(-10),
        "message": f"interceptor backup.media.example.com has sent no heartbeat {HOSTILE}",
        "remedy": "make sure that backup.media.example.com runs",
        "remedies": [{"text": "make sure that it runs", "command": "vacate interceptors -A"}],
        "consequence": "it times out, and the pod is evicted without the preparation",
    }  # fmt: skip
    waits = {
        "node": "worker-41", "namespace": "search", "pod": "indexer-0", "kind": "DisruptionBudget",
        "name": "indexer", "since": ago(1), "resolution": "Automatic",
        "message": "Disruption budget indexer needs 1 healthy pod, has 1, and allows 0 disruptions now.",
        "remedy": "wait until more pods of disruption budget indexer are healthy, or add replicas",
    }  # fmt: skip
    return {
        "phase": "Blocked", "message": "1 of 8 nodes drained, 3 blockers", "nodesTotal": 8, "nodesDrained": 1,
        "observedGeneration": 1, "podsTotal": 85, "podsEvicted": 68, "percent": 35, "nodes": rows,
        "blockers": [budget, silent, waits], "blockersTotal": 3,
    }  # fmt: skip


def _row(name: str, phase: str, total: int, evicted: int, minutes: float) -> Obj:
    row: Obj = {
        "name": name, "phase": phase, "podsTotal": total, "podsEvicted": evicted,
        "percent": 100 * evicted // total, "startTime": ago(minutes),
        "message": f"{counted(total - evicted, 'pod')} left",
    }  # fmt: skip
    return {**row, "drainedTime": ago(minutes - 3)} if phase == "Drained" else row


def violations(page: Any, axe: str, *rules: str) -> list[str]:
    """What axe-core has against the page, by these rules or by all; the page's policy does not bind it."""
    page.evaluate(f"window.axe ? undefined : (() => {{ {axe} }})()")
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found: Any = page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"], **only})
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


SHOTS = (
    (360, 780, "light"),
    (360, 780, "dark"),
    (800, 1000, "light"),
    (1280, 800, "light"),
    (1280, 800, "dark"),
    (1920, 1080, "light"),
)
"""Width, height and theme of the pictures: at the greatest width the dark theme changes nothing else."""


def take(page: Any, folder: Path | None, name: str, axe: str = "") -> list[str]:
    """Pictures of the page as it is, for people to look at, and what is wrong with it in each: it is too
    wide, or axe-core has something against it. Without a folder only that."""
    found, seen = [], set()
    for width, height, theme in SHOTS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        if folder is not None:
            page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
        rules = ("color-contrast",) if width in seen else ()  # the theme changes nothing else
        wrong = [*_beyond(page), *(violations(page, axe, *rules) if axe else ())]
        seen.add(width)
        found += [f"{name}, {width} px, {theme}: {one}" for one in wrong]
    return found


def _beyond(page: Any) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    found = [f"has to be scrolled sideways by {wide} px"] if wide > 0 else []
    # A word of a command takes one line; a long one may break, as a patch does.
    torn = page.evaluate(
        "[...document.querySelectorAll('.cmd .w')].filter(one => one.textContent.length < 16 && "
        "one.getBoundingClientRect().height > 24).map(one => one.textContent)"
    )
    return [*found, *(f"the word {one!r} of a command is torn" for one in torn)]


def new_context(browser: Any, **options: Any) -> Any:
    """A browser of one person, which has patience: a slow machine must not fail."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context
