"""Nodes and volumes that are not there: reported in one form, with the command that lists those that are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from support.embedded import ADMIN, Embedded, embedded
from vacate.cli.common.connection import Cluster
from vacate.cli.common.queries import read_node
from vacate.cli.delete.nodes import check_lost, delete_node
from vacate.cli.detach import break_attachment
from vacate.cli.drain.plan import find_nodes
from vacate.cli.uncordon import uncordon_node
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError

pytestmark = pytest.mark.unit

NO_NODE = "there is no node gone; see: kubectl get nodes"
NO_VOLUME = "there is no PersistentVolume gone; see: kubectl get pv"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with embedded() as server:
        yield cluster_of(server)


def cluster_of(server: Embedded) -> Cluster:
    return Cluster(Client(InProcessTransport(server.server, ADMIN)), "default", SystemClock())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (lambda cluster: read_node(cluster, "gone"), NO_NODE),
        (lambda cluster: uncordon_node(cluster, "gone", set()), NO_NODE),
        (lambda cluster: delete_node(cluster, "gone", confirm=True, dry_run=False), NO_NODE),
        (lambda cluster: check_lost(cluster, "gone"), NO_NODE),
        (lambda cluster: find_nodes(cluster, ["gone"], ""), NO_NODE),
        (lambda cluster: break_attachment(cluster, "gone", confirm=True, dry_run=False), NO_VOLUME),
    ],
    ids=["any command", "uncordon", "delete node", "delete --on-node", "drain", "detach"],
)
async def test_what_is_not_there(
    cluster: Cluster, command: Callable[[Cluster], Awaitable[object]], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        await command(cluster)
    assert str(refused.value) == message
