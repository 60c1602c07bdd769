"""`vacate install` and `vacate uninstall`: Vacate in any cluster, and out of it again."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from vacate.api.installednames import DEFAULT_NAMESPACE, INVENTORY
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, connected
from vacate.cli.common.exitcodes import INTERRUPTED, TIMED_OUT
from vacate.cli.common.parameters import span_between
from vacate.cli.common.program import program_name
from vacate.cli.common.run import Work, run_until_signalled
from vacate.cli.common.serveroptions import kubeconfig_options
from vacate.cli.install.kept import (
    ALL,
    Given,
    KeptOptions,
    as_kept,
    forgotten,
    given_names,
    given_options,
    parsed,
    read_kept,
    read_values,
    reset_option,
    shown,
    values_option,
)
from vacate.cli.install.options import install_options, own_namespace
from vacate.cli.install.settings import settings_of
from vacate.entropy import system_entropy
from vacate.errors import ConfigError, Forbidden
from vacate.install import objects
from vacate.install.apply.installer import Installer, InstallOptions, OptionsChanged
from vacate.install.apply.inventory import Inventory
from vacate.install.apply.preflight import require_not_embedded
from vacate.install.apply.rollout import Rollout
from vacate.install.apply.uninstaller import Uninstaller
from vacate.install.manifest import manifests
from vacate.install.settings import Settings
from vacate.views.phrases import span

_A_DAY = 86400.0


@click.command(cls=KeptOptions)
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
@values_option
@reset_option
@kubeconfig_options
@install_options
@click.pass_context
def install(
    ctx: click.Context,
    /,
    print_only: bool,
    dry_run: bool,
    wait: dt.timedelta | None,
    prune: bool,
    values: Path | None,
    reset: tuple[str, ...],
    kubeconfig: str,
    context: str,
    namespace: str,
    **chosen: Any,
) -> None:
    """Install Vacate into a cluster, or upgrade it there.

    Applies CustomResourceDefinitions, roles, manager, webhook and admission in the order of their
    dependencies. Repeating it changes only what differs; what others wrote into the objects stays, and so do
    all EvictionRequests. Needs Kubernetes 1.33 or newer, and an administrator.

    The cluster keeps the options that are given: an upgrade without them has them still. --reset forgets
    them, and a file for --values declares all of them.

    Exit codes: 0 done, 1 refused or failed, 2 usage, 4 not ready in time, 130 interrupted.
    """
    if ((dry_run or print_only) and wait is not None) or (dry_run and print_only):
        raise click.UsageError("--print, --dry-run and --wait: give only one of them")
    if values is not None and reset:
        raise click.UsageError("--values and --reset: the file declares all options; omit --reset")
    given = given_names(ctx)
    declared = None if values is None else read_values(values)
    chosen = {"namespace": namespace, **{name: chosen[name] for name in given.values() if name in chosen}}
    if print_only:
        terminal.echo_document(manifests(objects(_settings(declared or {}, chosen))))
        return
    made: list[Settings] = []
    left: list[str] = []

    async def attempt(cluster: Cluster) -> Settings:
        await require_not_embedded(
            cluster.client, "nothing was changed. Its options are those of `vacate up`, such as --interceptor"
        )
        seen = await _kept_in(cluster, namespace)
        kept = declared
        if kept is None:
            kept = forgotten(_read(seen, namespace, all_forgotten=ALL in reset), reset)
            for line in shown({name: value for name, value in kept.items() if name not in given}):
                terminal.echo(line)
        settings = _settings(kept, chosen)
        later = as_kept({**kept, **given_options(ctx)})
        options = InstallOptions(dry_run, prune, wait is not None, later, seen)
        installer = Installer(cluster.client, cluster.clock, system_entropy(), terminal.echo, options)
        await installer.install(settings)
        return settings

    async def work() -> None:
        async with connected(Connection(kubeconfig, context)) as cluster:
            while not made:
                with contextlib.suppress(OptionsChanged):  # then with those that another run has left
                    made.append(await attempt(cluster))
            if wait is not None:
                left.extend(await _ready(cluster, made[0], wait))

    _run(work)
    if left:
        _complain(left, wait)
    if not dry_run:
        _say_what_is_next(made[0], ready=wait is not None)


async def _kept_in(cluster: Cluster, namespace: str) -> str:
    try:
        return await Inventory(cluster.client, namespace).options()
    except Forbidden:
        return ""  # all the rights that are missing are named together, before anything is done


def _read(seen: str, namespace: str, *, all_forgotten: bool) -> Given:
    try:
        return read_kept(seen, _source(namespace))
    except ConfigError:
        if all_forgotten:
            return {}
        raise


def _settings(kept: Given, chosen: Mapping[str, Any]) -> Settings:
    with tempfile.TemporaryDirectory(prefix="vacate-install-") as folder:
        settings = settings_of(**{**parsed(kept, Path(folder)), **chosen})
    if settings.eviction_bridge and not (settings.client_ca or settings.webhook_sources):
        terminal.echo(_BRIDGE_IS_OPEN, err=True)
    return settings


def _source(namespace: str) -> str:
    return f"ConfigMap {namespace}/{INVENTORY}, which keeps the options of the installation"


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
    why = f"See why with {program_name()} check; run the same command again to go on waiting."
    terminal.echo(f"Installed, but not ready{waited}. {why}", err=True)
    sys.exit(TIMED_OUT)


def _say_what_is_next(settings: Settings, *, ready: bool) -> None:
    if not settings.deploys_webhook:
        terminal.echo(f"Installed. The webhook is expected at {settings.webhook_url}")
    elif ready:
        terminal.echo("Installed, and ready.")
    else:
        terminal.echo("Installed. The same command with --wait returns when it is ready.")
