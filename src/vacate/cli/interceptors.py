"""`vacate interceptors`: who is registered, for how many pods, who answers, and who may report for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import click

from vacate.api.kinds import PODS, VALIDATINGADMISSIONPOLICIES
from vacate.api.objectnames import STATUS_AUTHORITY
from vacate.api.objects import Obj
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.exitcodes import interrupted
from vacate.cli.common.output import aligned, output_option, print_object
from vacate.cli.common.queries import list_all_requests
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.text import columns_of, safe
from vacate.cli.status.layout import wrapped
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
from vacate.views.phrases import NOTHING


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

    async def work() -> None:
        async with connected(reach) as cluster:
            await _show(cluster, "" if everywhere else cluster.namespace, output)

    if run_until_signalled(work):
        interrupted()


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
        terminal.echo_lines(interceptor_layout(found, cluster.clock.now(), terminal.columns()))
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


def interceptor_layout(
    summaries: Sequence[InterceptorSummary], now: dt.datetime, width: int = 0
) -> list[str]:
    """A table, or where the terminal is too narrow for it a few lines for each interceptor."""
    rows = [row(one, now) for one in summaries]
    table = aligned([HEADER, *rows])
    if not width or max(map(columns_of, table)) <= width:
        return table
    lines: list[str] = []
    for name, pods, active, turns, unanswered, timed_out, answered, state, bound in rows:
        counts = f"pods {pods}, active {active}, turns {turns}, unanswered {unanswered}, "
        counts += f"timed out {timed_out}"
        last = f"; last answer {answered}" if answered != NOTHING else ""
        account = f"bound to {bound}" if bound != NOTHING else "not bound to an account"
        lines += [
            safe(name), *wrapped(f"{state}{last}", width), *wrapped(counts, width), *wrapped(account, width)
        ]  # fmt: skip
    return lines


async def _pods(cluster: Cluster, namespace: str) -> list[Obj]:
    return [one async for page in cluster.client.pages(PODS, namespace) for one in page.items]
