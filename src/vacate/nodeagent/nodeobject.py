"""The Node object of this machine as it should be: labels, capacity, addresses, conditions."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Collection

from vacate import __version__
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN
from vacate.api.objects import Obj
from vacate.api.types import Node, condition
from vacate.kube.conditions import node_condition
from vacate.nodeagent.pressure.measures import memory
from vacate.nodeagent.settings import TAINT, AgentSettings
from vacate.nodeagent.shutdown.state import Marks

AGENT = "vacate.dev/agent"
"""Annotation of the Node: which folder's agent it belongs to. A second agent would run its pods twice."""
RUNTIME_LABEL = "vacate.dev/runtime"

_HEALTHY_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "no eviction threshold for memory is crossed"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "no eviction threshold for the disk is crossed"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "the agent does not measure PID pressure"),
    ("Ready", "True", "KubeletReady", "the agent is posting ready status"),
)
_BAD = {
    "MemoryPressure": ("True", "KubeletHasInsufficientMemory", "an eviction threshold for memory is crossed"),
    "DiskPressure": ("True", "KubeletHasDiskPressure", "an eviction threshold for the disk is crossed"),
}


def node_object(settings: AgentSettings, identity: str, status: Obj) -> Obj:
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
        "metadata": {"name": settings.name, "labels": labels, "annotations": {AGENT: identity}},
        "spec": {"taints": taints} if taints else {},
        "status": status,
    }


def node_status(settings: AgentSettings, runtime: str, boot: str) -> Obj:
    """What the machine offers. Nothing of it is enforced: processes are not confined to their requests."""
    kib = memory().capacity // 1024
    capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{kib}Ki", "pods": str(settings.pods)}
    return {
        "capacity": dict(capacity),
        "allocatable": dict(capacity),
        # No host name: API servers would prefer it, and the node's name need not be one that they know.
        "addresses": [{"type": "InternalIP", "address": settings.address}],
        **({"daemonEndpoints": {"kubeletEndpoint": {"Port": settings.port}}} if settings.port else {}),
        "nodeInfo": {
            "architecture": platform.machine(),
            "bootID": boot,
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


def shows(node: Node, wanted: Obj) -> bool:
    """Whether the Node shows the condition; of one that is not ready, and of shutdowns, also why."""
    found = condition(node.status.conditions, wanted["type"])
    if found is None or found.status != wanted["status"]:
        return False
    explained = wanted["type"] == GRACEFUL_SHUTDOWN or (wanted["type"], found.status) == ("Ready", "False")
    return not explained or found.message == wanted["message"]


def node_conditions(
    now: dt.datetime, *, not_ready: str, pressures: Collection[str], marks: Marks | None = None
) -> list[Obj]:
    """The conditions of a node: not ready for that reason, if there is one, and under such pressures."""
    bad = ("Ready", "False", "KubeletNotReady", not_ready)
    wanted = [*_HEALTHY_CONDITIONS[:-1], bad] if not_ready else list(_HEALTHY_CONDITIONS)
    wanted = [(one[0], *_BAD[one[0]]) if one[0] in pressures else one for one in wanted]
    if marks is not None:
        wanted.append((GRACEFUL_SHUTDOWN, str(marks.orderly), marks.reason, marks.message))
    return [node_condition(one[0], one[1:], now) for one in wanted]
