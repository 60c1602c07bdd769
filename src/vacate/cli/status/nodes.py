"""`vacate status --nodes`: which nodes do not report, since when, whether they are fenced, and who waits."""

from __future__ import annotations

from vacate.api.kinds import FENCINGPOLICIES, NODES, PODS
from vacate.api.types import Node, Pod
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.output import WIDE, print_objects
from vacate.cli.status.nodelayout import node_layout
from vacate.errors import Forbidden, NotFound
from vacate.views.noderows import node_rows


async def show_nodes(cluster: Cluster, output: str) -> None:
    """All nodes, those in trouble first."""
    if output not in ("", WIDE):
        found = (await cluster.client.list(NODES)).items
        print_objects(list(found), output, name=lambda one: f"node/{one['metadata']['name']}")
        return
    nodes = (await cluster.client.list(NODES, into=Node)).items
    pods = (await cluster.client.list(PODS, into=Pod)).items
    rows = node_rows(nodes, pods, await _policies(cluster), cluster.clock.now())
    if not rows:
        terminal.echo("No nodes.", err=True)
        return
    terminal.echo_lines(node_layout(rows, 0 if output == WIDE else terminal.columns()))


async def _policies(cluster: Cluster) -> list[FencingPolicy]:
    """None where the cluster does not serve them, or the user may not read them."""
    try:
        return list((await cluster.client.list(FENCINGPOLICIES, into=FencingPolicy)).items)
    except (NotFound, Forbidden):
        return []
