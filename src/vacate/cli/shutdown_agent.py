"""`vacate shutdown-agent`: ends the pods of a stock kubelet's node in order when the machine goes down."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path

import click

from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option
from vacate.cli.common.kubeletconfig import read_config_file
from vacate.cli.common.parameters import subdomain
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.serveroptions import gates_option, health_options, kubeconfig_options, log_to_stderr
from vacate.client.config import ClusterConfig
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
from vacate.nodeagent.runtime.supervisor.procfs import boot_id
from vacate.nodeagent.shutdown.logind import DROP_INS, DBusLogind
from vacate.nodeagent.shutdownagent import launcher
from vacate.nodeagent.shutdownagent.agent import ShutdownAgentSettings
from vacate.nodeagent.shutdownagent.heldlock import ParentLock
from vacate.wiring.components import ComponentContext
from vacate.wiring.shutdownagent import build_shutdown_agent

DEFAULT_FOLDER = "/var/lib/vacate-shutdown-agent"


@click.command("shutdown-agent")
@click.option(
    "--node-name",
    required=True,
    type=subdomain,
    envvar="NODE_NAME",
    metavar="NAME",
    help="The node of this machine; NODE_NAME by default.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="A KubeletConfiguration; its fields for graceful node shutdown are used.",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(DEFAULT_FOLDER),
    show_default=True,
    help="Folder for the record of the last shutdown; it must survive a reboot.",
)
@click.option(
    "--logind-drop-ins",
    "drop_ins",
    type=click.Path(file_okay=False, path_type=Path),
    default=DROP_INS,
    show_default=True,
    help="Folder of logind's drop-ins; written only if logind allows too short a delay.",
)
@click.option(
    "--kubelet-url",
    default="",
    envvar="KUBELET_URL",
    metavar="URL",
    help="Address of the node's kubelet; https://HOST_IP:10250 by default.",
)
@click.option(
    "--kubelet-insecure-tls",
    is_flag=True,
    help="Accept any certificate of the kubelet, for example a self-signed one.",
)
@api_option("The API in which evictions of pods with interceptors are requested.", EVICTION_REQUEST.name)
@click.option("--pod-uid", default="", envvar="POD_UID", metavar="UID", help="UID of the agent's own pod.")
@kubeconfig_options
@health_options(8085)
@gates_option
@click.option("--verbose", "-v", is_flag=True, help="Log what the agent does.")
def shutdown_agent(
    node_name: str,
    config_file: Path,
    folder: Path,
    drop_ins: Path,
    kubelet_url: str,
    kubelet_insecure_tls: bool,
    dialect: Dialect | None,
    pod_uid: str,
    kubeconfig: str,
    context: str,
    metrics_port: int,
    metrics_address: str,
    gates: FeatureGates,
    verbose: bool,
) -> None:
    """Terminate the pods of a stock kubelet's node in order when its machine shuts down.

    Runs as a pod on every node; `vacate install --shutdown-agent` creates the DaemonSet. It needs the
    socket of the system bus, and refuses to work beside a kubelet that would terminate the same pods at
    the same time.
    """
    config = read_config_file(config_file, gates)
    cluster = load_config(kubeconfig, context)
    # Before the parent is there, which would start an agent that cannot work again and again.
    kubelet = _kubelet(cluster, kubelet_url, insecure=kubelet_insecure_tls)
    _make(folder)
    if launcher.SOCKET not in os.environ:
        # The process that people start becomes the parent, which holds the lock; the agent is its child.
        command = [sys.executable, "-m", "vacate", *sys.argv[1:]]
        os.execv(sys.executable, [sys.executable, "-m", launcher.__name__, *command])  # noqa: S606
    log_to_stderr(verbose=verbose)
    logging.getLogger("vacate.nodeagent").setLevel(logging.INFO)  # rare, and asked for afterwards
    settings = ShutdownAgentSettings(
        node_name,
        config,
        folder,
        pod_uid,
        boot_id(),
        dialect or EVICTION_REQUEST,
        lambda: read_config_file(config_file, gates),
    )

    async def work() -> None:
        clock = SystemClock()
        around = ComponentContext(clock, system_entropy(), Metrics(), gates)
        transport, node = HttpTransport(cluster, clock), HttpTransport(kubelet, clock)
        holder = ParentLock(socket.socket(fileno=int(os.environ[launcher.SOCKET])))
        logind = DBusLogind(drop_ins=drop_ins, node=node_name)
        agent = build_shutdown_agent(transport, node, settings, logind, holder, around)
        health = HealthServer(around.metrics, agent.manager.not_ready, "shutdown agent")
        stop = asyncio.Event()
        # A shutdown that is under way is finished first: the kubelet of the node may be waiting for that.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        if launcher.STOPPING in os.environ:
            stop.set()
        try:
            await health.start(metrics_address, metrics_port)
            terminal.echo(
                f"vacate shutdown-agent: health and metrics on http://{metrics_address}:{health.port}"
            )
            await agent.run(stop)
        finally:
            await health.stop()
            await transport.aclose()
            await node.aclose()

    run_until_signalled(work)


def _kubelet(cluster: ClusterConfig, url: str, *, insecure: bool) -> ClusterConfig:
    """The kubelet takes the same credentials as the API server."""
    host = os.environ.get("HOST_IP", "127.0.0.1")
    server = url or (f"https://[{host}]:10250" if ":" in host else f"https://{host}:10250")
    if not server.startswith("https://"):
        raise ConfigError(f"--kubelet-url: {server!r} is not https://HOST:PORT")
    return ClusterConfig(
        server,
        b"" if insecure else cluster.ca_data,
        insecure,
        client_certificate=cluster.client_certificate,
        client_key=cluster.client_key,
        token=cluster.token,
        token_file=cluster.token_file,
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    except OSError as error:
        raise ConfigError(
            f"--dir: {folder} cannot be used: {error.strerror}; choose another folder"
        ) from error
