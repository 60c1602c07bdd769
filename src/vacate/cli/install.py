"""`vacate install` and `vacate uninstall`: Vacate in any cluster, and out of it again."""

from __future__ import annotations

from typing import Any

import click

from vacate.cli.install_options import install_options, own_namespace, settings_of
from vacate.cli.reach import Reach, connected
from vacate.cli.run import run_until_signalled
from vacate.install import objects
from vacate.install.applying import Installer
from vacate.install.manifest import manifests
from vacate.install.removing import Uninstaller
from vacate.install.settings import DEFAULT_NAMESPACE, Settings

_kubeconfig = click.option(
    "--kubeconfig", default="", metavar="FILE", help="Kubeconfig to use instead of KUBECONFIG."
)
_context = click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")


@click.command()
@click.option(
    "--print", "print_only", is_flag=True, help="Print all objects as YAML instead; no cluster is asked."
)
@_kubeconfig
@_context
@install_options
def install(print_only: bool, kubeconfig: str, context: str, **chosen: Any) -> None:
    """Install Vacate into a cluster, or upgrade it there.

    Definition, roles, manager, webhook and admission, in the order in which they need each other. Doing it
    again changes only what differs; what others wrote into the objects stays, and so do all
    EvictionRequests. Needs Kubernetes 1.33 or newer, and an administrator.
    """
    settings = settings_of(**chosen)
    if print_only:
        click.echo(manifests(objects(settings)), nl=False)
        return

    async def work() -> None:
        async with connected(Reach(kubeconfig, context)) as cluster:
            await Installer(cluster.client, cluster.clock, click.echo).install(objects(settings))

    if run_until_signalled(work):
        raise click.ClickException("interrupted; the same command goes on where it was")
    _say_what_is_next(settings)


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
    "--crds", is_flag=True, help="Remove the definition as well, and every EvictionRequest with it."
)
@_kubeconfig
@_context
def uninstall(namespace: str, crds: bool, kubeconfig: str, context: str) -> None:
    """Remove Vacate from a cluster.

    Webhook configurations go first, so that nothing is refused meanwhile. EvictionRequests and their
    definition stay unless --crds is given.
    """

    async def work() -> None:
        async with connected(Reach(kubeconfig, context)) as cluster:
            uninstaller = Uninstaller(cluster.client, cluster.clock, click.echo)
            await uninstaller.uninstall(namespace, definitions=crds)

    if run_until_signalled(work):
        raise click.ClickException("interrupted; the same command goes on where it was")


def _say_what_is_next(settings: Settings) -> None:
    if settings.deploys_webhook:
        click.echo(
            f"Installed. Ready when both are: kubectl -n {settings.namespace} rollout status "
            "deployment/vacate-manager deployment/vacate-webhook"
        )
    else:
        click.echo(f"Installed. The webhook is expected at {settings.webhook_url}")
