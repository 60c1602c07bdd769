"""The workloads that are moved under load, as manifests. All of them run the same server."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Obj = dict[str, Any]
APP = "web"
MOVE = "vacate.dev/move-before-eviction"
_SERVER = Path(__file__).parent / "server.py"
_PORT = 8080


@dataclass(frozen=True, slots=True)
class Pace:
    """The application starts more slowly than its old pod ends: then plain eviction cannot hide the gap."""

    start_seconds: int = 5
    pre_stop_seconds: int = 2  # endpoints lag behind a deletion; all arms have it


class Workload(enum.StrEnum):
    """What is moved."""

    SINGLE = "Deployment, 1 replica"
    BUDGET = "Deployment, 3 replicas, budget of 2"
    STATEFUL = "StatefulSet, 4 replicas, by batches of 2"

    @property
    def kind(self) -> str:
        return "statefulset" if self is Workload.STATEFUL else "deployment"

    @property
    def replicas(self) -> int:
        return {Workload.SINGLE: 1, Workload.BUDGET: 3, Workload.STATEFUL: 4}[self]


def objects(workload: Workload, image: str, pace: Pace, *, moves: bool) -> list[Obj]:
    """All that the workload needs; `moves` opts in to Vacate's interceptors."""
    labels = {"app": APP}
    annotations = {MOVE: str(moves).lower()}
    spec: Obj = {
        "replicas": workload.replicas,
        "selector": {"matchLabels": labels},
        "template": _pod(image, pace),
    }
    if workload is Workload.STATEFUL:
        annotations["vacate.dev/max-unavailable"] = "2"
        spec |= {"serviceName": APP, "podManagementPolicy": "Parallel"}
    else:
        spec["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    meta = {"name": APP, "annotations": annotations}
    kind = "StatefulSet" if workload is Workload.STATEFUL else "Deployment"
    made = [*support(), {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}]
    if workload is Workload.BUDGET:
        budget = {"minAvailable": 2, "selector": {"matchLabels": labels}}
        about = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": APP}}
        made.append({**about, "spec": budget})
    return made


def support() -> list[Obj]:
    """The server's program, and the Service."""
    ports = [{"port": 80, "targetPort": _PORT}]
    code = {"server.py": _SERVER.read_text()}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": APP}, "data": code},
        {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": APP},
            "spec": {"selector": {"app": APP}, "ports": ports},
        },
    ]  # fmt: skip


def pod_on(node: str, image: str) -> Obj:
    """A single pod on that node, with its name."""
    made = _pod(image, Pace(start_seconds=0))
    made["metadata"]["name"] = node
    made["spec"]["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", **made}


def listed(made: list[Obj]) -> Obj:
    """As one object."""
    return {"apiVersion": "v1", "kind": "List", "items": made}


def _pod(image: str, pace: Pace) -> Obj:
    own_name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    environment = {"PORT": _PORT, "START_SECONDS": pace.start_seconds}
    container = {
        "name": APP,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "/code/server.py"],
        "env": [own_name, *({"name": name, "value": str(value)} for name, value in environment.items())],
        "ports": [{"containerPort": _PORT}],
        # A machine that is busy with other work answers late; that must not look like a pod that is down.
        "readinessProbe": {"httpGet": {"path": "/", "port": _PORT}, "periodSeconds": 1, "timeoutSeconds": 10},
        "lifecycle": {"preStop": {"sleep": {"seconds": pace.pre_stop_seconds}}},
        "volumeMounts": [{"name": "code", "mountPath": "/code"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "code", "configMap": {"name": APP}}]}
    return {"metadata": {"labels": {"app": APP}}, "spec": spec}
