"""`vacate web`: drains, requests and what holds them, in a browser, with the rights of the user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import webbrowser
from collections.abc import AsyncIterator

import click

from vacate.api.installednames import WEB_PORT
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_scope_options, connected
from vacate.cli.common.program import program_name
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.serveroptions import health_options, host_name, site_address
from vacate.cli.identity import cluster_user
from vacate.client.kubeconfig import context_name

DEFAULT_PORT = WEB_PORT


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port on 127.0.0.1; 0 takes any free one.",
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
@click.option(
    "--sign-in",
    is_flag=True,
    help="Serve the pages to many users, each with their own token; this program uses no credentials. For "
    "a pod: `vacate install --web`.",
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=host_name,
    metavar="NAME[:PORT]",
    help="With --sign-in: a name under which a proxy serves the pages. Can be repeated.",
)
@click.option(
    "--dashboard",
    type=site_address,
    metavar="URL",
    help="Where Vacate's Grafana dashboard is; each page links to it.",
)
@health_options(8085)
@cluster_scope_options
def web(
    port: int,
    browser: bool,
    sign_in: bool,
    hosts: tuple[str, ...],
    dashboard: str | None,
    metrics_port: int,
    metrics_address: str,
    reach: Connection,
) -> None:
    """Show drains, requests and what holds them in a browser until Ctrl-C.

    Listens on 127.0.0.1 only and reads the cluster with your kubeconfig and your rights, as kubectl proxy
    does; nothing is installed. The address that it prints lets one browser in, once. What you may not read
    is named on the page.

    Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 refused or failed, 2 usage.
    """

    if hosts and not sign_in:
        raise click.UsageError("--host: without --sign-in the pages are on this machine only; give it too")
    if sign_in:
        run_until_signalled(
            lambda: _serve_users(port, hosts, (metrics_address, metrics_port), reach, dashboard or "")
        )
        return

    async def work() -> None:
        async with (
            connected(reach) as cluster,
            pages_served(cluster, reach, port, browser=browser, dashboard=dashboard or ""),
        ):
            await asyncio.Event().wait()

    run_until_signalled(work)


@contextlib.asynccontextmanager
async def pages_served(
    cluster: Cluster, reach: Connection, port: int, *, browser: bool, dashboard: str = ""
) -> AsyncIterator[None]:
    """Serve the pages for as long as the block runs; print the address, and open it where that is wanted."""
    # Help and refused options need none of it.
    from vacate.cli.web.reads import reads_of, run_at  # noqa: PLC0415
    from vacate.entropy import system_entropy  # noqa: PLC0415
    from vacate.web.feed import Feed  # noqa: PLC0415
    from vacate.web.server import WebServer  # noqa: PLC0415
    from vacate.web.site import Site  # noqa: PLC0415
    from vacate.web.visitors import OneBrowser  # noqa: PLC0415

    entropy = system_entropy()
    user, context = await cluster_user(cluster), context_name(reach.kubeconfig, reach.context)
    feed = Feed(
        cluster.client, cluster.clock, entropy,
        context=context, program=program_name(), user=user, dashboard=dashboard,
    )  # fmt: skip
    site = Site(feed, reads_of(cluster, run_at(reach)))
    server = WebServer(OneBrowser(site, entropy), entropy)
    async with feed.running(), server.listening(port) as address:
        terminal.echo(f"Open {address}")
        terminal.echo("It lets one browser in, once. End with Ctrl-C.")
        await open_page(address, wanted=browser)
        yield


async def open_page(address: str, *, wanted: bool) -> None:
    """Open it in a browser where that is wanted and one has a window to open."""
    if wanted and _has_display():
        await asyncio.to_thread(webbrowser.open, address)


async def _serve_users(
    port: int, hosts: tuple[str, ...], health_at: tuple[str, int], reach: Connection, dashboard: str
) -> None:
    """Serve the pages to users who sign in, until the process is ended."""
    from vacate.cli.web.users import pages_of  # noqa: PLC0415
    from vacate.client.incluster import load_server  # noqa: PLC0415
    from vacate.clock import SystemClock  # noqa: PLC0415
    from vacate.entropy import system_entropy  # noqa: PLC0415
    from vacate.httpserver.healthserver import HealthServer  # noqa: PLC0415
    from vacate.metrics import Metrics  # noqa: PLC0415
    from vacate.web.server import WebServer  # noqa: PLC0415
    from vacate.web.signin import SignIn, Users  # noqa: PLC0415

    entropy, clock = system_entropy(), SystemClock()
    users = Users(pages_of(load_server(reach.kubeconfig, reach.context), dashboard), clock, entropy)
    server = WebServer(SignIn(users, clock, entropy, hosts), entropy)
    health = HealthServer(Metrics(), lambda: "", "web")
    async with server.listening(port) as address:
        await health.start(*health_at)
        try:
            terminal.echo(f"Open {address}")
            terminal.echo(f"vacate web: health and metrics on http://{health_at[0]}:{health.port}")
            await asyncio.Event().wait()
        finally:
            await health.stop()


def _has_display() -> bool:
    """Whether a browser has a window to open; one that runs in the terminal would take it over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
