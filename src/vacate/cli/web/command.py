"""`vacate web`: drains, requests and what holds them, in a browser, with the rights of the user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import webbrowser
from collections.abc import AsyncIterator

import click

from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_scope_options, connected
from vacate.cli.common.program import program_name
from vacate.cli.common.run import run_until_signalled
from vacate.cli.identity import cluster_user
from vacate.client.kubeconfig import context_name

DEFAULT_PORT = 7411


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port on 127.0.0.1; 0 takes any free one.",
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
@cluster_scope_options
def web(port: int, browser: bool, reach: Connection) -> None:
    """Show drains, requests and what holds them in a browser until Ctrl-C.

    Listens on 127.0.0.1 only and reads the cluster with your kubeconfig and your rights, as kubectl proxy
    does; nothing is installed. The address that it prints lets one browser in, once. What you may not read
    is named on the page.

    Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 refused or failed, 2 usage.
    """

    async def work() -> None:
        async with connected(reach) as cluster, pages_served(cluster, reach, port, browser=browser):
            await asyncio.Event().wait()

    run_until_signalled(work)


@contextlib.asynccontextmanager
async def pages_served(
    cluster: Cluster, reach: Connection, port: int, *, browser: bool
) -> AsyncIterator[None]:
    """Serve the pages for as long as the block runs; print the address, and open it where that is wanted."""
    # Help and refused options need none of it.
    from vacate.cli.web.reads import reads_of  # noqa: PLC0415
    from vacate.entropy import system_entropy  # noqa: PLC0415
    from vacate.web.feed import Feed  # noqa: PLC0415
    from vacate.web.server import WebServer  # noqa: PLC0415
    from vacate.web.site import Site  # noqa: PLC0415

    entropy = system_entropy()
    user, context = await cluster_user(cluster), context_name(reach.kubeconfig, reach.context)
    feed = Feed(cluster.client, cluster.clock, entropy, context=context, program=program_name(), user=user)
    server = WebServer(Site(feed, reads_of(cluster, reach)), entropy)
    async with feed.running(), server.listening(port) as address:
        terminal.echo(f"Open {address}")
        terminal.echo("It lets one browser in, once. End with Ctrl-C.")
        if browser and _has_display():
            await asyncio.to_thread(webbrowser.open, address)
        yield


def _has_display() -> bool:
    """Whether a browser has a window to open; one that runs in the terminal would take it over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
