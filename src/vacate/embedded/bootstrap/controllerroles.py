"""The roles of the controllers that run here.

The `system:controller:` roles are those of Kubernetes, bound to service accounts in `kube-system`.
Controllers here write patches where those of Kubernetes write whole objects, and share the informers of one
identity; what they need beyond the defaults stands apart, in roles whose names begin with `vacate:`.
"""

from __future__ import annotations

from collections.abc import Iterator

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.api.policyrules import CORE, READ, Rule, rule
from vacate.embedded.bootstrap.rules import EVENTS, cluster_binding, cluster_role, service_account, user
from vacate.wiring.controllers import CONTROLLERS as PRODUCT_CONTROLLERS
from vacate.wiring.controllers import rules as product_rules
from vacate.wiring.hooks import HOOK_RULES, JOB_RULES

CONTROLLER_PREFIX = "system:controller:"
_PATCH_PREFIX = "vacate:controller:"
EMBEDDED_CONTROLLERS = "vacate:embedded-controllers"
_APPS = ("apps", "extensions")

_CONTROLLERS: dict[str, tuple[Rule, ...]] = {
    "daemon-set-controller": (
        rule(READ, _APPS, "daemonsets"),
        rule("update", _APPS, "daemonsets/status"),
        rule("update", _APPS, "daemonsets/finalizers"),
        rule("list watch", CORE, "nodes"),
        rule("create delete list patch watch", CORE, "pods"),
        rule("create", CORE, "pods/binding"),
        rule("create delete get list patch update watch", "apps", "controllerrevisions"),
        EVENTS,
    ),
    "deployment-controller": (
        rule("get list update watch", _APPS, "deployments"),
        rule("update", _APPS, "deployments/status"),
        rule("update", _APPS, "deployments/finalizers"),
        rule("create delete get list patch update watch", _APPS, "replicasets"),
        rule("get list update watch", CORE, "pods"),
        EVENTS,
    ),
    "disruption-controller": (
        rule(READ, _APPS, "deployments"),
        rule(READ, _APPS, "replicasets"),
        rule(READ, CORE, "replicationcontrollers"),
        rule(READ, "policy", "poddisruptionbudgets"),
        rule(READ, "apps", "statefulsets"),
        rule("update", "policy", "poddisruptionbudgets/status"),
        rule("patch update", CORE, "pods/status"),
        rule("get", "*", "*/scale"),
        EVENTS,
    ),
    "generic-garbage-collector": (
        rule("delete get list patch update watch", "*", "*"),
        EVENTS,
    ),
    "horizontal-pod-autoscaler": (
        rule(READ, "autoscaling", "horizontalpodautoscalers"),
        rule("update", "autoscaling", "horizontalpodautoscalers/status"),
        rule("get update", "*", "*/scale"),
        rule("list", CORE, "pods"),
        rule("list", "metrics.k8s.io", "pods"),
        rule("get list", "custom.metrics.k8s.io", "*"),
        rule("get list", "external.metrics.k8s.io", "*"),
        EVENTS,
    ),
    "job-controller": (
        rule("get list patch update watch", "batch", "jobs"),
        rule("update", "batch", "jobs/status"),
        rule("update", "batch", "jobs/finalizers"),
        rule("create delete list patch watch", CORE, "pods"),
        EVENTS,
    ),
    "namespace-controller": (
        rule("delete get list watch", CORE, "namespaces"),
        rule("update", CORE, "namespaces/finalize namespaces/status"),
        rule("delete deletecollection get list watch", "*", "*"),
    ),
    "node-controller": (
        rule("delete get list patch update watch", CORE, "nodes"),
        rule("patch update", CORE, "nodes/status"),
        rule("patch update", CORE, "pods/status"),
        rule("delete get list watch", CORE, "pods"),
        EVENTS,
    ),
    "persistent-volume-binder": (
        rule("create delete get list update watch", CORE, "persistentvolumes"),
        rule("update", CORE, "persistentvolumes/status"),
        rule("get list update watch", CORE, "persistentvolumeclaims"),
        rule("update", CORE, "persistentvolumeclaims/status"),
        rule("create delete get list watch", CORE, "pods"),
        rule(READ, "storage.k8s.io", "storageclasses"),
        EVENTS,
    ),
    "pod-garbage-collector": (
        rule("delete list watch", CORE, "pods"),
        rule(READ, CORE, "nodes"),
        rule("patch", CORE, "pods/status"),
    ),
    "replicaset-controller": (
        rule("get list update watch", _APPS, "replicasets"),
        rule("update", _APPS, "replicasets/status"),
        rule("update", _APPS, "replicasets/finalizers"),
        rule("create delete list patch watch", CORE, "pods"),
        EVENTS,
    ),
    "statefulset-controller": (
        rule(READ, CORE, "pods"),
        rule(READ, "apps", "statefulsets"),
        rule("update", "apps", "statefulsets/status"),
        rule("update", "apps", "statefulsets/finalizers"),
        rule("create delete get patch update", CORE, "pods"),
        rule("create delete get list patch update watch", "apps", "controllerrevisions"),
        rule("create get", CORE, "persistentvolumeclaims"),
        EVENTS,
    ),
    "service-account-controller": (
        rule("create", CORE, "serviceaccounts"),
        EVENTS,
    ),
    "ttl-after-finished-controller": (
        rule("delete get list watch", "batch", "jobs"),
        EVENTS,
    ),
}

