"""The default roles of the cluster's own components: nodes, scheduler, controller manager."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.api.policyrules import CORE, READ, Rule, rule
from vacate.embedded.bootstrap.rules import EVENTS, READ_WRITE, cluster_role

_LEASES = "coordination.k8s.io"
_LOCK = "create get list update watch"

_TOKEN_REVIEW = rule("create", "authentication.k8s.io", "tokenreviews")
_ACCESS_REVIEW = rule("create", "authorization.k8s.io", "subjectaccessreviews")

_NODE = (
    _TOKEN_REVIEW,
    rule("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
    rule(READ, CORE, "services"),
    rule("create get list watch", CORE, "nodes"),
    rule("patch update", CORE, "nodes/status"),
    rule("patch update", CORE, "nodes"),
    EVENTS,
    rule(READ, CORE, "pods"),
    rule("create delete", CORE, "pods"),
    rule("patch update", CORE, "pods/status"),
    rule("create", CORE, "pods/eviction"),
    rule(READ, CORE, "configmaps secrets"),
    rule("get", CORE, "persistentvolumeclaims persistentvolumes"),
    rule("get", CORE, "endpoints"),
    rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    rule("create delete get patch update", _LEASES, "leases"),
    rule("get", "storage.k8s.io", "volumeattachments"),
    rule("create", CORE, "serviceaccounts/token"),
    rule("get patch update", CORE, "persistentvolumeclaims/status"),
    rule(READ, "storage.k8s.io", "csidrivers"),
    rule("create delete get patch update", "storage.k8s.io", "csinodes"),
    rule(READ, "node.k8s.io", "runtimeclasses"),
    rule("get", "resource.k8s.io", "resourceclaims"),
    rule("deletecollection", "resource.k8s.io", "resourceslices"),
    rule("get", CORE, "serviceaccounts"),
)

_SCHEDULER = (
    EVENTS,
    rule("create", _LEASES, "leases"),
    rule("get list update watch", _LEASES, "leases", "kube-scheduler"),
    rule(READ_WRITE, _LEASES, "leasecandidates"),
    rule(READ, CORE, "nodes"),
    rule("delete get list watch", CORE, "pods"),
    rule("create", CORE, "bindings pods/binding"),
    rule("patch update", CORE, "pods/status"),
    rule(READ, CORE, "replicationcontrollers services"),
    rule(READ, ("apps", "extensions"), "replicasets"),
    rule(READ, "apps", "statefulsets"),
    rule(READ, "policy", "poddisruptionbudgets"),
    rule(READ, CORE, "persistentvolumeclaims persistentvolumes"),
    _TOKEN_REVIEW,
    _ACCESS_REVIEW,
    rule(READ, "storage.k8s.io", "csinodes"),
    rule(READ, "storage.k8s.io", "volumeattachments"),
    rule(READ, CORE, "namespaces"),
    rule(READ, "storage.k8s.io", "csidrivers"),
    rule(READ, "storage.k8s.io", "csistoragecapacities"),
    rule(READ, "resource.k8s.io", "deviceclasses"),
    rule("get list patch update watch", "resource.k8s.io", "resourceclaims"),
    rule("get list patch update watch", "resource.k8s.io", "resourceclaims/status"),
    rule("update", CORE, "pods/finalizers"),
    rule(READ, "resource.k8s.io", "resourceslices"),
    rule("create delete", "resource.k8s.io", "resourceclaims"),
    rule("patch update", "resource.k8s.io", "resourceclaims/binding"),
)

_CONTROLLER_MANAGER = (
    EVENTS,
    rule("create", _LEASES, "leases"),
    rule("get update", _LEASES, "leases", "kube-controller-manager"),
    rule("create", CORE, "secrets serviceaccounts"),
    rule("delete", CORE, "secrets"),
    rule("get", CORE, "configmaps namespaces secrets serviceaccounts"),
    rule("update", CORE, "secrets serviceaccounts"),
    _TOKEN_REVIEW,
    _ACCESS_REVIEW,
    rule("list watch", "*", "*"),
    rule("create", CORE, "serviceaccounts/token"),
)

EXCLUSIVE_VOLUMES = "vacate:node-volumes"
"""What nodes may read beyond their role in Kubernetes: whether a class marks its volumes as exclusive."""

LEADER_LOCK: tuple[Rule, ...] = (
    rule(_LOCK, _LEASES, "leases"),
    rule(_LOCK, _LEASES, "leasecandidates"),
)
"""What a component that elects a leader may do to leases in `kube-system`."""

LEASE_LOCK = rule("create get patch", _LEASES, "leases")
"""The same for components of ours, which write patches."""


def component_roles() -> list[Obj]:
    """The roles of components."""
    return [
        cluster_role("system:node", *_NODE),
        cluster_role("system:auth-delegator", _TOKEN_REVIEW, _ACCESS_REVIEW),
        cluster_role("system:kube-controller-manager", *_CONTROLLER_MANAGER),
        cluster_role("system:kube-scheduler", *_SCHEDULER),
        cluster_role(EXCLUSIVE_VOLUMES, rule("get", "storage.k8s.io", "storageclasses")),
    ]
