"""`vacate status`: which pods are requested to be evicted, and how far that is."""

from __future__ import annotations

from collections.abc import Sequence

import click

from vacate.api.kinds import FENCINGPOLICIES, NODES, PODS
from vacate.api.objectidentity import identity_of
from vacate.api.types import Node, Pod
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option, chosen_api
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.exitcodes import interrupted
from vacate.cli.common.managerwatch import read_manager_health, say_health
from vacate.cli.common.output import NAME, WIDE, aligned, output_option, print_objects
from vacate.cli.common.parameters import pod_name
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import list_budgets, list_maintenances, list_nodes, list_requests, named_pod
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import selector_option
from vacate.cli.common.shellcompletion import complete_pods
from vacate.cli.common.text import safe
from vacate.cli.drains import open_drains_lines
from vacate.cli.explain.volumes import volumes_notes
from vacate.cli.status.layout import compact, fitted, layout, wrapped
from vacate.cli.status.order import KEYS, in_order
from vacate.cli.status.presence import left_over
from vacate.cli.status.view import View
from vacate.errors import Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import DIALECTS
from vacate.views.maintenance import refused_lines
from vacate.views.managerhealth import unattended_maintenance, unattended_request, waiting_requests
from vacate.views.noderows import HEADER, NodeRow, node_rows
from vacate.views.nodeshutdowns import shutdown_lines
from vacate.views.phrases import NOTHING, command_line, counted
from vacate.views.statusrows import refusal_notes, row_of, unreadable_row


@click.command()
@click.argument("pods", type=pod_name, shell_complete=complete_pods, nargs=-1, metavar="[POD…]")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Requests of all namespaces.")
@selector_option("Only requests for pods with these labels.")
@click.option("-w", "--watch", "follow", is_flag=True, help="Watch, and show each change.")
@api_option("The API whose requests are shown.")
@click.option("--nodes", "nodes", is_flag=True, help="Show nodes instead, and the pods that wait for them.")
@click.option("--sort-by", type=click.Choice(KEYS), help="Column to sort by; times earliest first.")
@cluster_options
@output_option(WIDE, NAME)
def status(
    pods: tuple[str, ...],
    everywhere: bool,
    selector: str,
    follow: bool,
    dialect: Dialect | None,
    nodes: bool,
    sort_by: str | None,
    reach: Connection,
    output: str,
) -> None:
    """Show eviction requests and their progress.

    With -w it continues until Ctrl-C, or until the requests for all named pods are complete or the pods
    are gone. Without -w, it also shows nodes that are shutting down, and exclusive volumes that pods use on
    several nodes. In a pipe, each change is a line with its time; with -o json it is a watch event,
    {"type": …, "object": …}.

    With --nodes it shows nodes: NodeDown is a node that does not report, although its pods may still run;
    Fenced is one that is certainly off; ShuttingDown is one that terminates its pods by priority.

    Exit codes: 0 done, also without requests, 1 refused or failed, 2 usage, 130 interrupted without -w.
    """
    if everywhere and reach.namespace:
        raise click.UsageError("use -A or -n, not both")
    if nodes and (pods or selector or follow or sort_by):
        raise click.UsageError("--nodes shows all nodes: give no pods, labels, -w or --sort-by with it")

    async def work() -> None:
        async with connected(reach) as cluster:
            namespace = "" if everywhere else cluster.namespace
            if nodes:
                await show_nodes(cluster, output)
                return
            api = await chosen_api(cluster, dialect)
            view = View(namespace, pods, selector, sort_by or "", output, api)
            if follow:
                from vacate.cli.status.follow import Follower  # noqa: PLC0415  one look needs no live table

                await Follower(cluster, view).run()
            else:
                await show_requests(cluster, view)

    if run_until_signalled(work) and not follow:
        interrupted()


