"""Objects for tests, as dicts: a small plausible default, and any field given otherwise.

    pod("web-1", node="node-1", ready=True, labels={"app": "web"})
    pod("web-2", spec={"terminationGracePeriodSeconds": 5})      # merged into the default, deeply
    pod("web-3", metadata={"annotations": None})                 # None takes a field away

What is built is checked: a Ready pod without a node, or a budget with two bounds, is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from vacate.api.objects import Obj
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.testing.consistency import check

CREATED = "2026-01-01T00:00:00Z"
_NONE: Mapping[str, str] = {}


def pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    node: str = "",
    phase: str = "",
    ready: bool = False,
    labels: Mapping[str, str] = _NONE,
    owner: Obj | None = None,
    interceptors: Sequence[str] = (),
    stored: bool = False,
    **overrides: Any,
) -> Obj:
    """A pod of one container: as a user would send it, or with a node and a phase further on its way.

    The interceptors have their turns in this order.
    """
    obj = _object("v1", "Pod", name, namespace, labels, stored=stored or bool(phase) or ready)
    obj["spec"] = {"containers": [{"name": "main", "image": "registry.example/app:1"}]}
    if node:
        obj["spec"]["nodeName"] = node
    if owner is not None:
        obj["metadata"]["ownerReferences"] = [_owner_reference(owner)]
    phase = phase or ("Running" if ready else "")
    if phase:
        obj["status"] = {"phase": phase, "conditions": _pod_conditions(phase, ready=ready, node=node)}
    return _finish(naming_interceptors(obj, interceptors), overrides)


def naming_interceptors(pod: Obj, names: Sequence[str], dialect: Dialect = EVICTION_REQUEST) -> Obj:
    """The pod with these interceptors, in the order of their turns; a pod that names its own keeps those."""
    listed: Obj = {"evictionInterceptors": [{"name": one} for one in reversed(names)]} if names else {}
    if names and dialect is LIFECYCLE:
        turns = [{"name": one, "priority": 20_000 - place} for place, one in enumerate(names)]
        listed = {"evictionResponders": turns}
    return {**pod, "spec": {**listed, **pod["spec"]}}


def node(
    name: str = "node",
    *,
    zone: str = "zone-a",
    labels: Mapping[str, str] = _NONE,
    ready: bool = True,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: str = "110",
    **overrides: Any,
) -> Obj:
    """A node of eight cores in a zone."""
    own = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    obj = _object("v1", "Node", name, "", {**own, **labels}, stored=False)
    room = {"cpu": cpu, "memory": memory, "pods": pods}
    obj["spec"] = {}
    obj["status"] = {
        "capacity": dict(room),
        "allocatable": dict(room),
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    return _finish(obj, overrides)


def deployment(
    name: str = "web",
    *,
    namespace: str = "default",
    replicas: int = 3,
    labels: Mapping[str, str] = _NONE,
    template: Obj | None = None,
    **overrides: Any,
) -> Obj:
    """A deployment whose pods carry `app=<name>`."""
    obj = _object("apps/v1", "Deployment", name, namespace, labels or {"app": name}, stored=False)
    obj["spec"] = _replicated(name, replicas, template)
    return _finish(obj, overrides)


def replicaset(
    name: str = "web",
    *,
    namespace: str = "default",
    replicas: int = 3,
    labels: Mapping[str, str] = _NONE,
    template: Obj | None = None,
    **overrides: Any,
) -> Obj:
    """A replica set whose pods carry `app=<name>`."""
    obj = _object("apps/v1", "ReplicaSet", name, namespace, labels or {"app": name}, stored=False)
    obj["spec"] = _replicated(name, replicas, template)
    return _finish(obj, overrides)


def statefulset(
    name: str = "db",
    *,
    namespace: str = "default",
    replicas: int = 3,
    labels: Mapping[str, str] = _NONE,
    template: Obj | None = None,
    **overrides: Any,
) -> Obj:
    """A stateful set whose pods carry `app=<name>`."""
    obj = _object("apps/v1", "StatefulSet", name, namespace, labels or {"app": name}, stored=False)
    obj["spec"] = {**_replicated(name, replicas, template), "serviceName": name}
    return _finish(obj, overrides)


def daemonset(
    name: str = "logs",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] = _NONE,
    template: Obj | None = None,
    **overrides: Any,
) -> Obj:
    """A daemon set whose pods carry `app=<name>`."""
    obj = _object("apps/v1", "DaemonSet", name, namespace, labels or {"app": name}, stored=False)
    obj["spec"] = _replicated(name, 0, template)
    del obj["spec"]["replicas"]
    return _finish(obj, overrides)


def job(
    name: str = "import",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] = _NONE,
    template: Obj | None = None,
    **overrides: Any,
) -> Obj:
    """A Job of one pod that carries `app=<name>`."""
    obj = _object("batch/v1", "Job", name, namespace, labels or {"app": name}, stored=False)
    pods = merged({"spec": {"restartPolicy": "Never"}}, template or {})
    obj["spec"] = {"template": _replicated(name, 0, pods)["template"]}
    return _finish(obj, overrides)


def horizontalpodautoscaler(
    name: str = "web",
    *,
    namespace: str = "default",
    target: str = "",
    least: int = 1,
    most: int = 3,
    **overrides: Any,
) -> Obj:
    """An autoscaler of the deployment of its name, or of another one."""
    obj = _object("autoscaling/v2", "HorizontalPodAutoscaler", name, namespace, {}, stored=False)
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target or name}
    obj["spec"] = {"scaleTargetRef": ref, "minReplicas": least, "maxReplicas": most}
    return _finish(obj, overrides)


def pdb(
    name: str = "web",
    *,
    namespace: str = "default",
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    selector: Mapping[str, str] | None = None,
    **overrides: Any,
) -> Obj:
    """A budget over pods with `app=<name>`, or with the labels of the selector."""
    obj = _object("policy/v1", "PodDisruptionBudget", name, namespace, _NONE, stored=False)
    obj["spec"] = {"selector": {"matchLabels": dict(selector or {"app": name})}}
    if min_available is not None:
        obj["spec"]["minAvailable"] = min_available
    if max_unavailable is not None:
        obj["spec"]["maxUnavailable"] = max_unavailable
    return _finish(obj, overrides)


def namespace(name: str, **overrides: Any) -> Obj:
    """A namespace."""
    return _finish(_object("v1", "Namespace", name, "", _NONE, stored=False), overrides)


def merged(base: Obj, changes: Mapping[str, Any]) -> Obj:
    """The base with the changes in it, deeply; None takes a field away."""
    result = copy.deepcopy(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def _object(
    api_version: str, kind: str, name: str, namespace: str, labels: Mapping[str, str], *, stored: bool
) -> Obj:
    meta: Obj = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    if labels:
        meta["labels"] = dict(labels)
    if stored:
        meta |= {"uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": CREATED}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def _replicated(name: str, replicas: int, template: Obj | None) -> Obj:
    default = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
    }
    made = merged(default, template or {})
    return {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": made}


def _pod_conditions(phase: str, *, ready: bool, node: str) -> list[Obj]:
    conditions = [{"type": "PodScheduled", "status": "True"}] if node else []
    if phase != "Pending":
        conditions.append({"type": "Ready", "status": "True" if ready else "False"})
    return conditions


def _owner_reference(owner: Obj) -> Obj:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta.get("uid", f"uid-{meta['name']}"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _finish(obj: Obj, overrides: Mapping[str, Any]) -> Obj:
    made = merged(obj, overrides)
    check(made)
    return made
