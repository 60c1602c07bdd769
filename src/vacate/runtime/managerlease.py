"""The Lease by which a manager shows that it works, as others read it."""

from __future__ import annotations

from vacate.api.installednames import MANAGER
from vacate.api.kinds import LEASES
from vacate.api.options import ListOptions
from vacate.api.types import Lease
from vacate.client.client import Client
from vacate.errors import Forbidden


async def manager_leases(client: Client) -> list[Lease] | None:
    """Those of all namespaces, since installations choose theirs; None for those who may not read them."""
    selected = ListOptions(field_selector=f"metadata.name={MANAGER}")
    try:
        return list((await client.list(LEASES, options=selected, into=Lease)).items)
    except Forbidden:
        return None