async def show_requests(cluster: Cluster, view: View) -> None:
    """One look: the requests, and what else concerns them."""
    namespace, pods = view.namespace, view.pods
    listed = await list_requests(cluster, namespace, view.selector, view.dialect)
    found = [one for one in listed if not pods or named_pod(one.obj) in pods]
    if view.output not in ("", WIDE):
        print_objects([one.obj for one in found], view.output, name=lambda one: f"pod/{named_pod(one)}")
        return
    decoded = [one.record for one in found if one.record is not None]
    unreadable = [one.obj for one in found if one.record is None]
    if found:
        requests = in_order(decoded, view.sort_by)
        budgets = await list_budgets(cluster, namespace) or []
        rows = [row_of(one, budgets, cluster.clock.now()) for one in requests]
        rows += [unreadable_row(identity_of(one), named_pod(one)) for one in unreadable]
        width = terminal.columns()
        wide = view.output == WIDE
        phrase = view.dialect.phrase
        terminal.echo_lines(layout(rows, namespace=not namespace, width=width, wide=wide, phrase=phrase))
        _say_unreadable(len(unreadable))
        for note in refusal_notes(requests):
            terminal.echo(note, err=True)
        for note in await left_over(cluster, requests) if pods else ():
            terminal.echo(note, err=True)
    present = [named_pod(one.obj) for one in found]
    for missing in [pod for pod in pods if pod not in present] if pods else []:
        terminal.echo(view.dialect.phrase(f"No eviction request for pod {missing}{view.where}."), err=True)
    if not found and not pods:
        terminal.echo(view.dialect.phrase(f"No eviction requests{view.where}."), err=True)
    await _say_others(cluster, view)
    drains = await list_maintenances(cluster) or ()
    if not pods and (going := open_drains_lines(drains, cluster.clock.now())):
        terminal.echo_lines(going, err=True)
    if refused := refused_lines(drains, namespace, pods, terminal.width(err=True)):
        terminal.echo_lines(refused, err=True)
    waiting = unattended_request(decoded) or unattended_maintenance(*drains)
    health = await read_manager_health(cluster, waiting, waiting_requests(decoded))
    say_health(health)
    for line in shutdown_lines(await list_nodes(cluster), cluster.clock.now()):
        terminal.echo(line, err=True)
    for line in await volumes_notes(cluster, namespace):
        terminal.echo(line, err=True)


async def _say_others(cluster: Cluster, view: View) -> None:
    """Open requests of the other kinds, which are shown with another option."""
    for one in DIALECTS.values():
        if one is view.dialect:
            continue
        try:
            listed = await list_requests(cluster, view.namespace, view.selector, one)
        except (NotFound, Forbidden):
            continue  # not served, or not to this user
        going = [named_pod(each.obj) for each in listed if not each.complete]
        if count := sum(not view.pods or pod in view.pods for pod in going):
            kind = counted(count, f"open {one.kind.kind}")
            show = command_line(program_name(), "status", "--api", one.name)
            terminal.echo(
                f"{kind}{view.where} {'is' if count == 1 else 'are'} not shown; see: {show}", err=True
            )


def _say_unreadable(count: int) -> None:
    if count:
        text = f"Requests that cannot be decoded are not processed: {count}."
        terminal.echo(f"{text} `{program_name()} explain POD` shows why.", err=True)


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


def node_layout(rows: Sequence[NodeRow], width: int = 0) -> list[str]:
    """The lines below a header. Without a width nothing is cut, however long it is."""
    table = [HEADER, *map(_cells, rows)]
    if not width:
        return [line.rstrip() for line in aligned(table)]
    return fitted(table, width) or _compact(rows, width) or _blocks(rows, width)


def _cells(row: NodeRow) -> tuple[str, ...]:
    return (row.name, row.state, row.since, row.fencing, str(row.waiting or NOTHING), row.message)


def _compact(rows: Sequence[NodeRow], width: int) -> list[str]:
    """Which node, how it stands, for how long, and the rest in a few words."""
    own = [(row.name, row.state, row.since, _detail(row)) for row in rows]
    return compact([(*HEADER[:3], "DETAIL"), *own], width)


def _blocks(rows: Sequence[NodeRow], width: int) -> list[str]:
    """Each node on a line of its own, and what there is to say about it below."""
    lines: list[str] = []
    for row in rows:
        lines.append(safe(row.name))
        state = f"{row.state} for {row.since}" if row.since != NOTHING else row.state
        lines += wrapped(safe(state), width)
        lines += wrapped(safe(_detail(row)), width)
    return lines


def _detail(row: NodeRow) -> str:
    """What the columns beside node, state and time say, as one phrase, or nothing."""
    parts = [
        f"fencing: {row.fencing}" if row.fencing != NOTHING else "",
        f"{row.waiting} {'pod waits' if row.waiting == 1 else 'pods wait'}" if row.waiting else "",
        row.message,
    ]
    return "; ".join(part for part in parts if part)
