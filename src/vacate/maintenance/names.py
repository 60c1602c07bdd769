"""Names that a maintenance leaves on other objects."""

from __future__ import annotations

from vacate.api.types import Taint
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import dialect_of_kind
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX, fitted_requester

FINALIZER = "vacate.dev/nodemaintenance"
CLAIMS = "vacate.dev/nodemaintenances"
"""The annotation of a node that records what maintenances have done to it."""

PLANNED = "vacate.dev/plan"
"""The annotation of a maintenance with what its plan came to, by the user who began the drain."""

TAINT = Taint(key="vacate.dev/nodemaintenance", effect="NoSchedule")
"""Keeps DaemonSet pods off a node from which they are evicted."""

MIRROR = "kubernetes.io/config.mirror"


def requester_of(maintenance: str, dialect: Dialect) -> str:
    """The name under which a maintenance requests evictions by that API."""
    return dialect.participant(fitted_requester(maintenance, MAINTENANCE_SUFFIX, dialect.max_requester))


def dialect_for(maintenance: NodeMaintenance) -> Dialect:
    """The API by which a maintenance requests evictions."""
    return dialect_of_kind(maintenance.spec.request_kind)
