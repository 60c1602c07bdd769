"""`vacate manager`: Vacate's controllers for any cluster, as a process of its own."""

from __future__ import annotations

import datetime as dt

import click

from vacate.cli.common.controllers import serve_controllers
from vacate.cli.common.parameters import label_name, namespace_name, node_count
from vacate.cli.common.serveroptions import (
    election_options,
    fencing_addresses_option,
    gates_option,
    health_options,
    kubeconfig_options,
    lifecycle_controller_option,
    limit_options,
    log_to_stderr,
)
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.clock import SystemClock
from vacate.controllers.nodedown.deletionmarks import GATE as DELETION_MARKS
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.eviction.dialects.lifecycle.othercontroller import LifecycleController
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.httpclient.addresses import Network
from vacate.metrics import Metrics
from vacate.runtime.leaderelection import LeaseTimings
from vacate.runtime.ratelimit import RateLimit
from vacate.wiring.components import ComponentContext
from vacate.wiring.manager import ManagerParts, ManagerSettings


def _timings(_ctx: click.Context, _param: click.Parameter, value: str) -> LeaseTimings:
    try:
        duration, deadline, retry = (float(one) for one in value.split(","))
    except ValueError:
        raise ConfigError(f"--lease-timings: {value!r} is not three numbers such as 15,10,2") from None
    return LeaseTimings(duration, deadline, retry)


@click.command()
@kubeconfig_options
@election_options("managers")
@click.option(
    "--lease-timings",
    default="15,10,2",
    callback=_timings,
    show_default=True,
    metavar="SECONDS,SECONDS,SECONDS",
    help="How long a lease lasts; when a leader that cannot renew it stops; how often it renews.",
)
@health_options(8085)
@gates_option
@click.option(
    "--qps",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default="no limit",
    metavar="NUMBER",
    help="Requests per second to the API server; watches and the Lease are not counted.",
)
@click.option(
    "--burst",
    type=click.IntRange(min=0),
    default=0,
    show_default="twice --qps",
    metavar="NUMBER",
    help="How many of them may be sent at once after a pause.",
)
@limit_options
@click.option(
    "--max-draining-nodes",
    type=node_count,
    show_default="no limit",
    metavar="N|N%",
    help="How many nodes all NodeMaintenances together drain at the same time.",
)
@click.option(
    "--topology-key",
    type=label_name,
    default="",
    metavar="LABEL",
    help="Never drain nodes with two values of this label at once, whichever NodeMaintenances drain them.",
)
@click.option(
    "--fencing-job-namespace",
    type=namespace_name,
    metavar="NAME",
    help="Run the Jobs of FencingPolicies in this namespace. Without it, policies with Jobs fence nothing.",
)
@fencing_addresses_option
@lifecycle_controller_option
@click.option(
    "--guard-node-deletion",
    is_flag=True,
    help="Say on Nodes that are not ready whether their deletion needs a confirmation; see --feature-gates "
    f"{DELETION_MARKS}.",
)
@click.option(
    "--metrics-per-request",
    "per_request",
    is_flag=True,
    help="Also serve metrics for each open request and its pod, to anyone who can reach the port.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what the controllers do.")
def manager(
    kubeconfig: str,
    context: str,
    leader_elect: bool,
    lease_namespace: str,
    lease_timings: LeaseTimings,
    metrics_port: int,
    metrics_address: str,
    gates: FeatureGates,
    qps: float,
    burst: int,
    max_interceptors: int | None,
    max_request_duration: dt.timedelta | None,
    max_draining_nodes: int | str | None,
    topology_key: str,
    fencing_job_namespace: str | None,
    fencing_addresses: tuple[Network, ...],
    lifecycle_controller: str,
    guard_node_deletion: bool,
    per_request: bool,
    verbose: bool,
) -> None:
    """Run Vacate's controllers until Ctrl-C or SIGTERM.

    Works with any cluster that serves EvictionRequests. A cluster started by `vacate up` runs the controllers
    itself, unless it was started with --no-evictions.
    """
    log_to_stderr(verbose=verbose)
    limits = Limits(max_interceptors, max_request_duration, max_draining_nodes, topology_key)
    if guard_node_deletion:
        gates = gates.with_default(DELETION_MARKS, is_open=True)
    settings = ManagerSettings(
        gates,
        leader_elect,
        lease_namespace,
        lease_timings,
        pace=RateLimit(qps, burst),
        limits=limits,
        fencing_job_namespace=fencing_job_namespace or "",
        fencing_addresses=fencing_addresses,
        lifecycle=LifecycleController(lifecycle_controller),
    )
    transport = HttpTransport(load_config(kubeconfig, context), SystemClock())
    around = ComponentContext(SystemClock(), system_entropy(), Metrics(per_request=per_request), gates)
    serve_controllers(
        "manager",
        transport,
        around.metrics,
        lambda: ManagerParts(transport, around, settings),
        (metrics_address, metrics_port),
    )
