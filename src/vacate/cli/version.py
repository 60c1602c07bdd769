"""`vacate version`: of this program, of the API server, and whether it serves EvictionRequests."""

from __future__ import annotations

import platform

import click
import orjson

from vacate import __version__
from vacate.api.installednames import LIFECYCLE_CONTROLLER
from vacate.api.objects import Obj
from vacate.api.text import plain
from vacate.cli.common import terminal
from vacate.cli.common.apis import chosen_api
from vacate.cli.common.connection import Cluster, Connection, run_on_cluster
from vacate.cli.common.output import output_option, print_object
from vacate.cli.common.serveroptions import kubeconfig_options
from vacate.errors import TransportError
from vacate.runtime.managerlease import manager_leases
from vacate.wire.message import Request


@click.command()
@click.option("--client", "client_only", is_flag=True, help="Only this program's version; needs no cluster.")
@kubeconfig_options
@output_option()
def version(client_only: bool, kubeconfig: str, context: str, output: str) -> None:
    """Show the versions of this program and of the cluster.

    Exit codes: 0 done, 1 where the cluster does not answer: the client's version is printed all the same.
    """
    own: Obj = {"version": __version__, "python": platform.python_version()}
    found: Obj = {"client": own}
    if not output:
        terminal.echo(f"client  vacate {__version__}, Python {own['python']}")

    try:
        if not client_only:
            found["server"] = run_on_cluster(Connection(kubeconfig, context), _server)
    finally:
        if output:
            print_object(found, output)
    if "server" in found and not output:
        terminal.echo(f"server  Kubernetes {found['server']['version']}")
        terminal.echo(f"        {_requests(found['server']['evictionRequests'])}")
        if other := found["server"].get("lifecycleController"):
            terminal.echo(f"        Evictions of lifecycle.k8s.io are attended to by {other}")


async def _server(cluster: Cluster) -> Obj:
    answer = await cluster.client.send(Request("GET", "/version"))
    try:
        answered = orjson.loads(answer)
        shown = str(answered["gitVersion"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise TransportError("GET /version: the response is not a version") from None
    made: Obj = {"version": shown, "evictionRequests": await _served(cluster)}
    return made | await _lifecycle(cluster)


async def _lifecycle(cluster: Cluster) -> Obj:
    """Who works on lifecycle.k8s.io, as the Lease of the manager says, where that may be read."""
    leases = await manager_leases(cluster.client) or []
    named = (one.metadata.annotations.get(LIFECYCLE_CONTROLLER, "") for one in leases)
    found = next(filter(None, named), "")
    return {"lifecycleController": plain(found)} if found else {}


async def _served(cluster: Cluster) -> str:
    """The version of the API that is served, our own first; empty for none."""
    found = await chosen_api(cluster, None)
    return found.kind.api_version if await cluster.client.serves(found.kind) else ""


def _requests(served: str) -> str:
    if served:
        return f"EvictionRequests are served as {served}"
    return "EvictionRequests are not served: install Vacate with `vacate install`"
