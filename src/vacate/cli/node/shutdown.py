"""`vacate node shutdown --dry-run`: what a shutdown of a node would do to its pods."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from vacate.api.durations import parse_duration
from vacate.api.installednames import SHUTDOWN_AGENT, labels
from vacate.api.kinds import NODES, PODS
from vacate.api.nodeconditions import graceful_shutdown
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_scope_options, run_on_cluster
from vacate.cli.common.kubeletconfig import read_config_file
from vacate.cli.common.output import aligned
from vacate.cli.common.parameters import subdomain
from vacate.cli.common.remedies import no_node
from vacate.cli.common.serveroptions import gates_option
from vacate.cli.common.text import columns_of, safe
from vacate.cli.node.shutdownorder import PodPreview, Preview, preparation, preview
from vacate.errors import ConfigError, NotFound
from vacate.features import FeatureGates
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.lock import SHORT
from vacate.nodeagent.shutdown.nodepods import described
from vacate.nodeagent.shutdown.protocol import ShutdownRefused
from vacate.nodeagent.shutdown.state import BESIDE_KUBELET, SHORT_DELAY
from vacate.nodeagent.shutdownagent.apipods import MIRROR
from vacate.nodeagent.shutdownagent.kubelet import beside_kubelet
from vacate.nodeagent.view import AgentPod


@click.command()
@click.argument("name", type=subdomain, metavar="NODE")
@click.option("--dry-run", is_flag=True, help="Show the order. Required: this command shuts nothing down.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The KubeletConfiguration of the node.",
)
@gates_option
@cluster_scope_options
def shutdown(name: str, dry_run: bool, config_file: Path, gates: FeatureGates, reach: Connection) -> None:
    """Show in which order the pods of a node end when it shuts down.

    Reads the pods that are bound to the node now, and sorts them into the buckets of the configuration.
    LATEST START is when the pod's turn comes if every pod before it takes all of its time. INTERCEPTORS is
    how long they have then to prepare the pod, ALLOTTED how long the pod itself has to end.
    """
    if not dry_run:
        raise click.UsageError(
            f"this only shows the order: add --dry-run. To shut {name} down, run `systemctl poweroff` on it."
        )
    config = read_config_file(config_file, gates)

    async def work(cluster: Cluster) -> None:
        try:
            node = await cluster.client.get(NODES, name)
        except NotFound:
            raise no_node(name) from None
        found = await cluster.client.list(
            PODS, options=ListOptions(field_selector=f"spec.nodeName={name}"), into=AgentPod
        )
        pods = [one for one in found.items if not one.terminal]
        terminal.echo_lines(shown_order(name, config, pods, node, terminal.columns()))

    run_on_cluster(reach, work)


def shown_order(
    name: str, config: ShutdownConfig, pods: list[AgentPod], node: Obj, width: int = 0
) -> list[str]:
    """By what the Node says of its agent: beside a kubelet, that one ends the pods, also static ones."""
    condition = graceful_shutdown(node)
    agents = [one for one in pods if _is_agent(one)]
    if config.enabled and condition.get("reason") == BESIDE_KUBELET and agents:
        try:
            beside = beside_kubelet(config, agents[0])
        except ShutdownRefused as error:
            raise ConfigError(f"--config: not that of the kubelet of node/{name}: {error}") from error
        all_of_them = [described(one) for one in pods]
        return order_lines(preview(name, config, all_of_them, preparation(beside, all_of_them)), width)
    limit = _delay_of(str(condition.get("message"))) if condition.get("reason") == SHORT_DELAY else None
    static = [one for one in pods if MIRROR in one.metadata.annotations]
    ended = [one for one in pods if one not in static and one not in agents]
    if config.enabled and condition.get("status") == "False":
        lines = [f"node/{name}: all pods terminate at once, in no order: {condition.get('message')}"]
    else:
        lines = order_lines(preview(name, config, [described(one) for one in ended], limit=limit), width)
    lines += [f"pod {described(one).key} is static: it terminates with the machine" for one in static]
    if condition.get("reason") == SHORT_DELAY:
        lines.append(f"node/{name}: {condition.get('message')}")
    elif config.enabled and not condition:
        lines.append(f"node/{name} does not say what logind allows it: no agent of Vacate has done so yet")
    return lines


def _delay_of(message: str) -> float | None:
    """The limit of logind that the message of a condition names."""
    found = re.match(SHORT.format(r"(\S+)"), message)
    try:
        return parse_duration(found[1]) if found is not None else None
    except ValueError:
        return None


def _is_agent(pod: AgentPod) -> bool:
    own = labels(SHUTDOWN_AGENT.removeprefix("vacate-"))
    return own.items() <= pod.metadata.labels.items()


_HEADER = ("BUCKET", "PERIOD", "LATEST START", "POD", "PRIORITY", "GRACE", "INTERCEPTORS", "ALLOTTED")
_NARROWEST = 20
_INDENT = "  "


def order_lines(order: Preview, width: int = 0) -> list[str]:
    """All of it. Without a width it is a table, however wide; a pod's name is never cut or broken."""
    if not order.rows:
        return [order.headline]
    table = aligned([_HEADER, *map(_cells, order.rows)])
    if width and max(map(columns_of, table)) > width:
        return [order.headline, *_blocks(order.rows, width)]
    return [order.headline, *table]


def _cells(row: PodPreview) -> tuple[str, ...]:
    if not row.pod:
        return (row.bucket, row.period, "-", "none: skipped", "", "", "", "")
    shown = (row.pod, row.priority, row.grace, row.interceptors or "-", row.allotted)
    return (row.bucket, row.period, row.latest_start, *shown)


def _blocks(rows: Sequence[PodPreview], width: int) -> list[str]:
    """What the pods of a bucket have in common is printed once."""
    lines: list[str] = []
    for (bucket, period, start), pods in itertools.groupby(
        rows, key=lambda row: (row.bucket, row.period, row.latest_start)
    ):
        begins = f"starts at {start} at the latest" if start else "no pods, skipped"
        lines += _wrapped(f"bucket {bucket}: {period}, {begins}", width, 0)
        for one in pods if start else ():
            lines.append(_INDENT + safe(one.pod))
            prepare = f"interceptors {one.interceptors}, " if one.interceptors else ""
            words = f"priority {one.priority}, grace {one.grace}, {prepare}allotted {one.allotted}"
            lines += _wrapped(words, width, 2)
    return lines


def _wrapped(text: str, width: int, depth: int) -> list[str]:
    first, more = _INDENT * depth, _INDENT * (depth + 1)
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=first,
        subsequent_indent=more,
        break_on_hyphens=False,
    )
