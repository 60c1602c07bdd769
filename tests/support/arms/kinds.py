"""One minimal valid object for every stored kind: what the table of kinds is walked with."""

from __future__ import annotations

from collections.abc import Callable

from support.arms import objects as make
from support.arms.arm import Obj
from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.embedded.registry.kinds import SERVED_KINDS


def _event(name: str) -> Obj:
    """An event may only be about something in its own namespace; the caller's is filled in."""
    return make.named(name, involvedObject={"kind": "Pod", "name": "p"}, reason="Test", type="Normal")


def _lease(name: str) -> Obj:
    return make.named(name, spec={"holderIdentity": "me", "leaseDurationSeconds": 15})


def _controller_revision(name: str) -> Obj:
    return make.named(name, revision=1, data={"spec": {}})


def _priority_class(name: str) -> Obj:
    return make.named(name, value=1000)


def _role(name: str) -> Obj:
    return make.role(name, make.rule("get", "pods"))


def _role_binding(name: str) -> Obj:
    return make.binding(name, "Role", "nobodys", "somebody")


def _cluster_role_binding(name: str) -> Obj:
    return make.binding(name, "ClusterRole", "view-nothing-at-all", "somebody")


def _volume(name: str) -> Obj:
    source = {"server": "10.0.0.9", "path": "/export"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": source}
    # A class that no claim asks for: nothing is ever bound to it.
    return make.named(name, spec={**spec, "storageClassName": "of-nobody"})


def _claim(name: str) -> Obj:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": "that-is-not-there"}
    return make.named(name, spec=spec)


def _storage_class(name: str) -> Obj:
    return make.named(name, provisioner="kubernetes.io/no-provisioner")


def _policy(name: str) -> Obj:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"]}
    constraints = {"resourceRules": [rule]}
    return make.named(name, spec={"matchConstraints": constraints, "validations": [{"expression": "true"}]})


def _policy_binding(name: str) -> Obj:
    return make.named(name, spec={"policyName": "that-is-not-there", "validationActions": ["Deny"]})


MINIMAL: dict[Kind, Callable[[str], Obj]] = {
    kinds.NAMESPACES: make.named,
    kinds.NODES: make.named,
    kinds.PODS: make.pod,
    kinds.EVENTS: _event,
    kinds.CONFIGMAPS: make.config_map,
    kinds.SECRETS: make.named,
    kinds.SERVICEACCOUNTS: make.named,
    kinds.PERSISTENTVOLUMES: _volume,
    kinds.PERSISTENTVOLUMECLAIMS: _claim,
    kinds.STORAGECLASSES: _storage_class,
    kinds.DEPLOYMENTS: make.workload,
    kinds.REPLICASETS: make.workload,
    kinds.STATEFULSETS: make.workload,
    kinds.DAEMONSETS: make.daemon_set,
    kinds.CONTROLLERREVISIONS: _controller_revision,
    kinds.JOBS: make.job,
    kinds.CRONJOBS: make.cron_job,
    kinds.PODTEMPLATES: make.pod_template,
    kinds.HORIZONTALPODAUTOSCALERS: make.autoscaler,
    kinds.PODDISRUPTIONBUDGETS: make.budget,
    kinds.LEASES: _lease,
    kinds.PRIORITYCLASSES: _priority_class,
    kinds.ROLES: _role,
    kinds.ROLEBINDINGS: _role_binding,
    kinds.CLUSTERROLES: _role,
    kinds.CLUSTERROLEBINDINGS: _cluster_role_binding,
    kinds.VALIDATINGADMISSIONPOLICIES: _policy,
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS: _policy_binding,
}
"""By kind: an object of a given name."""

STORED = tuple(MINIMAL)
PROTECTED = (kinds.PERSISTENTVOLUMES, kinds.PERSISTENTVOLUMECLAIMS)
"""Created with a finalizer that a controller takes away, so that deletion has two steps."""

STOCK = tuple(kind for kind in SERVED_KINDS if not kind.custom and not kind.gate)
"""The kinds that every Kubernetes has; kinds of our own, and those behind gates, have cases of their own."""


def minimal(kind: Kind, name: str, namespace: str) -> Obj:
    """A valid object for the namespace, with labels by which it can be found again."""
    obj = MINIMAL[kind](name)
    if kind is kinds.EVENTS:
        obj["involvedObject"]["namespace"] = namespace
    obj["metadata"]["labels"] = {**obj["metadata"].get("labels", {}), "of": namespace}
    return obj
