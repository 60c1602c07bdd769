"""`vacate install` and `vacate uninstall`: Vacate in any cluster, and out of it again."""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

import click

from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, connected
from vacate.cli.common.exitcodes import INTERRUPTED, TIMED_OUT
from vacate.cli.common.parameters import span_between
from vacate.cli.common.run import Work, run_until_signalled
from vacate.cli.common.serveroptions import kubeconfig_options
from vacate.cli.install.options import install_options, own_namespace
from vacate.cli.install.settings import settings_of
from vacate.entropy import system_entropy
from vacate.install import objects
from vacate.install.apply.installer import Installer, InstallOptions
from vacate.install.apply.rollout import Rollout
from vacate.install.apply.uninstaller import Uninstaller
from vacate.install.manifest import manifests
from vacate.install.settings import DEFAULT_NAMESPACE, Settings
from vacate.views.phrases import span

_A_DAY = 86400.0


@click.command()
@click.option("--print", "print_only", is_flag=True, help="Print all objects as YAML; needs no cluster.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would change, as a server-side dry run; change nothing."
)
@click.option(
    "--wait",
    type=span_between(1.0, _A_DAY),
    is_flag=False,
    flag_value="5m",
    metavar="[SPAN]",
    help="Wait until everything is ready, or fail after this time; 5m if none is given.",
)
@click.option(
    "--prune/--no-prune",
    default=True,
    show_default=True,
    help="Remove objects that only an earlier installation had.",
)
@kubeconfig_options
@install_options
def install(
    print_only: bool,
    dry_run: bool,
    wait: dt.timedelta | None,
    prune: bool,
    kubeconfig: str,
    context: str,
    **chosen: Any,
) -> None:
    """Install Vacate into a cluster, or upgrade it there.

    Applies CustomResourceDefinitions, roles, manager, webhook and admission in the order of their
    dependencies. Repeating it changes only what differs; what others wrote into the objects stays, and so do
    all EvictionRequests. Needs Kubernetes 1.33 or newer, and an administrator.

    Exit codes: 0 done, 1 refused or failed, 2 usage, 4 not ready in time, 130 interrupted.
    """
    if ((dry_run or print_only) and wait is not None) or (dry_run and print_only):
        raise click.UsageError("--print, --dry-run and --wait: give only one of them")
    settings = settings_of(**chosen)
    if settings.eviction_bridge and not (settings.client_ca or settings.webhook_sources):
        terminal.echo(_BRIDGE_IS_OPEN, err=True)
    if print_only:
        terminal.echo_document(manifests(objects(settings)))
        return
    left: list[str] = []

    async def work() -> None:
        async with connected(Connection(kubeconfig, context)) as cluster:
            options = InstallOptions(dry_run, prune, wait is not None)
            installer = Installer(cluster.client, cluster.clock, system_entropy(), terminal.echo, options)
            await installer.install(settings)
            if wait is not None:
                left.extend(await _ready(cluster, settings, wait))

    _run(work)
    if left:
        _complain(left, wait)
    if not dry_run:
        _say_what_is_next(settings, ready=wait is not None)


@click.command()
@click.option(
    "--namespace",
    "-n",
    type=own_namespace,
    default=DEFAULT_NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="Where Vacate was installed.",
)
@click.option(
    "--crds",
    is_flag=True,
    help="Remove the CustomResourceDefinitions too, and with them all objects of Vacate's kinds.",
)
@kubeconfig_options
def uninstall(namespace: str, crds: bool, kubeconfig: str, context: str) -> None:
    """Remove Vacate from a cluster.

    Webhook configurations are removed first, so that nothing is refused meanwhile. The objects of
    Vacate's kinds and the CustomResourceDefinitions stay unless --crds is given.
    """

    async def work() -> None:
        async with connected(Connection(kubeconfig, context)) as cluster:
            uninstaller = Uninstaller(cluster.client, cluster.clock, system_entropy(), terminal.echo)
            await uninstaller.uninstall(namespace, definitions=crds)

    _run(work)


_BRIDGE_IS_OPEN = (
    "Warning: --eviction-bridge: any pod that reaches the webhook can send it a review, and so request "
    "evictions of pods that have interceptors. Name the API servers' addresses with --webhook-from, or let "
    "them authenticate with --webhook-client-ca."
)


def _run(work: Work) -> None:
    if run_until_signalled(work):
        terminal.echo("Interrupted. Run the same command again to continue.", err=True)
        sys.exit(INTERRUPTED)


async def _ready(cluster: Cluster, settings: Settings, longest: dt.timedelta) -> list[str]:
    rollout = Rollout(cluster.client, cluster.clock, system_entropy(), settings, terminal.echo)
    return await rollout.wait(longest.total_seconds())


def _complain(left: list[str], longest: dt.timedelta | None) -> None:
    for line in left:
        terminal.error(line)
    waited = "" if longest is None else f" after {span(longest)}"
    terminal.echo(f"Installed, but not ready{waited}; run the same command again to go on waiting.", err=True)
    sys.exit(TIMED_OUT)


def _say_what_is_next(settings: Settings, *, ready: bool) -> None:
    if not settings.deploys_webhook:
        terminal.echo(f"Installed. The webhook is expected at {settings.webhook_url}")
    elif ready:
        terminal.echo("Installed, and ready.")
    else:
        terminal.echo("Installed. The same command with --wait returns when it is ready.")
