"""Which nodes report: the renewals of their Leases, read from the server and never from a cache.

A cache that hangs shows nodes that were ready once. A renewal that changes between two reads is a sign of
life, whatever clock the node has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.kinds import LEASES
from vacate.api.objects import dig
from vacate.client.client import Client

NAMESPACE = "kube-node-lease"

Reports = Mapping[str, str]
"""By the name of the node, when its Lease was renewed, as written."""


@dataclass(frozen=True, slots=True)
class LeaseObservation:
    """The reports of one moment."""

    at: float  # on the monotonic clock: nobody sets it
    reports: Reports

    def heard_by(self, later: Reports) -> frozenset[str]:
        """The nodes that have reported since."""
        return frozenset(name for name, renewed in later.items() if self.reports.get(name) != renewed)


async def read_reports(client: Client) -> dict[str, str]:
    """All renewals, as the server has them now."""
    return {
        str(dig(lease, "metadata", "name")): str(dig(lease, "spec", "renewTime") or "")
        async for page in client.pages(LEASES, NAMESPACE)
        for lease in page.items
    }
