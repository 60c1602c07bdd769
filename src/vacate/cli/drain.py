"""`vacate drain`: drain nodes by a NodeMaintenance, which goes on without this command, and follow it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import sys
import zlib
from dataclasses import dataclass
from typing import NoReturn

import click
import msgspec

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.objectnames import NODE_MAINTAINER
from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import (
    EVICT,
    IGNORE,
    MAX_NAME,
    REFUSE,
    NodeMaintenance,
    NodeMaintenanceSpec,
)
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option
from vacate.cli.common.connection import Cluster, Connection, cluster_scope_options, connected
from vacate.cli.common.exitcodes import CANCELLED, FAILED, INTERRUPTED, TIMED_OUT
from vacate.cli.common.output import JSON, json_text
from vacate.cli.common.parameters import label_name, node_name, span_between, subdomain
from vacate.cli.common.program import program_name
from vacate.cli.common.remedies import lacks_role
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import selector_option
from vacate.cli.drain_checks import max_nodes as checked_max_nodes
from vacate.cli.drain_checks import pod_selector as checked_pod_selector
from vacate.cli.drain_checks import refuse_for_existing
from vacate.cli.drain_events import event_line
from vacate.cli.drain_outcome import CANCELLED_END, REPLACED_END
from vacate.cli.drain_plan import find_nodes
from vacate.cli.drain_preview import preview
from vacate.errors import AlreadyExists, ConfigError, Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.views.phrases import counted, span

_SET_BY_OPTIONS = {
    "daemonSetPods", "unmanagedPods", "localDataPods", "selector", "maxNodes", "topologyKey", "requestKind",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrainOptions:
    """The options of the command."""

    nodes: tuple[str, ...]
    selector: str
    spec: Obj
    detach: bool
    dry_run: bool
    timeout: dt.timedelta | None
    output: str


@dataclass(slots=True)
class StartedDrain:
    """How far the command has come, for those who interrupt it."""

    asked: str = ""  # the maintenance whose creation was sent
    name: str = ""  # the maintenance that exists


@click.command()
@click.argument("nodes", type=node_name, nargs=-1, metavar="[NODE…]")
@selector_option("Drain every node with these labels instead.")
@click.option("--ignore-daemonsets", is_flag=True, help="Do not evict pods of DaemonSets.")
@click.option("--evict-daemonsets", is_flag=True, help="Remove pods of DaemonSets too, after all others.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods although they lose emptyDir data.")
@click.option("--force", is_flag=True, help="Evict pods that no controller re-creates.")
@click.option(
    "--pod-selector",
    callback=checked_pod_selector,
    metavar="LABELS",
    help="Evict only pods with these labels.",
)
@click.option(
    "--timeout", type=span_between(1.0), metavar="SPAN", help="Maximum time to follow; the drain continues."
)
@click.option(
    "--dry-run",
    is_flag=False,
    flag_value="client",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="Show what would happen, in which order, and what would block it; change nothing.",
)
@click.option("--detach", is_flag=True, help="Return at once; the drain continues.")
@click.option(
    "--max-nodes",
    callback=checked_max_nodes,
    metavar="N|N%",
    help="How many nodes to drain at the same time; 1 by default.",
)
@click.option(
    "--topology-key",
    type=label_name,
    default="",
    metavar="LABEL",
    help="Never drain nodes with two values of this label at once.",
)
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="Why the nodes are drained; kept on the maintenance and on each request.",
)
@api_option("The API in which evictions are requested.")
@click.option("--follow", metavar="NAME", type=subdomain, help="Follow a drain that is under way.")
@click.option("--cancel", metavar="NAME", type=subdomain, help="Cancel a drain and undo what it did.")
@cluster_scope_options
@click.option("-o", "--output", type=click.Choice([JSON]), default=None, help="Print events as JSON lines.")
def drain(
    nodes: tuple[str, ...],
    selector: str,
    ignore_daemonsets: bool,
    evict_daemonsets: bool,
    delete_emptydir_data: bool,
    force: bool,
    pod_selector: list[Obj],
    timeout: dt.timedelta | None,
    dry_run: str,
    detach: bool,
    max_nodes: int | str | None,
    topology_key: str,
    reason: str,
    dialect: Dialect,
    follow: str | None,
    cancel: str | None,
    reach: Connection,
    output: str | None,
) -> None:
    """Drain nodes: cordon them, and evict their pods through interceptors.

    The drain is an object in the cluster, a NodeMaintenance. It goes on without this command, which only
    follows it: Ctrl-C detaches. NODE is NAME or node/NAME. Interceptors prepare each pod, and disruption
    budgets are respected.

    Exit codes: 0 drained, 1 refused or failed, 2 usage, 3 cancelled, 4 timed out.
    """
    chosen = sum(map(bool, (nodes, selector, follow, cancel)))
    if chosen != 1:
        raise click.UsageError("name nodes, or use one of -l, --follow and --cancel")
    if follow or cancel:
        refuse_for_existing(click.get_current_context(), cancels=bool(cancel))
    if ignore_daemonsets and evict_daemonsets:
        raise click.UsageError("use --ignore-daemonsets or --evict-daemonsets, not both")
    spec: Obj = {
        "pods": {
            "daemonSetPods": IGNORE if ignore_daemonsets else EVICT if evict_daemonsets else REFUSE,
            "unmanagedPods": EVICT if force else REFUSE,
            "localDataPods": EVICT if delete_emptydir_data else REFUSE,
        }
    }
    if pod_selector:
        spec["pods"]["selector"] = {"matchExpressions": pod_selector}
    more = {"maxNodes": max_nodes, "topologyKey": topology_key, "reason": reason.strip()}
    spec |= {key: value for key, value in more.items() if value}
    if dialect is not EVICTION_REQUEST:  # the default, which older controllers know alone
        spec["requestKind"] = dialect.kind.kind
    options = DrainOptions(nodes, selector, spec, detach, dry_run != "none", timeout, output or "")
    started = StartedDrain()
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            try:
                if cancel:
                    codes.append(await _cancel(cluster, cancel, options))
                elif follow:
                    started.name = follow
                    codes.append(await _follow(cluster, follow, options))
                else:
                    codes.append(await start_drain(cluster, options, started))
            except Forbidden as error:
                raise lacks_role(error, NODE_MAINTAINER) from error

    try:
        signalled = run_until_signalled(work)
    except BrokenPipeError:
        _say_unread(started)
        raise
    if signalled:
        detach_from(started)
    sys.exit(codes[0] if codes else 0)


def _other_settings(there: NodeMaintenanceSpec, wanted: NodeMaintenanceSpec) -> str:
    """In which fields that options set two drains differ, and what each has there; nothing where in none."""
    found = []
    for mine, theirs, prefix in ((wanted.pods, there.pods, "pods."), (wanted, there, "")):
        for field in msgspec.structs.fields(mine):
            before, now = getattr(theirs, field.name), getattr(mine, field.name)
            if field.encode_name in _SET_BY_OPTIONS and before != now:
                found.append(
                    f"{prefix}{field.encode_name} is {_setting_text(before)}, not {_setting_text(now)}"
                )
    return "; ".join(found)


def _setting_text(value: object) -> str:
    return json_text(msgspec.to_builtins(value), indent=False).strip() if value else "unset"


def detach_from(started: StartedDrain) -> NoReturn:
    """Say what goes on without this command, which was interrupted."""
    if started.name:
        terminal.echo(f"Detached: the drain goes on. {_ways(started.name)}", err=True)
    elif started.asked:
        terminal.echo(
            f"Interrupted while nodemaintenance/{started.asked} was being created: it may exist, and then "
            f"the drain goes on. Look: kubectl get nodemaintenance {started.asked}. {_ways(started.asked)}",
            err=True,
        )
    else:
        terminal.echo("Interrupted; nothing was changed.", err=True)
    sys.exit(INTERRUPTED)


def _say_unread(started: StartedDrain) -> None:
    """Say how to return where nobody reads the output, as behind `| head`; standard error may be gone too."""
    if started.name:
        lost = "Nobody reads the output any more; the drain does not depend on it."
        with contextlib.suppress(OSError):
            terminal.echo(f"{lost} {_ways(started.name)}", err=True)


def _ways(name: str) -> str:
    own = program_name()
    return f"Return: {own} drain --follow {name}. Cancel: {own} drain --cancel {name}"


async def start_drain(cluster: Cluster, options: DrainOptions, started: StartedDrain) -> int:
    """Create the maintenance, or find it, and follow it where that is wanted; the exit code."""
    nodes = await find_nodes(cluster, options.nodes, options.selector)
    found = [node.metadata.name for node in nodes]
    name = maintenance_name(found)
    body: Obj = {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": name},
        "spec": {**options.spec, "nodes": found},
    }
    typed = msgspec.convert(body, NodeMaintenance)
    pods = await preview(cluster, typed, dry_run=options.dry_run, output=options.output)
    if pods is None:
        return FAILED
    if options.dry_run:
        return 0
    started.asked = name
    try:
        await cluster.client.create(NODEMAINTENANCES, body)
    except AlreadyExists:
        existing = await cluster.client.get(NODEMAINTENANCES, name, into=NodeMaintenance)
        if existing.metadata.deletion_timestamp is not None:
            raise ConfigError(
                f"nodemaintenance/{name} is being cancelled; try again in a few seconds"
            ) from None
        if sorted(existing.spec.nodes) != sorted(found):
            raise ConfigError(f"nodemaintenance/{name} exists for other nodes. {_ways(name)}") from None
        if other := _other_settings(existing.spec, typed.spec):
            raise ConfigError(
                f"nodemaintenance/{name} drains these nodes already, with other settings: {other}. "
                f"{_ways(name)}"
            ) from None
        text = "drains these nodes already"
    else:
        text = f"created: {counted(len(found), 'node')} to drain, {counted(pods, 'pod')} to evict"
    started.name = name
    _say(options, f"nodemaintenance/{name} {text}.")
    if options.detach:
        _say(options, _ways(name))
        _event(cluster, options, "detached", name)
        return 0
    return await _follow(cluster, name, options)


async def _follow(cluster: Cluster, name: str, options: DrainOptions) -> int:
    # Loaded here, while the controller begins already: it takes as long as the rest of the command.
    from vacate.cli.drain_follow import Follower  # noqa: PLC0415

    seconds = None if options.timeout is None else options.timeout.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            end = await Follower(cluster, name, options.output).run()
    except TimeoutError:
        late = span(options.timeout or dt.timedelta())
        terminal.echo(f"Not drained after {late}; the drain goes on. {_ways(name)}", err=True)
        return TIMED_OUT
    except NotFound:
        raise ConfigError(f"there is no NodeMaintenance {name}; see: kubectl get nodemaintenances") from None
    return {CANCELLED_END: CANCELLED, REPLACED_END: FAILED}.get(end, 0)


async def _cancel(cluster: Cluster, name: str, options: DrainOptions) -> int:
    try:
        await cluster.client.delete(NODEMAINTENANCES, name)
    except NotFound:
        raise ConfigError(f"there is no NodeMaintenance {name}; see: kubectl get nodemaintenances") from None
    what = "the manager withdraws its requests and uncordons the nodes that it cordoned"
    _say(options, f"nodemaintenance/{name} is cancelled: {what}.")
    _event(cluster, options, "cancelled", name)
    return 0


def _say(options: DrainOptions, text: str) -> None:
    terminal.echo(text, err=options.output == JSON)


def _event(cluster: Cluster, options: DrainOptions, type_: str, name: str) -> None:
    """Tell a program what was done, where nothing is followed."""
    if options.output == JSON:
        terminal.echo_document(event_line(type_, name, cluster.clock.now()))


def maintenance_name(nodes: list[str]) -> str:
    """The name of the maintenance of these nodes: the same for the same nodes."""
    sum_ = zlib.crc32("\n".join(sorted(nodes)).encode())
    more = f"-and-{len(nodes) - 1}-more-{sum_:08x}" if len(nodes) > 1 else ""
    return f"drain-{min(nodes)[: MAX_NAME - 40].rstrip('.-')}{more}"
