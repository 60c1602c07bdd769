"""`vacate drains`: every drain, how far it is, and what holds it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import click

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.text import plain
from vacate.api.types.nodemaintenance import BLOCKED, DRAINED, NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.connection import (
    Cluster,
    Connection,
    cluster_scope_options,
    is_unknown_path,
    not_served,
    run_on_cluster,
)
from vacate.cli.common.managerwatch import read_manager_health, say_health
from vacate.cli.common.output import NAME, WIDE, output_option, print_objects, table
from vacate.cli.common.parameters import drain_name
from vacate.cli.common.program import program_name
from vacate.cli.common.remedies import no_maintenance
from vacate.cli.common.shellcompletion import complete_drains
from vacate.cli.status.layout import wrapped
from vacate.client.codec import codec_for
from vacate.errors import NotFound
from vacate.maintenance.names import PLANNED
from vacate.views.maintenance import held_lines, pods_done, total_line
from vacate.views.managerhealth import unattended_maintenance
from vacate.views.phrases import NOTHING, span

_HEADER = ("DRAIN", "PHASE", "NODES", "PODS", "BLOCKED", "AGE")
_PLAN_WIDTH = 600


@click.command()
@click.argument("names", type=drain_name, shell_complete=complete_drains, nargs=-1, metavar="[DRAIN…]")
@cluster_scope_options
@output_option(WIDE, NAME)
def drains(names: tuple[str, ...], reach: Connection, output: str) -> None:
    """Show drains and how far they are.

    NODES and PODS are those that are done, of all; the pods of a node are counted when its turn comes, and
    until each has had its turn only those that are done are shown. Below the table is what holds drains:
    first what needs a person, then what ends by itself. DRAIN is NAME or nodemaintenance/NAME.

    Exit codes: 0 done, also without drains, 1 refused or failed, 2 usage.
    """
    run_on_cluster(reach, lambda cluster: _show(cluster, names, output))


async def _show(cluster: Cluster, names: Sequence[str], output: str) -> None:
    try:
        found = (await cluster.client.list(NODEMAINTENANCES)).items
    except NotFound as error:
        raise not_served(NODEMAINTENANCES, "NodeMaintenance") if is_unknown_path(error) else error from None
    there = {str(one["metadata"]["name"]) for one in found}
    for name in names:
        if name not in there:
            raise no_maintenance(name)
    chosen = [one for one in found if not names or one["metadata"]["name"] in names]
    if output not in ("", WIDE):
        print_objects(chosen, output, name=lambda one: f"nodemaintenance/{one['metadata']['name']}")
        return
    typed = [codec_for(NodeMaintenance).convert(one) for one in chosen]
    if not typed:
        terminal.echo(f"No drains. Begin one: {program_name()} drain NODE", err=True)
        return
    now = cluster.clock.now()
    rows = [_HEADER, *(_row(one, now) for one in typed)]
    terminal.echo_lines(table(rows, 0 if output == WIDE else terminal.columns()))
    for one in typed:
        if planned := plain(one.metadata.annotations.get(PLANNED, ""), _PLAN_WIDTH):
            note = f"nodemaintenance/{one.metadata.name} by its plan: {planned}"
            terminal.echo_lines(["", *wrapped(note, terminal.width())])
        if held := held_lines(one, now, terminal.width()):
            terminal.echo_lines(["", f"nodemaintenance/{one.metadata.name} is held", *held])
    health = await read_manager_health(cluster, unattended_maintenance(*typed))
    say_health(health)


def _row(one: NodeMaintenance, now: dt.datetime) -> tuple[str, ...]:
    status, created = one.status, one.metadata.creation_timestamp
    done = sum(row.phase == DRAINED for row in status.nodes)
    blocked = sum(row.phase == BLOCKED for row in status.nodes)
    phase = "Cancelling" if one.metadata.deletion_timestamp is not None else status.phase or "Pending"
    return (
        one.metadata.name,
        phase,
        f"{done}/{len(one.spec.nodes)}",
        pods_done(status) or NOTHING,
        str(blocked) if blocked else NOTHING,
        span(now - created) if created is not None else NOTHING,
    )


def open_drains_lines(drains: Sequence[NodeMaintenance], now: dt.datetime) -> list[str]:
    """Drains that go on, a line for each, for commands that show something else."""
    going = [one for one in drains if one.status.phase != DRAINED]
    lines = [f"nodemaintenance/{one.metadata.name}: {_state(one, now)}" for one in going]
    return [*lines, f"See them with {program_name()} drains."] if lines else []


def _state(one: NodeMaintenance, now: dt.datetime) -> str:
    if one.metadata.deletion_timestamp is not None:
        return "is being cancelled"
    return f"{one.status.phase or 'Pending'}, {total_line(one, now)}"
