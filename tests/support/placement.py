"""Clusters to place pods in, and the wishes of pods, in few words."""

from __future__ import annotations

from typing import Any

from vacate.api.types import Node, Pod
from vacate.kube.scheduling.clusterview import ClusterView

NO_EXECUTE = {"key": "k", "value": "v", "effect": "NoExecute"}
NO_SCHEDULE = {"key": "k", "value": "v", "effect": "NoSchedule"}
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}


def cluster(nodes: list[Node], pods: list[Pod] | tuple[Pod, ...] = ()) -> ClusterView:
    view = ClusterView()
    for node in nodes:
        view.set_node(node)
    for pod in pods:
        view.set_pod(pod)
    return view


def port(number: int, **more: Any) -> dict[str, Any]:
    ports = [{"containerPort": 80, "hostPort": number, **more}]
    return {"containers": [{"name": "main", "ports": ports}]}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": rule}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def spread(key: str, *, skew: int = 1, **more: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def apart(which: str = "podAntiAffinity", key: str = "kubernetes.io/hostname", **more: Any) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}, **more}
    return {"affinity": {which: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
