"""Who the cluster takes the caller for."""

from __future__ import annotations

from vacate.cli.common.connection import Cluster
from vacate.cli.common.parameters import own_requester_name
from vacate.client.access import own_user
from vacate.errors import ApiError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST


async def cluster_user(cluster: Cluster) -> str:
    """The user name by which the cluster knows the caller; empty where it does not say."""
    try:
        return await own_user(cluster.client)
    except ApiError:
        return ""


async def own_requester(cluster: Cluster, dialect: Dialect = EVICTION_REQUEST) -> str:
    """The requester's name of the caller: the cluster's user, and the machine's only where it is not known.

    Two persons who share an account of a machine are two users of the cluster, and one person on two machines
    is one: whose request it is must not depend on where a command was typed.
    """
    name = own_requester_name(await cluster_user(cluster) or None, dialect.max_requester)
    return dialect.participant(name)
