"""`vacate webhook`: admission of eviction requests on any cluster, as a process of its own."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from vacate.api.identity import INSTALLED_CONTROLLER, INSTALLED_SHUTDOWN_AGENT, StatusAuthority
from vacate.cli.common import terminal
from vacate.cli.common.parameters import span_between
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.serveroptions import (
    PORT,
    allowed_option,
    bridge_wait_option,
    gates_option,
    health_options,
    interceptor_accounts_option,
    kubeconfig_options,
    limit_options,
    log_to_stderr,
    unverified_callers_option,
)
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.eviction.callers import UnverifiedCallers
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.httpserver.healthserver import HealthServer
from vacate.metrics import Metrics
from vacate.wiring.components import ComponentContext
from vacate.wiring.reasonlistener import ReasonSettings
from vacate.wiring.webhook import WebhookParts, WebhookSettings

_SERVICE_ADDRESS = "VACATE_WEBHOOK_SERVICE_HOST"


@click.command()
@kubeconfig_options
@click.option(
    "--port", type=PORT, default=9443, show_default=True, help="HTTPS port for reviews; 0 takes any free one."
)
@click.option(
    "--address",
    default="0.0.0.0",  # noqa: S104  API servers come from outside
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on for reviews.",
)
@click.option(
    "--cert-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Serve the certificate tls.crt and tls.key of this folder, and reload it when it changes.",
)
@click.option(
    "--rules",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Rules by which new pods register interceptors. Reloaded when it changes.",
)
@click.option(
    "--client-ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Accept reviews only with a client certificate of this CA, PEM. Reloaded when it changes.",
)
@click.option(
    "--client-name",
    "client_names",
    multiple=True,
    metavar="NAME",
    help="Common name that the client certificate must have. Can be repeated.",
)
@click.option(
    "--max-reviews",
    "reviews",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    metavar="N",
    help="How many reviews may be in progress at once; more are answered with 429.",
)
@allowed_option
@interceptor_accounts_option
@click.option(
    "--manager-user",
    "manager_users",
    multiple=True,
    metavar="USER",
    help="User name of a manager; only managers write the progress of requests. "
    "By default the service account vacate-manager in vacate-system. Can be repeated.",
)
@click.option(
    "--shutdown-agent-user",
    "agent_users",
    multiple=True,
    metavar="USER",
    help="User name of shutdown agents, which request evictions of pods of their own node only. "
    "By default the service account vacate-shutdown-agent in vacate-shutdown-agent. Can be repeated.",
)
@click.option(
    "--eviction-bridge",
    "bridge",
    is_flag=True,
    help="Answer direct evictions of pods that have interceptors with 429 until the interceptors are done.",
)
@bridge_wait_option
@unverified_callers_option
@click.option(
    "--termination-reasons",
    "reasons",
    is_flag=True,
    help="Annotate pods with the reason when anyone but Vacate deletes or evicts them.",
)
@click.option(
    "--prestop-wrapper",
    "wrapper_image",
    metavar="IMAGE",
    help="Wrap the preStop hooks of new pods in the program of this image, which asks for the reason.",
)
@click.option(
    "--reasons-port",
    type=PORT,
    default=9444,
    show_default=True,
    help="HTTPS port at which wrapped hooks ask for the reason.",
)
@click.option(
    "--reasons-host",
    default="vacate-webhook.vacate-system.svc",
    show_default=True,
    metavar="NAME",
    help="Host name by which they reach that port; the certificate must be valid for it.",
)
@limit_options
@gates_option
@health_options(8086)
@click.option(
    "--shutdown-delay",
    "delay",
    type=span_between(0.0, 300.0),
    default="0s",
    show_default=True,
    metavar="SPAN",
    help="How long to keep serving, not ready, after SIGTERM, until API servers send no more reviews.",
)
@click.option(
    "--grace",
    type=span_between(0.0, 300.0),
    default="10s",
    show_default=True,
    metavar="SPAN",
    help="How long reviews in progress may take after that.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what the webhook does.")
def webhook(
    kubeconfig: str,
    context: str,
    cert_dir: Path | None,
    metrics_port: int,
    metrics_address: str,
    verbose: bool,
    **chosen: Any,
) -> None:
    """Serve the admission webhook for eviction requests and pods until Ctrl-C or SIGTERM.

    For clusters other than those of `vacate up`, whose API server admits requests itself. `vacate install`
    configures the cluster to send reviews here. `vacate certificates` or cert-manager issues the certificate.
    """
    if cert_dir is None:
        raise click.UsageError(
            "give --cert-dir, the folder with tls.crt and tls.key: reviews come over TLS. "
            "vacate certificates --cert-dir writes them there"
        )
    log_to_stderr(verbose=verbose)
    transport = HttpTransport(load_config(kubeconfig, context), SystemClock())
    settings = _settings(cert_dir, **chosen)
    run_until_signalled(lambda: _serve(transport, settings, metrics_address, metrics_port))


def _settings(
    cert_dir: Path,
    *,
    address: str,
    port: int,
    rules: Path | None,
    allowed: tuple[str, ...],
    interceptors: Mapping[str, tuple[str, ...]],
    manager_users: tuple[str, ...],
    agent_users: tuple[str, ...],
    gates: FeatureGates,
    delay: dt.timedelta,
    grace: dt.timedelta,
    client_ca: Path | None,
    client_names: tuple[str, ...],
    reviews: int,
    bridge: bool,
    bridge_wait: dt.timedelta,
    unverified_callers: str,
    reasons: bool,
    wrapper_image: str | None,
    reasons_port: int,
    reasons_host: str,
    max_interceptors: int | None,
    max_request_duration: dt.timedelta | None,
) -> WebhookSettings:
    if client_names and client_ca is None:
        raise click.UsageError("--client-name: names are looked for in certificates of --client-ca; give it")
    authority = StatusAuthority(
        manager_users or (INSTALLED_CONTROLLER,),
        interceptors,
        shutdown_agents=agent_users or (INSTALLED_SHUTDOWN_AGENT,),
    )
    return WebhookSettings(
        address, port, cert_dir, rules, allowed, authority, gates,
        delay.total_seconds(), grace.total_seconds(),
        client_ca=client_ca, client_names=client_names, reviews=reviews,
        bridge=bridge, bridge_wait=bridge_wait,
        unverified_callers=UnverifiedCallers(unverified_callers), reasons=reasons,
        wrapping=_wrapping(wrapper_image, reasons_host, reasons_port),
        limits=Limits(max_interceptors, max_request_duration),
    )  # fmt: skip


def _wrapping(image: str | None, host: str, port: int) -> ReasonSettings | None:
    """The address of the Service is in the environment of every pod that runs beside it."""
    if image is None:
        return None
    address = os.environ.get(_SERVICE_ADDRESS, "")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        address = ""
    return ReasonSettings(image, host, address, port=port)


async def _serve(transport: HttpTransport, settings: WebhookSettings, host: str, port: int) -> None:
    around = ComponentContext(SystemClock(), system_entropy(), Metrics(), settings.gates)
    parts = WebhookParts(transport, around, settings)
    health = HealthServer(around.metrics, parts.not_ready, "webhook")
    try:
        await health.start(host, port)
        terminal.echo(f"vacate webhook: health and metrics on http://{host}:{health.port}")
        async with asyncio.TaskGroup() as group:
            group.create_task(_announce(parts, settings.address))
            group.create_task(parts.run())
    finally:
        await health.stop()
        await transport.aclose()


async def _announce(parts: WebhookParts, address: str) -> None:
    await parts.listening()
    terminal.echo(f"vacate webhook: taking reviews on https://{address}:{parts.port}")
    if parts.reasons_port:
        terminal.echo(
            f"vacate webhook: serving termination reasons on https://{address}:{parts.reasons_port}"
        )
