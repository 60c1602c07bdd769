"""The kinds that the embedded server serves."""

from __future__ import annotations

from functools import cache

from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    DAEMONSETS,
    DEPLOYMENTS,
    DESCHEDULINGPOLICIES,
    EVACUATIONS,
    EVENTS,
    EVICTIONREQUESTS,
    FENCINGPOLICIES,
    LEASES,
    NAMESPACES,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    ROLEBINDINGS,
    ROLES,
    SELFSUBJECTACCESSREVIEWS,
    SELFSUBJECTREVIEWS,
    SERVICEACCOUNTS,
    STATEFULSETS,
    SUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.features import FeatureGates

SERVED_KINDS: tuple[Kind, ...] = (
    NAMESPACES, NODES, PODS, EVENTS, CONFIGMAPS, SERVICEACCOUNTS,
    DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, CONTROLLERREVISIONS,
    PODDISRUPTIONBUDGETS, LEASES, PRIORITYCLASSES,
    ROLES, ROLEBINDINGS, CLUSTERROLES, CLUSTERROLEBINDINGS,
    SUBJECTACCESSREVIEWS, SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS, EVICTIONREQUESTS,
    EVACUATIONS, NODEMAINTENANCES, DESCHEDULINGPOLICIES, FENCINGPOLICIES,
)  # fmt: skip
"""Everything the embedded server serves, in the order of discovery."""


@cache
def served_kinds(gates: FeatureGates) -> tuple[Kind, ...]:
    """What is served with these gates open."""
    return tuple(kind for kind in SERVED_KINDS if not kind.gate or gates.enabled(kind.gate))
