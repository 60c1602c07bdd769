"""How workloads opt in to Vacate's own interceptors, and the names of these."""

from __future__ import annotations

OPT_IN = "vacate.dev/move-before-eviction"
"""A label of a namespace, or an annotation of a workload: `true` or `false`."""
DELETE_PREPARED = "vacate.dev/delete-when-prepared"
"""An annotation of a workload: `true` lets its prepared pods go past budgets that protect no other pod."""

DEPLOYMENT_INTERCEPTOR = "deployment.apps.k8s.io"
REPLICASET_INTERCEPTOR = "replicaset.apps.k8s.io"
STATEFULSET_INTERCEPTOR = "statefulset.apps.k8s.io"
AUTOSCALER_INTERCEPTOR = "horizontalpodautoscaler.autoscaling.k8s.io"

TEMPLATE_HASH = "pod-template-hash"
"""The label that Deployments write; their ReplicaSets are named DEPLOYMENT-HASH."""

OWN_RESPONDERS = {
    DEPLOYMENT_INTERCEPTOR: "vacate.dev/deployment",
    AUTOSCALER_INTERCEPTOR: "vacate.dev/horizontalpodautoscaler",
    REPLICASET_INTERCEPTOR: "vacate.dev/replicaset",
    STATEFULSET_INTERCEPTOR: "vacate.dev/statefulset",
}
"""What they are called in lifecycle.k8s.io, which reserves names of Kubernetes for Kubernetes."""

REPLACING = (DEPLOYMENT_INTERCEPTOR, AUTOSCALER_INTERCEPTOR)
"""Those that start a replacement before a pod goes."""
SURGE_INTERCEPTORS = (*REPLACING, REPLICASET_INTERCEPTOR)
"""Those that take part in that."""
