"""`vacate status`: which pods are asked to leave, and how far they have come."""

from __future__ import annotations

import click
import msgspec

from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.common import terminal
from vacate.cli.output import aligned, output_option, print_objects
from vacate.cli.params import pod_name
from vacate.cli.reach import Cluster, Reach, cluster_options, connected
from vacate.cli.reading import list_budgets, list_requests
from vacate.cli.run import run_until_signalled
from vacate.cli.status_rows import HEADER, WIDE_HEADER, rows_of


@click.command()
@click.argument("pods", type=pod_name, nargs=-1, metavar="[POD…]")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Requests of all namespaces.")
@click.option("-w", "--watch", "follow", is_flag=True, help="Stay and show each change.")
@cluster_options
@output_option
def status(pods: tuple[str, ...], everywhere: bool, follow: bool, reach: Reach, output: str) -> None:
    """Show which pods are asked to leave.

    With -w it stays until Ctrl-C, or until all of the named pods have left; it follows the cluster's own
    changes and asks nothing while there are none.
    """
    if follow and output:
        raise click.UsageError("-w and -o do not go together; `kubectl get evictionrequests -w -o json` does")
    if everywhere and reach.namespace:
        raise click.UsageError("-A and -n do not go together")

    async def work() -> None:
        async with connected(reach) as cluster:
            namespace = "" if everywhere else cluster.namespace
            if follow:
                from vacate.cli.status_follow import Follower  # noqa: PLC0415  one look needs no live table

                await Follower(cluster, namespace, pods).run()
            else:
                await _show(cluster, namespace, pods, output)

    run_until_signalled(work)


async def _show(cluster: Cluster, namespace: str, pods: tuple[str, ...], output: str) -> None:
    found = [one for one in await list_requests(cluster, namespace) if not pods or _pod(one) in pods]
    if output:
        print_objects(found, output)
        return
    if found:
        requests = [msgspec.convert(one, EvictionRequest) for one in found]
        budgets = await list_budgets(cluster, namespace) or []
        rows = rows_of(requests, budgets, cluster.clock.now())
        header = HEADER if namespace else WIDE_HEADER
        terminal.echo_lines(aligned([header, *(row.cells(namespace=not namespace) for row in rows)]))
    present = [_pod(one) for one in found]
    for missing in [pod for pod in pods if pod not in present] if pods else []:
        terminal.echo(f"No eviction request for pod {missing}{_where(namespace)}.", err=True)
    if not found and not pods:
        terminal.echo(f"No eviction requests{_where(namespace)}.", err=True)


def _pod(request: Obj) -> str:
    return str(dig(request, "spec", "target", "podRef", "name"))


def _where(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else ""