_REQUESTS = tuple(rule(READ, kind.group, kind.plural) for kind in (EVICTIONREQUESTS, EVACUATIONS))

_PATCHES: dict[str, tuple[Rule, ...]] = {
    "daemon-set-controller": (rule("patch", "apps", "daemonsets/status"),),
    "deployment-controller": (
        rule("patch", "apps", "deployments deployments/status"),
        *_REQUESTS,
    ),
    "disruption-controller": (rule("patch", "policy", "poddisruptionbudgets/status"),),
    "horizontal-pod-autoscaler": (
        rule("patch", "autoscaling", "horizontalpodautoscalers/status"),
        rule("patch", "*", "*/scale"),
        rule(READ, "apps", "deployments replicasets statefulsets"),
        rule(READ, CORE, "pods"),
        rule("create patch", EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
        *_REQUESTS,
        rule("delete", CORE, "pods"),  # a requester of evictions must have this right
    ),
    "job-controller": (rule("patch", "batch", "jobs/status"),),
    "namespace-controller": (rule("patch", CORE, "namespaces namespaces/status"), EVENTS),
    "node-controller": (rule(READ, "coordination.k8s.io", "leases"),),
    "persistent-volume-binder": (
        rule("patch", CORE, "persistentvolumes persistentvolumes/status"),
        rule("patch", CORE, "persistentvolumeclaims persistentvolumeclaims/status"),
    ),
    "replicaset-controller": (
        rule("patch", "apps", "replicasets replicasets/status"),
        rule("get", CORE, "pods"),
        *_REQUESTS,
    ),
    "statefulset-controller": (rule("patch", "apps", "statefulsets/status"),),
    "service-account-controller": (rule(READ, CORE, "namespaces serviceaccounts"),),
}

EVICTION_CONTROLLER = "evictionrequest-controller"
# Vacate's own decide who is evicted: they have an identity of their own, whose rights the controller manager
# does not share. What they need stands in one list, from which an installation takes its role too.
_EVICTION_RULES: tuple[Rule, ...] = product_rules(PRODUCT_CONTROLLERS)

HOOKS_CONTROLLER = "eviction-hooks"
"""Calls what pods name: an identity of its own, with few rights. Who starts the cluster has written its list
of namespaces with Jobs too, so that these rights are not bound one by one as in an installation."""

CONTROLLERS: tuple[str, ...] = (*_CONTROLLERS, EVICTION_CONTROLLER, HOOKS_CONTROLLER)
"""The controllers that have an identity of their own, by the names of their service accounts."""


def controller_roles() -> list[Obj]:
    """A role for each controller, one for its patches, and one for an identity that runs them all."""
    ours = (EVICTION_CONTROLLER, _EVICTION_RULES), (HOOKS_CONTROLLER, (*HOOK_RULES, *JOB_RULES))
    listed = (*_CONTROLLERS.items(), *ours)
    own = [cluster_role(f"{CONTROLLER_PREFIX}{name}", *rules) for name, rules in listed]
    patches = [cluster_role(f"{_PATCH_PREFIX}{name}", *rules) for name, rules in _PATCHES.items()]
    return [*own, *patches, cluster_role(EMBEDDED_CONTROLLERS, *dict.fromkeys(_all_rules()))]


def controller_bindings() -> list[Obj]:
    """Each role to its service account; all of them to the controller manager."""
    return [
        *(cluster_binding(f"{CONTROLLER_PREFIX}{name}", service_account(name)) for name in CONTROLLERS),
        *(cluster_binding(f"{_PATCH_PREFIX}{name}", service_account(name)) for name in _PATCHES),
        cluster_binding(EMBEDDED_CONTROLLERS, user("system:kube-controller-manager")),
    ]


def _all_rules() -> Iterator[Rule]:
    for rules in (*_CONTROLLERS.values(), *_PATCHES.values()):
        yield from rules
