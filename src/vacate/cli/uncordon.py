"""`vacate uncordon`: let nodes take pods again, out of the drains that hold them."""

from __future__ import annotations

import click

from vacate.api.kinds import NODEMAINTENANCES, NODES
from vacate.api.options import DeleteOptions
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.connection import (
    Cluster,
    Connection,
    cluster_scope_options,
    dry_run_option,
    run_on_cluster,
)
from vacate.cli.common.exitcodes import FAILED, end
from vacate.cli.common.managerwatch import say_if_unattended
from vacate.cli.common.parameters import node_name
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import read_node
from vacate.cli.common.shellcompletion import complete_nodes
from vacate.errors import NotFound, VacateError
from vacate.kube.patches import guarded
from vacate.maintenance.claims import claims_of


@click.command()
@click.argument(
    "nodes", type=node_name, nargs=-1, required=True, shell_complete=complete_nodes, metavar="NODE…"
)
@dry_run_option
@cluster_scope_options
def uncordon(nodes: tuple[str, ...], dry_run: bool, reach: Connection) -> None:
    """Make nodes schedulable again.

    A node is removed from the NodeMaintenances that drain it, which withdraws their requests for its pods;
    a NodeMaintenance that names no other node is deleted. NODE is NAME or node/NAME.

    Exit codes: 0 done, 1 refused or failed, 2 usage.
    """

    async def work(cluster: Cluster) -> list[int]:
        codes: list[int] = []
        left: set[str] = set()
        for name in dict.fromkeys(nodes):
            try:
                codes.append(await uncordon_node(cluster, name, left))
            except VacateError as error:
                terminal.error(f"node/{name}: {error}")
                codes.append(FAILED)
        if left:
            await say_if_unattended(cluster)
        return codes

    end(run_on_cluster(reach, work, dry_run=dry_run))


async def uncordon_node(cluster: Cluster, name: str, left: set[str]) -> int:
    """Take the node out of its maintenances and uncordon it; the exit code.

    `left` gets its name where the rest is left to the manager.
    """
    client = cluster.client
    node = await read_node(cluster, name)
    claims = claims_of(node)
    for holder in claims.by:
        try:
            found = await client.get(NODEMAINTENANCES, holder, into=NodeMaintenance)
        except NotFound:
            continue
        rest = [one for one in found.spec.nodes if one != name]
        if name not in found.spec.nodes:
            whole = f"{program_name()} drain --cancel {holder}"
            terminal.error(
                f"node/{name}: nodemaintenance/{holder} selects it by label; cancel it as a whole: {whole}"
            )
            return FAILED
        if rest:
            change = guarded(found.metadata, {"spec": {"nodes": rest}})
            await client.patch(NODEMAINTENANCES, holder, change)
            terminal.echo(f"node/{name} taken out of nodemaintenance/{holder}{cluster.mark}")
        else:
            await client.delete(NODEMAINTENANCES, holder, options=DeleteOptions(uid=found.metadata.uid))
            terminal.echo(f"nodemaintenance/{holder} deleted{cluster.mark}")
        left.add(name)
    if claims.by and claims.cordoned:
        left.add(name)
        terminal.echo(f"node/{name} is uncordoned by the controller{cluster.mark}")
        return 0
    if not node.spec.unschedulable:
        terminal.echo(f"node/{name} already uncordoned{cluster.mark}")
        return 0
    await client.patch(NODES, name, {"spec": {"unschedulable": None}})
    terminal.echo(f"node/{name} uncordoned{cluster.mark}")
    return 0
