"""`vacate node`: a node whose pods are local processes, for any cluster."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from dataclasses import replace
from pathlib import Path

import click

from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option
from vacate.cli.common.kubeletconfig import read_kubelet_config
from vacate.cli.common.parameters import subdomain
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.serveroptions import gates_option, kubeconfig_options, log_to_stderr
from vacate.cli.node.reboot import reboot
from vacate.cli.node.shutdown import shutdown
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.features import FeatureGates
from vacate.httpserver.healthserver import HealthServer
from vacate.metrics import Metrics
from vacate.nodeagent.settings import TAINT, AgentSettings
from vacate.wiring.components import ComponentContext
from vacate.wiring.loglistener import LogListener, LogListenerSettings
from vacate.wiring.nodeagent import build_agent, container_environment, own_address

DEFAULT_FOLDER = "~/.vacate/nodes"

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_-]*=[A-Za-z0-9._-]*")


def _address(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if not value:
        return ""
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ConfigError(f"--address: {value!r} is not an IP address") from None


def _labels(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    for one in value:
        if not _LABEL.fullmatch(one):
            raise ConfigError(f"--label: {one!r} is not KEY=VALUE, such as disk=fast")
    return dict(one.split("=", 1) for one in value)


@click.group(invoke_without_command=True)
@click.option("--name", default=None, type=subdomain, metavar="NAME", help="Name of the node; required.")
@kubeconfig_options
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help=f"Folder for pods, logs and the record of what runs; {DEFAULT_FOLDER}/NAME by default.",
)
@click.option(
    "--address",
    default="",
    callback=_address,
    metavar="IP",
    help="Address of the node and of its pods; detected by default.",
)
@click.option(
    "--pod-addresses",
    type=click.Choice(["node", "loopback"]),
    default="node",
    show_default=True,
    help="Give pods the node's address, or each a loopback address of its own.",
)
@click.option(
    "--taint/--no-taint",
    default=True,
    show_default=True,
    help=f"Run only pods that tolerate the taint {TAINT} by name.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="A KubeletConfiguration; its fields for graceful node shutdown and for eviction are used.",
)
@api_option(
    "The API in which a shutdown requests evictions of pods with interceptors.", EVICTION_REQUEST.name
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="PORT",
    help="HTTPS port from which API servers read logs; 0 takes any free one.",
)
@click.option(
    "--client-ca",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="CA of the certificate that API servers present there, PEM; the kubeconfig's by default.",
)
@click.option(
    "--tls-cert-file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="Certificate to serve there, if API servers verify it. Self-signed by default.",
)
@click.option(
    "--tls-private-key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="Private key of --tls-cert-file.",
)
@gates_option
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Port on 127.0.0.1 for /healthz, /readyz and /metrics; 0 takes any free one. None by default.",
)
@click.option(
    "--stop-pods",
    is_flag=True,
    help="Terminate the pods together with the agent; by default they continue to run.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    callback=_labels,
    metavar="KEY=VALUE",
    help="Label of the node. Can be repeated.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what the agent does.")
@click.pass_context
def node(
    ctx: click.Context,
    name: str | None,
    kubeconfig: str,
    context: str,
    folder: Path | None,
    address: str,
    pod_addresses: str,
    taint: bool,
    config_file: Path | None,
    dialect: Dialect | None,
    port: int,
    client_ca: Path | None,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    gates: FeatureGates,
    metrics_port: int | None,
    stop_pods: bool,
    labels: dict[str, str],
    verbose: bool,
) -> None:
    """Run pods as local processes until Ctrl-C or SIGTERM.

    Registers a node and runs the pods bound to it: no images and no isolation. For laptops and tests. Pods
    continue to run when the agent ends; the same command finds them again.
    """
    if ctx.invoked_subcommand is not None:
        return
    if not name:
        raise click.UsageError("Missing option '--name'.")
    log_to_stderr(verbose=verbose)
    logging.getLogger("vacate.nodeagent.shutdown").setLevel(logging.INFO)  # rare, and asked for afterwards
    if folder == Path():
        raise ConfigError("--dir: name a folder, such as ./node; the current one would be filled with files")
    config = load_config(kubeconfig, context)
    going_down, pressure = read_kubelet_config(config_file, gates)
    settings = AgentSettings(
        name,
        (folder or Path(DEFAULT_FOLDER) / name).expanduser().absolute(),
        address or own_address(),
        loopback_pods=pod_addresses == "loopback",
        taint=taint,
        shutdown=going_down,
        dialect=dialect or EVICTION_REQUEST,
        pressure=pressure,
        stop_pods=stop_pods,
        labels=labels,
        base_env=container_environment(config.server),
    )
    if (tls_cert_file is None) != (tls_private_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file belong together; give both")
    authority = _read(client_ca) if client_ca is not None else config.ca_data
    made = settings.folder / "serving.pem"
    logs = LogListenerSettings(settings.address, port, authority, made, tls_cert_file, tls_private_key_file)
    run_until_signalled(lambda: _serve(HttpTransport(config, SystemClock()), settings, logs, metrics_port))


node.add_command(shutdown)
node.add_command(reboot)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"--client-ca: {path}: cannot be read: {error.strerror}") from None


async def _serve(
    transport: HttpTransport, settings: AgentSettings, logs: LogListenerSettings, metrics_port: int | None
) -> None:
    around = ComponentContext(SystemClock(), system_entropy(), Metrics())
    # Without an authority nobody could be let in, so that there is no port, and kubectl logs says so.
    listener = LogListener(logs, settings.name, around.clock) if logs.client_ca else None
    if listener is not None:
        settings = replace(settings, port=await listener.start())
    agent = build_agent(transport, settings, around)
    if listener is not None:
        listener.serve(agent)
    health = HealthServer(around.metrics, agent.manager.not_ready, "node")
    try:
        if metrics_port is not None:
            await health.start("127.0.0.1", metrics_port)
            terminal.echo(f"health and metrics: http://127.0.0.1:{health.port}")
        async with asyncio.TaskGroup() as group:
            running = group.create_task(agent.run())
            await agent.wait_ready()
            terminal.echo(f"node {settings.name} is up: pods are processes of this machine")
            terminal.echo(f"folder: {settings.folder}")
            await running
    finally:
        await health.stop()
        if listener is not None:
            await listener.stop()
        await transport.aclose()
