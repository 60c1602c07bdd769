"""PURE. A simulated node as an API object: its size, its labels, and what it says of itself."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from vacate.api.objects import Obj
from vacate.embedded.release import KUBERNETES
from vacate.kube.conditions import node_condition

_PODS = ipaddress.IPv4Address("10.0.0.0")
_HOSTS = ipaddress.IPv4Address("172.16.0.2")
ADDRESSES_PER_NODE = 1024


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What a node is like. The index gives it addresses of its own within the cluster."""

    name: str
    index: int = 0
    zone: str = ""
    region: str = ""
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def host_address(self) -> str:
        """The node's own address."""
        return str(_HOSTS + self.index)

    def pod_address(self, number: int) -> str:
        """The address of the pod in that place, counted from 0."""
        return str(_PODS + self.index * ADDRESSES_PER_NODE + 1 + number)


def shapes(count: int, *, zones: int = 3, prefix: str = "node") -> list[NodeShape]:
    """So many nodes of the default size, `node-1` and on, spread over zones."""
    return [
        NodeShape(name=f"{prefix}-{n + 1}", index=n, zone=f"zone-{'abcdefghijklmnopqrstuvwxyz'[n % zones]}")
        for n in range(count)
    ]


def node_object(shape: NodeShape, now: dt.datetime, booted: dt.datetime | None = None) -> Obj:
    """The Node as it registers itself."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": shape.name, "labels": node_labels(shape)},
        "spec": {},
        "status": node_status(shape, now, booted),
    }


def node_labels(shape: NodeShape) -> dict[str, str]:
    """The labels that every node has, then those of this one."""
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": shape.name,
        "kubernetes.io/os": "linux",
    }
    if shape.zone:
        labels["topology.kubernetes.io/zone"] = shape.zone
    if shape.region:
        labels["topology.kubernetes.io/region"] = shape.region
    return {**labels, **shape.labels}


def boot_id(shape: NodeShape, booted: dt.datetime | None) -> str:
    """Another one after each start of the machine."""
    started = 0 if booted is None else int(booted.timestamp() * 1000)
    return f"{started:016x}{shape.index:016x}"


def node_status(shape: NodeShape, now: dt.datetime, booted: dt.datetime | None = None) -> Obj:
    """Capacity, addresses, software and four good conditions."""
    room = {
        "cpu": shape.cpu,
        "ephemeral-storage": "100Gi",
        "memory": shape.memory,
        "pods": str(shape.pods),
    }
    return {
        "capacity": dict(room),
        "allocatable": dict(room),
        "conditions": node_conditions(now),
        "addresses": [
            {"type": "InternalIP", "address": shape.host_address},
            {"type": "Hostname", "address": shape.name},
        ],
        "nodeInfo": _node_info(shape, booted),
    }


_HEALTHY_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
GOOD_CONDITIONS: Mapping[str, str] = {type_: status for type_, status, _, _ in _HEALTHY_CONDITIONS}
"""What a healthy node says of itself."""


def node_conditions(now: dt.datetime) -> list[Obj]:
    """All is well since now."""
    return [node_condition(one[0], one[1:], now) for one in _HEALTHY_CONDITIONS]


def _node_info(shape: NodeShape, booted: dt.datetime | None) -> Obj:
    identity = f"{shape.index:032x}"
    return {
        "architecture": "amd64",
        "bootID": boot_id(shape, booted),
        "containerRuntimeVersion": "vacate-sim://1",
        "kernelVersion": "6.1.0",
        "kubeProxyVersion": "",
        "kubeletVersion": KUBERNETES,
        "machineID": identity,
        "operatingSystem": "linux",
        "osImage": "Vacate simulated node",
        "systemUUID": identity,
    }
