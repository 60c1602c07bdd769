"""Nodes."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj, dig
from vacate.embedded.apiserver.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Column,
    Printer,
    Read,
    field,
    wide,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _info(key: str, default: str = UNKNOWN) -> Read:
    return field("status", "nodeInfo", key, default=default)


def _kernel(obj: Obj, _: dt.datetime) -> str:
    info = dig(obj, "status", "nodeInfo") or {}
    kernel = str(info.get("kernelVersion") or UNKNOWN)
    return f"{kernel} ({info['architecture']})" if info.get("architecture") else kernel


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


def _address(kind: str) -> Read:
    def found(node: Obj, _: dt.datetime) -> str:
        addresses = dig(node, "status", "addresses") or ()
        return next((one.get("address", "") for one in addresses if one.get("type") == kind), NONE)

    return found


NODES = Printer(
    NAME,
    Column(
        "Status", "Whether the node is ready, and whether it takes new pods.",
        lambda obj, _: status_of(obj),
    ),
    Column("Roles", "The roles that the node's labels name.", lambda obj, _: ",".join(roles_of(obj)) or NONE),
    AGE,
    Column("Version", "The version of the node's kubelet.", _info("kubeletVersion", "")),
    wide("Internal-IP", "The node's address within the cluster.", _address("InternalIP")),
    wide("External-IP", "The node's address outside the cluster.", _address("ExternalIP")),
    wide("OS-Image", "The operating system that the node runs.", _info("osImage")),
    wide("Kernel-Version", "The node's kernel and architecture.", _kernel),
    wide("Container-Runtime", "The container runtime and its version.", _info("containerRuntimeVersion")),
)  # fmt: skip
