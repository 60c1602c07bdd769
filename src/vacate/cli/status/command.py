"""`vacate status`: which pods are requested to be evicted, and how far that is."""

from __future__ import annotations

import click

from vacate.api.objectidentity import identity_of
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option, chosen_api
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.exitcodes import interrupted
from vacate.cli.common.managerwatch import read_manager_health
from vacate.cli.common.output import NAME, WIDE, output_option, print_objects
from vacate.cli.common.parameters import pod_name
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import list_budgets, list_maintenances, list_nodes, list_requests, named_pod
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import selector_option
from vacate.cli.common.shellcompletion import complete_pods
from vacate.cli.drains import open_drains_lines
from vacate.cli.explain.volumes import volumes_notes
from vacate.cli.status.layout import layout
from vacate.cli.status.nodes import show_nodes
from vacate.cli.status.order import KEYS, in_order
from vacate.cli.status.presence import left_over
from vacate.cli.status.view import View
from vacate.errors import Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import DIALECTS
from vacate.views.maintenance import refused_lines
from vacate.views.managerhealth import unattended_maintenance, unattended_request, waiting_requests
from vacate.views.nodeshutdowns import shutdown_lines
from vacate.views.phrases import command_line, counted
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
    if health.text:
        terminal.echo(health.line, err=True)
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
