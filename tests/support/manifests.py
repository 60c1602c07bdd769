"""Manifests as users write them: the shortest that the API takes."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def config_map(name: str, data: dict[str, str], **metadata: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "image": "main:1"}], **spec},
    }


def deployment(name: str, replicas: int = 1, *, image: str = "web:1", **pod_spec: Any) -> Obj:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": image}], **pod_spec},
            },
        },
    }


def statefulset(name: str, replicas: int = 1) -> Obj:
    made = deployment(name, replicas)
    made["kind"] = "StatefulSet"
    made["spec"]["template"]["spec"] = {"containers": [{"name": name, "image": f"{name}:1"}]}
    return made


def daemonset(name: str) -> Obj:
    made = statefulset(name)
    made["kind"] = "DaemonSet"
    del made["spec"]["replicas"]
    return made


def budget(name: str, **spec: Any) -> Obj:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


def on_node(node: str) -> Obj:
    """What a pod's spec says to run on that node alone."""
    return {"nodeSelector": {"kubernetes.io/hostname": node}}
