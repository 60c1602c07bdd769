"""The Node object of this machine, and the Lease that shows that its agent lives."""

from __future__ import annotations

import datetime as dt
import math
import os
import platform
from pathlib import Path

from vacate import __version__
from vacate.api.kinds import LEASES, NODES
from vacate.api.objects import Obj, dig
from vacate.api.times import format_micro_time, format_time
from vacate.api.types import Node, condition
from vacate.cache.reader import Reader
from vacate.client.requests import STRATEGIC_PATCH
from vacate.errors import AlreadyExists, ApiError, TransportError
from vacate.nodeagent.settings import TAINT, AgentSettings
from vacate.runtime.deps import Deps
from vacate.runtime.reconcile import Done, Key, Outcome

LEASE_NAMESPACE = "kube-node-lease"
RUNTIME_LABEL = "vacate.dev/runtime"

_GOOD = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "the agent does not measure memory pressure"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "the agent does not measure disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "the agent does not measure PID pressure"),
    ("Ready", "True", "KubeletReady", "the agent is posting ready status"),
)


class NodeReconciler:
    """The node is there, well, and holds its lease."""

    def __init__(self, deps: Deps, nodes: Reader[Node], settings: AgentSettings, runtime: str) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._nodes = nodes
        self._settings = settings
        self._runtime = runtime
        self.leased = False
        self._described = False  # whether this agent has said anew what the machine is like

    async def reconcile(self, key: Key) -> Outcome:
        """Register where the Node is missing; say that it is well where someone doubts it."""
        if key.name != self._settings.name:
            return Done()
        node = self._nodes.get("", key.name)
        now = self._clock.now()
        uid = node.metadata.uid if node is not None else await self._register(now)
        if node is not None:
            await self._describe(node, now)
        if not self.leased:
            await self._lease(uid, now)
            self.leased = True
        return Done()

    async def _register(self, now: dt.datetime) -> str:
        try:
            made = await self._client.create(NODES, node_object(self._settings, self._runtime, now))
        except AlreadyExists:
            made = await self._client.get(NODES, self._settings.name)
        return str(dig(made, "metadata", "uid"))

    async def _describe(self, node: Node, now: dt.datetime) -> None:
        wrong = [
            one
            for one in _conditions(now)
            if (found := condition(node.status.conditions, one["type"])) is None
            or found.status != one["status"]
        ]
        patch: Obj = {} if self._described else node_status(self._settings, self._runtime, now)
        if wrong or patch:
            patch = {**patch, "conditions": _conditions(now) if patch else wrong}
            await self._client.patch(
                NODES, node.metadata.name, {"status": patch}, patch_type=STRATEGIC_PATCH, subresource="status"
            )
        self._described = True

    async def _lease(self, uid: str, now: dt.datetime) -> None:
        name = self._settings.name
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        lease: Obj = {
            "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": max(math.ceil(4 * self._settings.heartbeat_seconds), 1),
                "renewTime": format_micro_time(now),
            },
        }
        try:
            await self._client.create(LEASES, lease)
        except AlreadyExists:
            await self._client.patch(LEASES, name, {"spec": lease["spec"]}, LEASE_NAMESPACE)


class Heartbeat:
    """Renews the lease; one that cannot be renewed is left to the reconciler."""

    name = "heartbeat"

    def __init__(self, deps: Deps, settings: AgentSettings, node: NodeReconciler) -> None:
        self._client, self._clock, self._entropy = deps.client, deps.clock, deps.entropy
        self._settings, self._node = settings, node
        self.failed: list[BaseException] = []

    async def run(self) -> None:
        """Beat until cancelled."""
        interval, name = self._settings.heartbeat_seconds, self._settings.name
        while True:
            await self._clock.sleep(interval + self._entropy.uniform(0, interval * 0.04))
            try:
                if not self._node.leased:
                    await self._node.reconcile(Key("", name))
                    continue
                renewed = {"spec": {"renewTime": format_micro_time(self._clock.now())}}
                await self._client.patch(LEASES, name, renewed, LEASE_NAMESPACE)
            except (ApiError, TransportError):
                self._node.leased = False


def node_object(settings: AgentSettings, runtime: str, now: dt.datetime) -> Obj:
    """The Node as it registers itself."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    labels = {
        "kubernetes.io/arch": machine,
        "kubernetes.io/hostname": settings.name,
        "kubernetes.io/os": "linux",
        RUNTIME_LABEL: "process",
        **settings.labels,
    }
    taints = [{"key": TAINT, "effect": "NoSchedule"}] if settings.taint else []
    return {
        "metadata": {"name": settings.name, "labels": labels},
        "spec": {"taints": taints} if taints else {},
        "status": node_status(settings, runtime, now),
    }


def node_status(settings: AgentSettings, runtime: str, now: dt.datetime) -> Obj:
    """What the machine offers. Nothing of it is enforced: processes are not confined to their requests."""
    room = {"cpu": str(os.cpu_count() or 1), "memory": f"{_memory_kib()}Ki", "pods": str(settings.pods)}
    return {
        "capacity": dict(room),
        "allocatable": dict(room),
        "conditions": _conditions(now),
        "addresses": [
            {"type": "InternalIP", "address": settings.address},
            {"type": "Hostname", "address": settings.name},
        ],
        "nodeInfo": {
            "architecture": platform.machine(),
            "bootID": Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(),
            "containerRuntimeVersion": runtime,
            "kernelVersion": platform.release(),
            "kubeProxyVersion": "",
            "kubeletVersion": f"vacate-{__version__}",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "Vacate node with local processes",
            "systemUUID": "",
        },
    }


def _conditions(now: dt.datetime) -> list[Obj]:
    at = format_time(now)
    return [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": at,
            "lastTransitionTime": at,
        }
        for type_, status, reason, message in _GOOD
    ]


def _memory_kib() -> int:
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return 1024 * 1024
