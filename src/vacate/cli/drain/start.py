"""Creates the NodeMaintenance of a drain, or finds it, follows it, and cancels it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.types.nodemaintenance import (
    MAX_NAME,
    NodeMaintenance,
    NodeMaintenanceSpec,
)
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, is_unknown_path, not_served
from vacate.cli.common.exitcodes import CANCELLED, FAILED, INTERRUPTED, LACKS_ROOM, TIMED_OUT, WOULD_BLOCK
from vacate.cli.common.managerwatch import say_if_unattended
from vacate.cli.common.output import JSON, json_text
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import list_maintenances
from vacate.cli.common.remedies import no_maintenance
from vacate.cli.drain.events import event_line
from vacate.cli.drain.outcome import CANCELLED_END, REPLACED_END
from vacate.cli.drain.plan import find_nodes
from vacate.cli.drain.preview import Verdict, preview
from vacate.errors import AlreadyExists, ConfigError, Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.maintenance.names import PLANNED, dialect_for
from vacate.views.maintenance import is_draining
from vacate.views.managerhealth import ManagerHealth
from vacate.views.phrases import command_line, counted, listed, span

_SET_BY_OPTIONS = {
    "daemonSetPods", "unmanagedPods", "localDataPods", "selector", "maxNodes", "topologyKey", "order",
    "requestKind", "deadlineSeconds", "onDeadline", "cordon",
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
    planned: str = ""  # what its plan came to


@dataclass(slots=True)
class StartedDrain:
    """How far the command has come, for those who interrupt it."""

    asked: str = ""  # the maintenance whose creation was sent
    name: str = ""  # the maintenance that exists


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
            f"the drain goes on. {_ways(started.asked)}; look: kubectl get nodemaintenance {started.asked}",
            err=True,
        )
    else:
        terminal.echo("Interrupted; nothing was changed.", err=True)
    sys.exit(INTERRUPTED)


def say_unread(started: StartedDrain) -> None:
    """Say how to return where the output was closed, as behind `| head`; standard error may be gone too."""
    if started.name:
        lost = "The output was closed; the drain continues without it."
        with contextlib.suppress(OSError):
            terminal.echo(f"{lost} {_ways(started.name)}", err=True)


def _noted(planned: str) -> Obj:
    return {"annotations": {PLANNED: planned}} if planned else {}


async def _mention_absence(cluster: Cluster) -> None:
    """Say so where Vacate is not installed: a dry run needs nothing there, the drain and its opt-ins do."""
    try:
        await cluster.client.list(NODEMAINTENANCES, options=ListOptions(limit=1))
    except NotFound:
        missing = not_served(NODEMAINTENANCES, "NodeMaintenance")
        terminal.echo(f"This is a preview only: {missing}.", err=True)
    except Forbidden:
        return  # nothing is known about it


async def _check_api(cluster: Cluster, dialect: Dialect) -> None:
    """Refuse a drain whose requests the cluster does not serve: a dry run would foresee nothing of that.

    Where Vacate is not installed at all, a dry run by its own API says so and goes on.
    """
    if await cluster.client.serves(dialect.kind):
        return
    if dialect is not EVICTION_REQUEST or await cluster.client.serves(NODEMAINTENANCES):
        raise not_served(dialect.kind, dialect.kind.gate)


def _ways(name: str) -> str:
    own = program_name()
    return f"Follow it again: {own} drain --follow {name}; cancel it: {own} drain --cancel {name}"


async def start_drain(cluster: Cluster, options: DrainOptions, started: StartedDrain) -> int:
    """Create the maintenance, or find it, and follow it where that is wanted; the exit code."""
    nodes = await find_nodes(cluster, options.nodes, options.selector)
    found = [node.metadata.name for node in nodes]
    key = options.spec.get("topologyKey")
    if key and not any(key in node.metadata.labels for node in nodes):
        raise ConfigError(
            f"--topology-key: none of these nodes has the label {key}; see: kubectl get nodes --show-labels"
        )
    name = maintenance_name(found)
    body: Obj = {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": name, **_noted(options.planned)},
        "spec": {**options.spec, "nodes": found},
    }
    typed = msgspec.convert(body, NodeMaintenance)
    await _check_api(cluster, dialect_for(typed))
    pods, verdict = await preview(cluster, typed, dry_run=options.dry_run, output=options.output)
    if pods is None:
        return FAILED
    await _mention_others(cluster, name, found)
    if options.dry_run:
        await _mention_absence(cluster)
        return {Verdict.BLOCKS: WOULD_BLOCK, Verdict.LACKS_ROOM: LACKS_ROOM}.get(verdict, 0)
    started.asked = name
    try:
        await cluster.client.create(NODEMAINTENANCES, body)
    except NotFound as error:
        raise not_served(NODEMAINTENANCES, "NodeMaintenance") if is_unknown_path(error) else error from None
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
        await say_if_unattended(cluster)
        _event(cluster, options, "detached", name)
        return 0
    return await follow_drain(cluster, name, options)


async def _mention_others(cluster: Cluster, name: str, nodes: Sequence[str]) -> None:
    """Say which of the nodes other NodeMaintenances drain as well: all of them are undone separately."""
    for one in await list_maintenances(cluster) or ():
        other = one.metadata.name
        for node in nodes if other != name else ():
            if is_draining(one, node):
                follow = command_line(program_name(), "drain", "--follow", other)
                text = f"node/{node} is also drained by nodemaintenance/{other}; see: {follow}"
                terminal.echo(text, err=True)


async def follow_drain(cluster: Cluster, name: str, options: DrainOptions) -> int:
    """Show the drain until it has ended; the exit code."""
    # Loaded here, while the controller begins already: it takes as long as the rest of the command.
    from vacate.cli.drain.follow import Follower  # noqa: PLC0415

    seconds = None if options.timeout is None else options.timeout.total_seconds()
    follower = Follower(cluster, name, options.output)
    try:
        async with asyncio.timeout(seconds):
            end = await follower.run()
    except TimeoutError:
        late = span(options.timeout or dt.timedelta())
        goes_on = _goes_on(follower.manager.health)
        terminal.echo(f"Not drained after {late}; {goes_on}. {_ways(name)}", err=True)
        return TIMED_OUT
    except NotFound:
        raise no_maintenance(name) from None
    return {CANCELLED_END: CANCELLED, REPLACED_END: FAILED}.get(end, 0)


def _goes_on(manager: ManagerHealth) -> str:
    return "the drain goes on when a manager works" if manager.text else "the drain goes on"


async def named_drain(cluster: Cluster, name: str, nodes: Sequence[str]) -> str:
    """The drain of that name, or the one of these nodes; ConfigError where it is not certain which is meant.

    A name that no drain has may be that of a node, and one that no drained node has that of a drain.
    """
    found = await list_maintenances(cluster) or []
    names = [one.metadata.name for one in found]
    if name in names or (name and not any(name in one.spec.nodes for one in found)):
        return name
    wanted = set(nodes or (name,))
    there = [one for one in found if wanted & set(one.spec.nodes)]
    if not there and len(nodes) == 1 and nodes[0] in names:
        return nodes[0]
    if not there:
        raise ConfigError(f"no drain has node {listed(sorted(wanted))}; see: {program_name()} drains")
    if len(there) > 1 or not wanted >= set(there[0].spec.nodes):
        of = "; ".join(
            f"{one.metadata.name} ({counted(len(one.spec.nodes), 'node')}: {', '.join(one.spec.nodes[:5])})"
            for one in there
        )
        raise ConfigError(f"nothing was done: these nodes are drained by {of}. Name the drain that you mean")
    return there[0].metadata.name


async def cancel_drain(cluster: Cluster, name: str, options: DrainOptions) -> int:
    """Delete the maintenance: what is under way is undone, what was evicted stays so; the exit code."""
    evicted = 0
    with contextlib.suppress(NotFound, Forbidden):
        evicted = (await cluster.client.get(NODEMAINTENANCES, name, into=NodeMaintenance)).status.pods_evicted
    try:
        await cluster.client.delete(NODEMAINTENANCES, name)
    except NotFound:
        raise no_maintenance(name) from None
    what = "the manager withdraws its requests and uncordons the nodes that it cordoned"
    stay = (
        f" {counted(evicted, 'pod')} that it evicted {'stays' if evicted == 1 else 'stay'} evicted."
        if evicted
        else ""
    )
    _say(options, f"nodemaintenance/{name} is cancelled: {what}.{stay}{cluster.mark}")
    _event(cluster, options, "cancelled", name)
    await say_if_unattended(cluster)
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
