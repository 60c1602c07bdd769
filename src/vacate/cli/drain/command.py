"""`vacate drain`: drain nodes by a NodeMaintenance, which goes on without this command, and follow it."""

from __future__ import annotations

import datetime as dt
import sys

import click

from vacate.api.installednames import NODE_MAINTAINER
from vacate.api.objects import Obj
from vacate.cli.common.apis import api_option
from vacate.cli.common.connection import Connection, cluster_scope_options, connected
from vacate.cli.common.output import JSON
from vacate.cli.common.parameters import node_count, span_between
from vacate.cli.common.remedies import with_role
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import selector_option
from vacate.cli.common.shellcompletion import complete_drained, complete_drains
from vacate.cli.drain.checks import (
    check_drain_choice,
    drain_choice,
    named_before,
    node_or_drain,
    refuse_for_existing,
)
from vacate.cli.drain.options import drain_rule_options
from vacate.cli.drain.start import (
    DrainOptions,
    StartedDrain,
    cancel_drain,
    detach_from,
    follow_drain,
    named_drain,
    say_unread,
    start_drain,
)
from vacate.errors import Forbidden
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST


@click.command()
@click.argument("nodes", type=node_or_drain, shell_complete=complete_drained, nargs=-1, metavar="[NODE…]")
@selector_option("Drain every node with these labels instead.")
@drain_rule_options
@click.option(
    "--timeout", type=span_between(1.0), metavar="SPAN", help="Maximum time to follow; the drain continues."
)
@click.option(
    "--dry-run",
    is_flag=False,
    flag_value="client",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="Show what would happen, in which order, and what would block it; change nothing.",
)
@click.option(
    "--plan",
    is_flag=True,
    help="First run the drain forward on a copy of the cluster, as `vacate plan` does, and show its verdict; "
    "ask before a drain that would block or leave pods without room.",
)
@click.option("-y", "--yes", is_flag=True, help="With --plan: do not ask.")
@click.option("--detach", is_flag=True, help="Return at once; the drain continues.")
@click.option(
    "--max-nodes",
    type=node_count,
    metavar="N|N%",
    help="How many nodes to drain at the same time; 1 by default.",
)
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="Why the nodes are drained; kept on the maintenance and on each request.",
)
@api_option("The API in which evictions are requested.", EVICTION_REQUEST.name)
@click.option(
    "--follow",
    is_flag=False,
    flag_value="",
    callback=drain_choice,
    shell_complete=complete_drains,
    metavar="[DRAIN]",
    help="Follow a drain that is under way, by its name, or that of the nodes that are named.",
)
@click.option(
    "--cancel",
    is_flag=False,
    flag_value="",
    callback=drain_choice,
    shell_complete=complete_drains,
    metavar="[DRAIN]",
    help="Cancel a drain, by its name, or that of the nodes that are named: its requests are withdrawn and "
    "its nodes uncordoned. Pods that were evicted stay where they are.",
)
@cluster_scope_options
@click.option("-o", "--output", type=click.Choice([JSON]), default=None, help="Print events as JSON lines.")
def drain(
    nodes: tuple[str, ...],
    selector: str,
    rules: Obj,
    timeout: dt.timedelta | None,
    dry_run: str,
    plan: bool,
    yes: bool,
    detach: bool,
    max_nodes: int | str | None,
    reason: str,
    dialect: Dialect | None,
    follow: str | None,
    cancel: str | None,
    reach: Connection,
    output: str | None,
) -> None:
    """Drain nodes: cordon them, and evict their pods through interceptors.

    The drain is an object in the cluster, a NodeMaintenance. It goes on without this command, which only
    follows it: Ctrl-C detaches. Interceptors prepare each pod, and disruption budgets are respected. NODE is
    NAME or node/NAME; DRAIN is NAME or nodemaintenance/NAME, as it is printed.

    Exit codes: 0 drained, 1 refused or failed, 2 usage, 3 cancelled, 4 timed out, 130 detached; with
    --dry-run 5 where the drain would block until a person acts, 6 where replacements would find no node.
    """
    nodes, follow, cancel = named_before(nodes, follow, cancel)
    check_drain_choice(nodes, selector, follow, cancel)
    if follow is not None or cancel is not None:
        refuse_for_existing(click.get_current_context(), cancels=cancel is not None)
    more = {"maxNodes": max_nodes, "reason": reason.strip()}
    spec = rules | {key: value for key, value in more.items() if value}
    # The default is left out: older controllers do not know the field.
    if dialect is not None and dialect is not EVICTION_REQUEST:
        spec["requestKind"] = dialect.request_kind
    if yes and not plan:
        raise click.UsageError("--yes answers the question of --plan; a drain asks no other")
    planned = ""
    if plan:
        from vacate.cli.plan.making import plan_drain  # noqa: PLC0415  most drains do without

        planned = plan_drain(nodes, selector, spec, reach, ask=not yes and dry_run == "none")
    options = DrainOptions(nodes, selector, spec, detach, dry_run != "none", timeout, output or "", planned)
    started = StartedDrain()
    codes: list[int] = []

    async def work() -> None:
        # A drain to come has more to show than what the server would answer; see `preview`.
        async with connected(reach, dry_run=options.dry_run and cancel is not None) as cluster:
            try:
                if cancel is not None:
                    codes.append(
                        await cancel_drain(cluster, await named_drain(cluster, cancel, nodes), options)
                    )
                elif follow is not None:
                    started.name = await named_drain(cluster, follow, nodes)
                    codes.append(await follow_drain(cluster, started.name, options))
                else:
                    codes.append(await start_drain(cluster, options, started))
            except Forbidden as error:
                raise with_role(error, NODE_MAINTAINER) from error

    try:
        signalled = run_until_signalled(work)
    except BrokenPipeError:
        say_unread(started)
        raise
    if signalled:
        detach_from(started)
    sys.exit(codes[0] if codes else 0)
