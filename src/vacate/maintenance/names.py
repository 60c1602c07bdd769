"""Names that a maintenance leaves on other objects."""

from __future__ import annotations

from vacate.api.types import Taint

SUFFIX = ".nodemaintenance.vacate.dev"
FINALIZER = "vacate.dev/nodemaintenance"
CLAIMS = "vacate.dev/nodemaintenances"
"""The annotation of a node that records what maintenances have done to it."""

TAINT = Taint(key="vacate.dev/nodemaintenance", effect="NoSchedule")
"""Keeps DaemonSet pods off a node from which they are evicted."""

MIRROR = "kubernetes.io/config.mirror"


def requester_of(maintenance: str) -> str:
    """The name under which a maintenance requests evictions."""
    return f"{maintenance}{SUFFIX}"


def maintenance_of(requester: str) -> str:
    """The maintenance that a requester's name stands for; empty where it is another's."""
    return requester.removesuffix(SUFFIX) if requester.endswith(SUFFIX) else ""
