"""The namespaces and priority classes that every cluster has."""

from __future__ import annotations

from vacate.api.kinds import NAMESPACES, PRIORITYCLASSES
from vacate.api.objects import Obj

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
_SYSTEM_CRITICAL = 2_000_000_000
_NODE_CRITICAL = "Used for system critical pods that must not be moved from their current node."
_CLUSTER_CRITICAL = (
    "Used for system critical pods that must run in the cluster, "
    "but can be moved to another node if necessary."
)


def namespaces() -> list[Obj]:
    """The namespaces, as a client would create them."""
    return [
        {"kind": NAMESPACES.kind, "apiVersion": NAMESPACES.api_version, "metadata": {"name": name}}
        for name in SYSTEM_NAMESPACES
    ]


def priority_classes() -> list[Obj]:
    """The two priorities above all that users can define."""
    return [
        _priority("system-node-critical", _SYSTEM_CRITICAL + 1000, _NODE_CRITICAL),
        _priority("system-cluster-critical", _SYSTEM_CRITICAL, _CLUSTER_CRITICAL),
    ]


def _priority(name: str, value: int, description: str) -> Obj:
    return {
        "kind": PRIORITYCLASSES.kind,
        "apiVersion": PRIORITYCLASSES.api_version,
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }
