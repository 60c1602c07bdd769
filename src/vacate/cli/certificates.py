"""`vacate certificates`: the webhook's certificate, made and renewed by a process that listens nowhere."""

from __future__ import annotations

from pathlib import Path

import click

from vacate.api.installednames import DEFAULT_NAMESPACE
from vacate.cli.common import terminal
from vacate.cli.common.parameters import namespace_name
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.serveroptions import kubeconfig_options, log_to_stderr
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.metrics import Metrics
from vacate.webhook.certificates.secret import NAME
from vacate.wiring.certificates import SERVICE, CertificateParts, CertificateSettings
from vacate.wiring.components import ComponentContext


@click.command()
@kubeconfig_options
@click.option(
    "--namespace",
    "-n",
    type=namespace_name,
    default=DEFAULT_NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="Namespace of the Secret and of the webhook's Service.",
)
@click.option("--service", default=SERVICE, show_default=True, metavar="NAME", help="Service of the webhook.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Additional name or address for the certificate. Can be repeated.",
)
@click.option(
    "--cert-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write tls.crt and tls.key there as well, for a webhook outside the cluster.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what is renewed.")
def certificates(
    kubeconfig: str,
    context: str,
    namespace: str,
    service: str,
    hosts: tuple[str, ...],
    cert_dir: Path | None,
    verbose: bool,
) -> None:
    """Issue and renew the webhook's certificate until Ctrl-C or SIGTERM.

    It is kept in the Secret vacate-webhook-tls, which the webhook's pods mount, and its CA in both webhook
    configurations. `vacate install` runs this beside the webhook, with an account of its own, unless
    cert-manager makes the certificate. It opens no port.
    """
    log_to_stderr(verbose=verbose)
    settings = CertificateSettings(namespace, service, hosts, cert_dir)
    transport = HttpTransport(load_config(kubeconfig, context), SystemClock())
    run_until_signalled(lambda: _rotate(transport, settings))


async def _rotate(transport: HttpTransport, settings: CertificateSettings) -> None:
    around = ComponentContext(SystemClock(), system_entropy(), Metrics())
    try:
        terminal.echo(f"vacate certificates: keeping Secret {settings.namespace}/{NAME}")
        await CertificateParts(transport, around, settings).run()
    finally:
        await transport.aclose()
