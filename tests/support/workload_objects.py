"""Pods, nodes and replica sets for tables: projections read from the JSON that the wire would have."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.types import Deployment, Node, ObjectMeta, Pod, ReplicaSet

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)


def ago(**parts: float) -> str:
    """That long before NOW, as the API writes it."""
    return (NOW - dt.timedelta(**parts)).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_node(name: str = "n1", /, *, zone: str = "", taints: Any = (), **spec: Any) -> Node:
    """A roomy node, unless `cpu`, `memory` or `pods` say otherwise."""
    labels = {"kubernetes.io/hostname": name, **spec.pop("labels", {})}
    if zone:
        labels["topology.kubernetes.io/zone"] = zone
    room = {
        key: spec.pop(key, default) for key, default in (("cpu", "4"), ("memory", "8Gi"), ("pods", "110"))
    }
    return msgspec.convert(
        {
            "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
            "spec": {"taints": list(taints), **spec},
            "status": {"allocatable": room},
        },
        Node,
    )


def make_pod(name: str = "p1", /, **parts: Any) -> Pod:
    """A pod of one container; `cpu`, `memory`, `node`, `owner`, `phase`, `ready` and raw `spec` on top."""
    requests = {key: parts.pop(key) for key in ("cpu", "memory") if key in parts}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": parts.pop("namespace", "default"),
        "uid": parts.pop("uid", f"uid-{name}"),
        "labels": parts.pop("labels", {}),
        "annotations": parts.pop("annotations", {}),
    }
    owner = parts.pop("owner", "")
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        ]
    for key in ("creationTimestamp", "deletionTimestamp"):
        if key in parts:
            metadata[key] = parts.pop(key)
    spec = {
        "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
        "nodeName": parts.pop("node", ""),
        **parts.pop("spec", {}),
    }
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": _pod_status(parts)}, Pod)


def _pod_status(parts: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": parts.pop("phase", "Pending")}
    ready = parts.pop("ready", None)
    if ready:
        since = ready if isinstance(ready, str) else ago(hours=1)
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
        status["phase"] = "Running"
    if "restarts" in parts:
        status["containerStatuses"] = [{"name": "main", "restartCount": parts.pop("restarts")}]
    assert not parts, f"unknown: {parts}"
    return status


def make_replica_set(name: str = "web", /, *, replicas: int = 3, **parts: Any) -> ReplicaSet:
    """A replica set of pods labelled app=name."""
    return msgspec.convert(_workload(name, replicas, parts), ReplicaSet)


def make_deployment(name: str = "web", /, *, replicas: int = 3, **parts: Any) -> Deployment:
    """A deployment of pods labelled app=name."""
    return msgspec.convert(_workload(name, replicas, parts), Deployment)


def _workload(name: str, replicas: int, parts: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": name}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "generation": 1,
        **parts.pop("metadata", {}),
    }
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        },
        **parts.pop("spec", {}),
    }
    status = parts.pop("status", {})
    assert not parts, f"unknown: {parts}"
    return {"metadata": metadata, "spec": spec, "status": status}


def metadata_of(obj: Any) -> ObjectMeta:
    """The metadata, typed."""
    found: ObjectMeta = obj.metadata
    return found
