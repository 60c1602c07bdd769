"""The kinds that the embedded server serves."""

from __future__ import annotations

from functools import cache

from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVENTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PODTEMPLATES,
    PRIORITYCLASSES,
    REPLICASETS,
    ROLEBINDINGS,
    ROLES,
    SELFSUBJECTACCESSREVIEWS,
    SELFSUBJECTREVIEWS,
    SERVICEACCOUNTS,
    STATEFULSETS,
    STORAGECLASSES,
    SUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.crds.catalogue import DECLARATIONS
from vacate.features import FeatureGates

SERVED_KINDS: tuple[Kind, ...] = (
    NAMESPACES, NODES, PODS, EVENTS, CONFIGMAPS, SERVICEACCOUNTS, PODTEMPLATES,
    PERSISTENTVOLUMES, PERSISTENTVOLUMECLAIMS,
    DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, CONTROLLERREVISIONS, JOBS, CRONJOBS,
    HORIZONTALPODAUTOSCALERS, PODDISRUPTIONBUDGETS, LEASES, PRIORITYCLASSES, STORAGECLASSES,
    ROLES, ROLEBINDINGS, CLUSTERROLES, CLUSTERROLEBINDINGS,
    SUBJECTACCESSREVIEWS, SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS,
    *(one.kind for one in DECLARATIONS),
)  # fmt: skip
"""Everything the embedded server serves, in the order of discovery."""


@cache
def served_kinds(gates: FeatureGates) -> tuple[Kind, ...]:
    """What is served with these gates open."""
    return tuple(kind for kind in SERVED_KINDS if not kind.gate or gates.enabled(kind.gate))
