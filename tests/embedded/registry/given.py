"""Valid objects of every kind, and small hands to change them and walk them through a strategy."""

from __future__ import annotations

import copy
import datetime as dt
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from vacate.admission.context import Context
from vacate.admission.pipeline import settle_version
from vacate.api import kinds
from vacate.api.identity import StatusAuthority, User
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.embedded import schema
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.registry.strategies import strategy_for
from vacate.features import FeatureGates

GONE = object()
"""As a value in a change: take the field away."""
Changes = Mapping[str, Any]
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")
NOW = dt.datetime(2026, 8, 20, 12, 0, tzinfo=dt.UTC)

CLASSES: dict[str, Obj] = {
    "high": {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
    "low": {"metadata": {"name": "low"}, "value": 7, "preemptionPolicy": "PreemptLowerPriority"},
}
PLACES: dict[str, Obj] = {
    "east-1": {
        "metadata": {"name": "east-1", "labels": {"topology.kubernetes.io/zone": "east", "disk": "ssd"}}
    }
}
POD_UID = "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"
RUNNING: dict[str, Obj] = {
    "web": {
        "metadata": {"name": "web", "namespace": "shop", "uid": POD_UID, "labels": {"app": "web"}},
        "spec": {"evictionInterceptors": [{"name": "second.example.com"}, {"name": "first.example.com"}]},
        "status": {"phase": "Running"},
    }
}
TEMPLATE: Obj = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
VALID: dict[Kind, Obj] = {
    kinds.NAMESPACES: {"metadata": {"name": "shop"}},
    kinds.NODES: {"metadata": {"name": "node-1"}, "spec": {}, "status": {"capacity": {"cpu": "4"}}},
    kinds.PODS: {"metadata": {"name": "web", "namespace": "shop"}, "spec": TEMPLATE["spec"]},
    kinds.EVENTS: {
        "metadata": {"name": "web.1", "namespace": "shop"},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web"},
    },
    kinds.CONFIGMAPS: {"metadata": {"name": "conf", "namespace": "shop"}, "data": {"a": "1"}},
    kinds.SECRETS: {"metadata": {"name": "door", "namespace": "shop"}, "data": {"a": "MQ=="}},
    kinds.SERVICEACCOUNTS: {"metadata": {"name": "robot", "namespace": "shop"}},
    kinds.PERSISTENTVOLUMES: {
        "metadata": {"name": "disk-1"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "10.0.0.9", "path": "/export"},
        },
    },
    kinds.PERSISTENTVOLUMECLAIMS: {
        "metadata": {"name": "data", "namespace": "shop"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
    kinds.STORAGECLASSES: {"metadata": {"name": "shared"}, "provisioner": "kubernetes.io/no-provisioner"},
    kinds.DEPLOYMENTS: {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    },
    kinds.REPLICASETS: {
        "metadata": {"name": "web-1", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    },
    kinds.STATEFULSETS: {
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    },
    kinds.DAEMONSETS: {
        "metadata": {"name": "logs", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    },
    kinds.CONTROLLERREVISIONS: {
        "metadata": {"name": "db-1", "namespace": "shop"},
        "revision": 1,
        "data": {"spec": {}},
    },
    kinds.JOBS: {
        # The UID is the server's, and part of selector and labels.
        "metadata": {"name": "import", "namespace": "shop", "uid": "u-1"},
        "spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
    },
    kinds.CRONJOBS: {
        "metadata": {"name": "nightly", "namespace": "shop"},
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {
                "spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "OnFailure"}}}
            },
        },
    },
    kinds.PODTEMPLATES: {"metadata": {"name": "bmc", "namespace": "shop"}, "template": TEMPLATE},
    kinds.HORIZONTALPODAUTOSCALERS: {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    },
    kinds.PODDISRUPTIONBUDGETS: {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    },
    kinds.LEASES: {"metadata": {"name": "lock", "namespace": "shop"}, "spec": {"leaseDurationSeconds": 40}},
    kinds.PRIORITYCLASSES: {"metadata": {"name": "urgent"}, "value": 100},
    kinds.ROLES: {
        "metadata": {"name": "reader", "namespace": "shop"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    },
    kinds.ROLEBINDINGS: {
        "metadata": {"name": "readers", "namespace": "shop"},
        "roleRef": {"kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "name": "ann"}],
    },
    kinds.CLUSTERROLES: {
        "metadata": {"name": "reader"},
        "rules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
    },
    kinds.CLUSTERROLEBINDINGS: {
        "metadata": {"name": "readers"},
        "roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "shop"}],
    },
    kinds.VALIDATINGADMISSIONPOLICIES: {
        "metadata": {"name": "company"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [{"expression": "has(object.metadata.labels)"}],
        },
    },
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS: {
        "metadata": {"name": "company"},
        "spec": {"policyName": "company", "validationActions": ["Deny"]},
    },
    kinds.DESCHEDULINGPOLICIES: {"metadata": {"name": "tidy"}, "spec": {"rules": ["NodeTaints"]}},
    kinds.NODEMAINTENANCES: {"metadata": {"name": "kernel"}, "spec": {"nodes": ["node-1"]}},
    kinds.FENCINGPOLICIES: {
        "metadata": {"name": "rack"},
        "spec": {"agent": {"command": {"program": "fence_redfish", "options": {"ip": "10.0.0.7"}}}},
    },
    kinds.EVACUATIONS: {
        "metadata": {"name": f"{POD_UID}-web", "namespace": "shop"},
        "spec": {"podRef": {"name": "web", "uid": POD_UID}, "progressDeadlineSeconds": 1800},
    },
    kinds.LIFECYCLE_REQUESTS: {
        "metadata": {"name": "drain-web", "namespace": "shop"},
        "spec": {
            "target": {"pod": {"name": "web", "uid": POD_UID}},
            "requester": "acme.io/drain",
            "intent": "Eviction",
        },
    },
    kinds.LIFECYCLE_EVICTIONS: {
        "metadata": {"name": "pod-1-web", "namespace": "shop"},
        "spec": {"target": {"pod": {"name": "web", "uid": POD_UID}}},
    },
    kinds.EVICTIONREQUESTS: {
        "metadata": {"name": POD_UID, "namespace": "shop"},
        "spec": {
            "target": {"podRef": {"name": "web", "uid": POD_UID}},
            "requesters": [{"name": "drain.example.com"}],
        },
    },
}
STORED_KINDS = tuple(kind for kind in SERVED_KINDS if kind.stored)


_WORLD = {kinds.NODES: PLACES, kinds.PRIORITYCLASSES: CLASSES, kinds.PODS: RUNNING}


def context(subresource: str = "", *, gates: str = "", **more: Any) -> Context:
    """A context in which the classes, the node and the pod above exist, and everything is allowed.

    The user is the eviction request controller unless `authority` says otherwise.
    """
    overrides = tuple((name, False) for name in gates.split(",") if name)
    more = {"may": lambda _: True, **more}
    more.setdefault("authority", StatusAuthority(("ann",)))
    return Context(User("ann"), NOW, FeatureGates(overrides), looked_up, subresource, **more)


def looked_up(kind: Kind, _namespace: str, name: str) -> Obj | None:
    """One of the objects above."""
    return _WORLD.get(kind, {}).get(name)


def a(kind: Kind, changes: Changes | None = None) -> Obj:
    """A valid object as its author writes it, with these changes."""
    return changed(copy.deepcopy(VALID[kind]), changes or {})


def changed(obj: Obj, changes: Changes) -> Obj:
    """The object, changed in place at paths such as `spec.containers[0].image` or `data[a.b]`."""
    for path, value in changes.items():
        put(obj, path, value)
    return obj


def put(obj: Obj, path: str, value: Any) -> None:
    """Set or take away what stands at the path, making what leads there."""
    steps = [_step(found) for found in _STEP.finditer(path)]
    at: Any = obj
    for here, following in pairwise(steps):
        at = _enter(at, here, [] if isinstance(following, int) else {})
    last = steps[-1]
    if value is GONE:
        del at[last]
    elif isinstance(last, int) and last == len(_list(at)):
        at.append(copy.deepcopy(value))
    else:
        at[last] = copy.deepcopy(value)


def found(obj: Any, path: str) -> Any:
    """What stands at the path, or None."""
    for match in _STEP.finditer(path):
        step = _step(match)
        try:
            obj = obj[step]
        except (KeyError, IndexError):
            return None
    return obj


def made(kind: Kind, changes: Changes | None = None, ctx: Context | None = None) -> Obj:
    """An object after defaults and preparation, as the server would go on to validate it."""
    ctx = ctx or context()
    obj, strategy = a(kind, changes), strategy_for(kind)
    schema.settle(kind, obj)
    strategy.default(obj, ctx)
    schema.complete(kind, obj)
    strategy.prepare_create(obj, ctx)
    schema.complete(kind, obj)
    return obj


def errors_of(kind: Kind, changes: Changes | None = None, ctx: Context | None = None) -> list[str]:
    """The errors of a new object, as text."""
    ctx = ctx or context()
    return [str(field_error) for field_error in strategy_for(kind).validate(made(kind, changes, ctx), ctx)]


def stored(kind: Kind, changes: Changes | None = None) -> Obj:
    """An object as the store has it."""
    obj = made(kind, changes)
    identity = {"uid": "u-1", "resourceVersion": "7", "creationTimestamp": "2026-08-20T11:00:00Z"}
    obj["metadata"].update(identity)
    return obj


def stepped(
    kind: Kind, step: Changes, before: Changes | None = None, ctx: Context | None = None
) -> tuple[Obj, Obj, list[str]]:
    """The new and the old object of an update, and its errors. `before` changes the old one as stored."""
    ctx = ctx or context()
    old, strategy = changed(stored(kind), before or {}), strategy_for(kind)
    new = changed(copy.deepcopy(old), step)
    schema.settle(kind, new)
    settle_version(strategy, new, old)
    strategy.default(new, ctx)
    schema.complete(kind, new)
    strategy.prepare_update(new, old, ctx)
    schema.complete(kind, new)
    return new, old, [str(field_error) for field_error in strategy.validate_update(new, old, ctx)]


def _step(match: re.Match[str]) -> str | int:
    if match[2] is not None:
        return int(match[2])
    return match[1] or match[3]


def _enter(at: Any, step: str | int, empty: Any) -> Any:
    if isinstance(step, int):
        if step == len(_list(at)):
            at.append(empty)
        return at[step]
    return at.setdefault(step, empty)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value
