"""`vacate up`: a small Kubernetes in the foreground."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vacate.cli.common.parameters import size_between
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.serveroptions import (
    allowed_option,
    bridge_wait_option,
    fencing_addresses_option,
    gates_option,
    interceptor_accounts_option,
    log_to_stderr,
)
from vacate.embedded.cluster import RUNTIMES, SIMULATED
from vacate.errors import ConfigError
from vacate.features import FeatureGates
from vacate.httpclient.addresses import Network

if TYPE_CHECKING:
    from vacate.embedded.cluster.local import LocalCluster

DEFAULT_FOLDER = "~/.vacate"


class _Seconds(click.FloatRange):
    """So many seconds, up to a day; a number that is none is no time either."""

    def __init__(self) -> None:
        super().__init__(min=0, max=86400)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number, or a refusal."""
        seconds = float(super().convert(value, param, ctx))
        return seconds if math.isfinite(seconds) else self.fail(f"{value} is not a time", param, ctx)


_SECONDS = _Seconds()


def _folder(_ctx: click.Context, _param: click.Parameter, value: Path) -> Path:
    # An empty text, as an unset variable of a shell gives, would be the folder that one stands in.
    if value == Path():
        raise ConfigError(
            "--dir: name a folder, such as ./cluster; the current one would be filled with files"
        )
    return value.expanduser()


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_FOLDER,
    callback=_folder,
    show_default=True,
    help="Folder for objects, certificates and the kubeconfig. With the same folder the cluster continues.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=6443,
    show_default=True,
    help="Port of the API server on loopback; 0 takes any free one.",
)
@click.option("--nodes", type=click.IntRange(0, 1000), default=3, show_default=True, help="Number of nodes.")
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    default=SIMULATED,
    show_default=True,
    help="Whether pods are simulated, or processes of this machine, without images and isolation.",
)
@gates_option
@click.option("--pod-start", type=_SECONDS, default=1.0, show_default=True, help="Seconds until a pod runs.")
@click.option(
    "--pod-ready", type=_SECONDS, default=0.0, show_default=True, help="Seconds from then until it is ready."
)
@click.option(
    "--pod-stop", type=_SECONDS, default=1.0, show_default=True, help="Seconds that a pod takes to stop."
)
@click.option(
    "--evictions/--no-evictions",
    default=True,
    show_default=True,
    help="Run Vacate's controllers in this process. Without them, run `vacate manager` separately.",
)
@click.option(
    "--guard-force-deletion/--no-guard-force-deletion",
    "guard",
    default=True,
    show_default=True,
    help="Require confirmation of a forced pod deletion while the node has not reported the pod's end, in "
    "namespaces without the label vacate.dev/force-delete-guard.",
)
@click.option(
    "--storage-quota",
    type=size_between("16Mi", "1Ti"),
    default="512Mi",
    show_default=True,
    metavar="SIZE",
    help="Maximum size of all objects together. Beyond it creations are refused, deletions are not.",
)
@click.option(
    "--hooks",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run the interceptor hooks.vacate.dev as well, with this allow-list of services.",
)
@fencing_addresses_option
@bridge_wait_option
@allowed_option
@interceptor_accounts_option
@click.option("--verbose", "-v", is_flag=True, help="Log what the components do.")
def up(
    folder: Path,
    port: int,
    nodes: int,
    runtime: str,
    gates: FeatureGates,
    pod_start: float,
    pod_ready: float,
    pod_stop: float,
    evictions: bool,
    guard: bool,
    storage_quota: int,
    hooks: Path | None,
    fencing_addresses: tuple[Network, ...],
    bridge_wait: dt.timedelta,
    allowed: tuple[str, ...],
    interceptors: Mapping[str, tuple[str, ...]],
    verbose: bool,
) -> None:
    """Run the embedded cluster until Ctrl-C.

    API server with persistent storage, scheduler, workload controllers and simulated nodes, all in this
    process. For laptops, tests and demonstrations: there are no containers and no network between pods.
    With --runtime process, pods are processes of this machine, which end with it.
    """
    # Help and refused options need none of it, and it takes most of a second to load.
    from vacate.embedded.cluster.local import LocalCluster, LocalSettings  # noqa: PLC0415
    from vacate.embedded.nodes.settings import NodeSettings  # noqa: PLC0415
    from vacate.embedded.nodes.timings import PodTimings  # noqa: PLC0415

    log_to_stderr(verbose=verbose)
    behaviour = NodeSettings(timings=PodTimings(start=pod_start, ready=pod_ready, stop=pod_stop))
    settings = LocalSettings(
        folder,
        port,
        nodes,
        gates,
        behaviour,
        evictions=evictions,
        guard_force_deletion=guard,
        allowed_interceptors=allowed,
        runtime=runtime,
        interceptor_accounts=interceptors,
        bridge_wait=bridge_wait,
        storage_quota=storage_quota,
        fencing_addresses=fencing_addresses,
        hooks=hooks,
    )
    run_until_signalled(lambda: _serve(LocalCluster(settings)))


async def _serve(cluster: LocalCluster) -> None:
    from vacate.cli.up.banner import show_up  # noqa: PLC0415

    await cluster.start()
    try:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(cluster.run())
            await cluster.wait_ready()
            show_up(cluster)
            await serving
    finally:
        await cluster.stop()
