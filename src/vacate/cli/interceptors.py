"""`vacate interceptors`: who is registered, for how many pods, who answers, and who may report for them."""

from __future__ import annotations

import click

from vacate.api.installednames import STATUS_AUTHORITY
from vacate.api.kinds import PODS, VALIDATINGADMISSIONPOLICIES
from vacate.api.objects import Obj
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_options, run_on_cluster
from vacate.cli.common.output import output_option, print_object, table
from vacate.cli.common.queries import list_all_requests
from vacate.errors import Forbidden, NotFound, UnreadableObject
from vacate.install.policy_authority import bound_accounts
from vacate.views.interceptors import (
    HEADER,
    Bindings,
    InterceptorSummary,
    as_object,
    interceptor_summaries,
    row,
    unbound_notice,
)


@click.command()
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Pods of all namespaces.")
@cluster_options
@output_option()
def interceptors(everywhere: bool, reach: Connection, output: str) -> None:
    """Show registered interceptors and whether they answer.

    PODS counts the pods that register the interceptor, ACTIVE the open requests in which it has the turn,
    TURNS those that have ended, and UNANSWERED those of them in which it never responded. Requests are
    deleted with their pods, so turns are those of requests that are still there. BOUND TO names the accounts
    that alone may report for it. A warning lists those that are bound to none.

    Exit codes: 0 done, also without interceptors, 1 refused or failed, 2 usage.
    """
    if everywhere and reach.namespace:
        raise click.UsageError("use -A or -n, not both")
    run_on_cluster(reach, lambda cluster: _show(cluster, "" if everywhere else cluster.namespace, output))


async def read_interceptors(cluster: Cluster, namespace: str) -> list[InterceptorSummary]:
    """What pods, requests and the API server's policy show of each."""
    requests = []
    for one in await list_all_requests(cluster, namespace):
        try:
            requests.append(one.typed)
        except UnreadableObject as error:
            terminal.error(error)
    return interceptor_summaries(await _pods(cluster, namespace), requests, await _bindings(cluster))


async def _show(cluster: Cluster, namespace: str, output: str) -> None:
    found = await read_interceptors(cluster, namespace)
    if output:
        print_object({"interceptors": [as_object(one) for one in found]}, output)
    elif found:
        rows = [HEADER, *(row(one, cluster.clock.now()) for one in found)]
        terminal.echo_lines(table(rows, terminal.columns()))
    else:
        where = f"in namespace {namespace}" if namespace else "in any namespace"
        terminal.echo(f"No pod {where} registers an interceptor.")
    if notice := unbound_notice(found):
        terminal.echo(f"Warning: {notice}", err=True)


async def _bindings(cluster: Cluster) -> Bindings | None:
    """As the API server enforces them; None where that cannot be read, as on clusters of `vacate up`."""
    try:
        return bound_accounts(await cluster.client.get(VALIDATINGADMISSIONPOLICIES, STATUS_AUTHORITY))
    except NotFound:
        return None
    except Forbidden as error:
        terminal.echo(f"Which interceptors are bound to accounts is not shown: {error}", err=True)
        return None


async def _pods(cluster: Cluster, namespace: str) -> list[Obj]:
    return [one async for page in cluster.client.pages(PODS, namespace) for one in page.items]
