"""Objects for conformance cases: the least that a real server takes."""

from __future__ import annotations

from typing import Any

from support.arms.arm import Obj

LABELS = {"app": "web"}
UNSCHEDULED = "nobody"
"""A scheduler that does not exist, so that no real one moves the pod."""


def named(name: str, **fields: Any) -> Obj:
    """An object of this name; `labels` and other metadata by `meta`."""
    meta = {"name": name, **fields.pop("meta", {})}
    return {"metadata": meta, **fields}


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Obj:
    meta: Obj = {"labels": labels} if labels else {}
    return named(name, meta=meta, data=data)


def pod(name: str, *, node: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Obj:
    """A pod that no scheduler will touch."""
    whole: Obj = {"containers": [{"name": "c", "image": "i"}], "schedulerName": UNSCHEDULED, **spec}
    if node:
        whole["nodeName"] = node
    return named(name, meta={"labels": LABELS if labels is None else labels}, spec=whole)


def template(labels: dict[str, str] | None = None) -> Obj:
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": UNSCHEDULED}
    return {"metadata": {"labels": LABELS if labels is None else labels}, "spec": spec}


def workload(name: str, replicas: int = 1) -> Obj:
    """A Deployment, a ReplicaSet or a StatefulSet."""
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template()}
    return named(name, spec=spec)


def daemon_set(name: str) -> Obj:
    return named(name, spec={"selector": {"matchLabels": LABELS}, "template": template()})


def job(name: str, **spec: Any) -> Obj:
    made = template()
    made["spec"]["restartPolicy"] = "Never"
    return named(name, spec={"template": made, **spec})


def cron_job(name: str, **spec: Any) -> Obj:
    """One that never runs by itself."""
    inner = {"spec": {"template": job(name)["spec"]["template"]}}
    return named(name, spec={"schedule": "0 3 * * *", "suspend": True, "jobTemplate": inner, **spec})


def pod_template(name: str) -> Obj:
    return named(name, template=template())


def autoscaler(name: str, **spec: Any) -> Obj:
    """One of a Deployment of that name."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return named(name, spec={"scaleTargetRef": target, "maxReplicas": 3, **spec})


def budget(name: str, **spec: Any) -> Obj:
    bound = {} if {"minAvailable", "maxUnavailable"} & spec.keys() else {"minAvailable": 1}
    return named(name, spec={"selector": {"matchLabels": LABELS}, **bound, **spec})


def role(name: str, *rules: Obj) -> Obj:
    return named(name, rules=list(rules))


def rule(verbs: str, resources: str, groups: str = "", **more: Any) -> Obj:
    """A rule from words: `rule("get list", "pods pods/status")`."""
    return {"apiGroups": groups.split(" "), "resources": resources.split(), "verbs": verbs.split(), **more}


def binding(name: str, role_kind: str, role_name: str, *users: str) -> Obj:
    group = "rbac.authorization.k8s.io"
    subjects = [{"kind": "User", "apiGroup": group, "name": user} for user in users]
    return named(name, subjects=subjects, roleRef={"apiGroup": group, "kind": role_kind, "name": role_name})


def condition(type_: str, status: str = "True", **more: Any) -> Obj:
    return {"type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z", **more}
