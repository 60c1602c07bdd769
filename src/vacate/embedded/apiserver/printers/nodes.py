"""Nodes."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer, wide
from vacate.api.objects import Obj, dig, name_of

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _cells(obj: Obj, now: dt.datetime) -> list[Any]:
    info = dig(obj, "status", "nodeInfo") or {}
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(obj),
        status_of(obj),
        ",".join(roles_of(obj)) or "<none>",
        age(obj, now),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def status_of(node: Obj) -> str:
    """`Ready`, `NotReady` or `Unknown`, and whether new pods are kept away."""
    # Where a type stands twice, the later condition counts.
    ready = {one.get("type"): one.get("status") for one in dig(node, "status", "conditions") or ()}
    words = ["Unknown"]
    if "Ready" in ready:
        words = ["Ready" if ready["Ready"] == "True" else "NotReady"]
    if dig(node, "spec", "unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def roles_of(node: Obj) -> list[str]:
    """Roles by either of the two labels that name them, each once, sorted."""
    labels = dig(node, "metadata", "labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE, ""))
    return sorted(roles - {""})


def _address(node: Obj, kind: str) -> str:
    addresses = dig(node, "status", "addresses") or ()
    return next((one.get("address", "") for one in addresses if one.get("type") == kind), "<none>")


NODES = Printer(
    (
        NAME,
        Column("Status", "Whether the node is ready, and whether it takes new pods."),
        Column("Roles", "The roles that the node's labels name."),
        AGE,
        Column("Version", "The version of the node's kubelet."),
        wide("Internal-IP", "The node's address within the cluster."),
        wide("External-IP", "The node's address outside the cluster."),
        wide("OS-Image", "The operating system that the node runs."),
        wide("Kernel-Version", "The node's kernel and architecture."),
        wide("Container-Runtime", "The container runtime and its version."),
    ),
    _cells,
)
