"""Requests that a drain made: its controller asks again, so that only the drain itself can be cancelled."""

from __future__ import annotations

from collections.abc import Collection

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cli.common.connection import Cluster
from vacate.cli.common.program import program_name
from vacate.errors import ConfigError, Forbidden, NotFound
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX, is_maintenance, own_name
from vacate.maintenance.names import requester_of
from vacate.views.phrases import listed
from vacate.views.statusrows import pod_of


async def check_no_drain(cluster: Cluster, request: EvictionRequest, requesters: Collection[str]) -> None:
    """ConfigError where one of these requesters of the request is a NodeMaintenance that goes on.

    One that is deleted, or being deleted, asks no more: its name may be left over, and can be removed.
    """
    on_it = {one.name for one in request.spec.requesters}
    chosen = sorted(name for name in requesters if name in on_it and is_maintenance(name))
    if not chosen:
        return
    drains = await _drains(cluster, request, chosen)
    if not drains:
        return
    named = listed([f"nodemaintenance/{one}" for one in drains])
    own = program_name()
    ways = listed([f"{own} drain --cancel {one}" for one in drains])
    raise ConfigError(
        f"the eviction of pod {pod_of(request)} is requested by {named}, which would request it again; "
        f"nothing was changed. To cancel the whole drain: {ways}. If the eviction does not move, try it "
        f"again with {own} retry {pod_of(request)}, or end the turn of an interceptor with {own} skip"
    )


async def _drains(cluster: Cluster, request: EvictionRequest, names: Collection[str]) -> list[str]:
    """The NodeMaintenances of these requester names, as far as they go on."""
    try:
        found = (await cluster.client.list(NODEMAINTENANCES, into=NodeMaintenance)).items
    except NotFound:
        return []  # the kind is not served
    except Forbidden:
        return [
            own_name(name, MAINTENANCE_SUFFIX) for name in names
        ]  # the name says enough, unless it was cut
    dialect = dialect_of(request)
    return [
        one.metadata.name
        for one in found
        if one.metadata.deletion_timestamp is None and requester_of(one.metadata.name, dialect) in names
    ]
