"""`vacate hooks`: calls services and runs Jobs before pods are evicted, as a process of its own."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from vacate.cli.common.controllers import serve_controllers
from vacate.cli.common.serveroptions import (
    election_options,
    gates_option,
    health_options,
    kubeconfig_options,
    log_to_stderr,
)
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.features import FeatureGates
from vacate.interceptors.hooks.allowlistfile import AllowListFile
from vacate.metrics import Metrics
from vacate.wiring.components import ComponentContext
from vacate.wiring.hooks import COMPONENT, hook_controllers
from vacate.wiring.manager import ManagerParts, ManagerSettings


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The allow-list: which services pods may name, and where Jobs may be run. Reloaded when it changes.",
)
@kubeconfig_options
@election_options("copies")
@health_options(8085)
@gates_option
@click.option("--verbose", "-v", is_flag=True, help="Log what the interceptor does.")
def hooks(
    config_file: Path,
    kubeconfig: str,
    context: str,
    leader_elect: bool,
    lease_namespace: str,
    metrics_port: int,
    metrics_address: str,
    gates: FeatureGates,
    verbose: bool,
) -> None:
    """Run the interceptor hooks.vacate.dev until Ctrl-C or SIGTERM.

    Before a pod is evicted it calls the service, or runs the Job, that the pod's annotations name. What they
    may name is the administrator's list. `vacate install --hooks FILE` deploys it under an account of its
    own.
    """
    log_to_stderr(verbose=verbose)
    logging.getLogger("vacate.interceptors.hooks").setLevel(logging.INFO)  # rare, and asked for afterwards
    allowed = AllowListFile(config_file)
    settings = ManagerSettings(gates, leader_elect, lease_namespace)
    transport = HttpTransport(load_config(kubeconfig, context), SystemClock())
    around = ComponentContext(SystemClock(), system_entropy(), Metrics(), gates)
    controllers = hook_controllers(allowed.current, gates)
    serve_controllers(
        "hooks",
        transport,
        around.metrics,
        lambda: ManagerParts(transport, around, settings, controllers, COMPONENT),
        (metrics_address, metrics_port),
    )
