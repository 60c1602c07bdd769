"""Nodes and pods for decisions about descheduling."""

from __future__ import annotations

from typing import Any

import msgspec

from vacate.api.types import Node, Pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}


def node(
    name: str, *, zone: str = "", cpu: str = "4", labels: dict[str, str] | None = None, **spec: Any
) -> Node:
    """A node with four CPUs."""
    own = {"kubernetes.io/hostname": name, **({"topology.kubernetes.io/zone": zone} if zone else {})}
    body = {
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }
    return msgspec.convert(body, Node)


def pod(
    name: str,
    on: str,
    *,
    namespace: str = "shop",
    cpu: str = "100m",
    owner: dict[str, Any] | None = OWNER,
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A running pod of a ReplicaSet, with the label app=web."""
    resources = {"requests": {"cpu": cpu}}
    body = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}-{name}",
            "labels": {"app": "web"},
            "ownerReferences": [owner] if owner else [],
            **(meta or {}),
        },
        "spec": {
            "nodeName": on,
            "containers": [{"name": "main", "image": "app:1", "resources": resources}],
            **spec,
        },
        "status": {"phase": "Running"},
    }
    return msgspec.convert(body, Pod)


def taint(key: str = "gpu", effect: str = "NoSchedule", value: str = "") -> dict[str, str]:
    """A taint."""
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def spread(max_skew: int = 1, key: str = "topology.kubernetes.io/zone", **more: Any) -> list[dict[str, Any]]:
    """A topology spread constraint over pods with app=web."""
    selector = {"matchLabels": {"app": "web"}}
    hard = {"whenUnsatisfiable": "DoNotSchedule"}
    return [{"maxSkew": max_skew, "topologyKey": key, **hard, "labelSelector": selector, **more}]
