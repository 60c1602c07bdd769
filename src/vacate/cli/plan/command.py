"""`vacate plan`: what a drain would come to, found out on a copy of the cluster in virtual time."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import PodRules
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option
from vacate.cli.common.connection import Connection, cluster_scope_options
from vacate.cli.common.exitcodes import INTERRUPTED, LACKS_ROOM, WOULD_BLOCK
from vacate.cli.common.output import JSON
from vacate.cli.common.parameters import node_count, node_name, span_between, subdomain
from vacate.cli.common.selectors import selector_option
from vacate.cli.common.shellcompletion import complete_nodes
from vacate.cli.drain.options import drain_rule_options
from vacate.cli.plan.making import chosen_nodes, exit_code, make, read_cluster
from vacate.clock import SystemClock
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST

if TYPE_CHECKING:
    from vacate.plan.snapshot import Snapshot

SVG = "svg"
_MAX_ADDED = 1000


def _counts(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int | str, ...]:
    return tuple(node_count(one.strip()) for one in value.split(",")) if value else ()


def _interceptors(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> dict[str, float | None]:
    read = span_between(0.0, 7 * 86400.0)
    found: dict[str, float | None] = {}
    for value in values:
        name, equals, span = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r:.80}: write NAME=SPAN, such as backup.example.com=5m")
        found[name if "/" in name else subdomain(name)] = (
            None if span == "never" else read(span).total_seconds()
        )
    return found


def _added_nodes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, str]:
    count, equals, like = (value or "0").partition("=")
    if not count.isascii() or not count.isdigit() or int(count) > _MAX_ADDED or (equals and not like):
        raise click.BadParameter(f"{value!r:.80}: write a number, or a number and a node, such as 2=node-1")
    return int(count), like


@click.command()
@click.argument("nodes", type=node_name, shell_complete=complete_nodes, nargs=-1, metavar="[NODE…]")
@selector_option("Plan the drain of every node with these labels instead.")
@click.option("--all-nodes", is_flag=True, help="Plan the drain of every node.")
@click.option(
    "--cluster", is_flag=True, help="Show what would hamper drains anywhere, worst first; nothing is run."
)
@drain_rule_options
@api_option("The API in which evictions are requested.", EVICTION_REQUEST.name)
@click.option(
    "--max-nodes",
    default="",
    callback=_counts,
    metavar="N|N%[,…]",
    help="How many nodes to drain at the same time; several are compared.",
)
@click.option(
    "--interceptor",
    "interceptors",
    multiple=True,
    callback=_interceptors,
    metavar="NAME=SPAN",
    help="How long an interceptor takes, or `never` for one that does not answer. Can be repeated.",
)
@click.option(
    "--start-time",
    type=span_between(0.0, 3600.0),
    metavar="SPAN",
    help="How long pods take from their node until they are ready, in place of what the cluster shows.",
)
@click.option(
    "--stop-time",
    type=span_between(0.0, 86400.0),
    metavar="SPAN",
    help="How long pods take to stop, within their grace period.",
)
@click.option(
    "--add-nodes",
    callback=_added_nodes,
    metavar="N[=LIKE]",
    help="Plan as if there were so many empty nodes more, like this one or else the first that is drained.",
)
@click.option(
    "--from", "source", type=click.Path(path_type=Path), metavar="FILE", help="Plan for a saved snapshot."
)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save the snapshot: without environment, commands, messages, images and annotations of others.",
)
@click.option("--keep-images", is_flag=True, help="With --save: keep the names of images.")
@click.option(
    "--horizon",
    type=span_between(60.0, 7 * 86400.0),
    default="24h",
    show_default=True,
    metavar="SPAN",
    help="How far to look ahead.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 100),
    default=2,
    show_default=True,
    help="How many runs: the slowest, the fastest, and with random times for their median.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of what is left to chance.")
@click.option("--no-remedies", is_flag=True, help="Do not try what the remedies would change.")
@click.option("-A", "--all", "everything", is_flag=True, help="Show all workloads, nodes and pods.")
@cluster_scope_options
@click.option(
    "-o",
    "--output",
    type=click.Choice([JSON, SVG]),
    default=None,
    help="Print the plan as JSON, or as a picture of the nodes over time.",
)
def plan(
    nodes: tuple[str, ...],
    selector: str,
    all_nodes: bool,
    cluster: bool,
    rules: Obj,
    dialect: Dialect | None,
    max_nodes: tuple[int | str, ...],
    interceptors: dict[str, float | None],
    start_time: dt.timedelta | None,
    stop_time: dt.timedelta | None,
    add_nodes: tuple[int, str],
    source: Path | None,
    save: Path | None,
    keep_images: bool,
    horizon: dt.timedelta,
    runs: int,
    seed: int,
    no_remedies: bool,
    everything: bool,
    reach: Connection,
    output: str | None,
) -> None:
    """Plan a drain: would it finish, how long would it take, and what would block it.

    The cluster is read once and nothing in it is changed; Vacate need not be installed there. A copy of it
    then runs forward in this process, in virtual time, with the controllers that would do the drain.

    Exit codes: 0 finishes, 1 failed, 2 usage, 5 blocks or does not finish in time, 6 pods lack room.
    """
    if sum(map(bool, (nodes, selector, all_nodes, cluster))) != 1:
        raise click.UsageError("name nodes, or use one of -l, --all-nodes and --cluster")
    if cluster and output == SVG:
        raise click.UsageError("-o svg draws a drain; with --cluster there is none")
    if keep_images and save is None:
        raise click.UsageError("--keep-images is about what --save keeps")
    if dialect is not None and dialect is not EVICTION_REQUEST:
        rules["requestKind"] = dialect.request_kind
    # Loaded here: the simulated cluster takes as long to load as all other commands together.
    from vacate.cli.plan.text import plan_lines, plan_object  # noqa: PLC0415
    from vacate.plan.run import PlanOptions  # noqa: PLC0415
    from vacate.plan.snapshot import load  # noqa: PLC0415
    from vacate.plan.snapshot import save as save_snapshot  # noqa: PLC0415

    snapshot = read_cluster(reach, images=keep_images) if source is None else load(source)
    if save is not None:
        save_snapshot(snapshot, save)
    if cluster:
        sys.exit(_examine(_with_added(snapshot, *add_nodes), rules, output, everything=everything))
    options = PlanOptions(
        chosen_nodes(snapshot, nodes, selector), rules, interceptors, horizon.total_seconds(), seed,
        None if start_time is None else start_time.total_seconds(),
        None if stop_time is None else stop_time.total_seconds(),
    )  # fmt: skip
    snapshot = _with_added(snapshot, *add_nodes, options.nodes[0])
    made, whole = make(snapshot, options, max_nodes, runs=runs, remedies=not no_remedies)
    if made is None:
        sys.exit(INTERRUPTED)
    if output == SVG:
        from vacate.cli.plan.picture import plan_svg  # noqa: PLC0415

        terminal.echo_document(plan_svg(made, snapshot))
    elif output == JSON:
        terminal.echo_document(plan_object(made, snapshot))
    else:
        now = SystemClock().now()
        room = terminal.width(), terminal.columns()
        terminal.echo_lines(plan_lines(made, snapshot, *room, everything=everything, now=now))
    sys.exit(exit_code(made.outcome.verdict) if whole else INTERRUPTED)


def _examine(snapshot: Snapshot, rules: Obj, output: str | None, *, everything: bool) -> int:
    from vacate.cli.plan.text import health_lines, plan_object  # noqa: PLC0415
    from vacate.plan.health import Harm, examine  # noqa: PLC0415

    with terminal.console(err=True).status("looking at every node"):
        health = examine(snapshot, msgspec.convert(rules["pods"], PodRules))
    if output == JSON:
        terminal.echo_document(plan_object(health, snapshot))
    else:
        terminal.echo_lines(health_lines(health, snapshot, terminal.width(), everything=everything))
    crowded = any(one.harm is Harm.NO_ROOM for one in health.findings)
    return WOULD_BLOCK if health.blocked else LACKS_ROOM if crowded else 0


def _with_added(snapshot: Snapshot, count: int, like: str, default: str = "") -> Snapshot:
    from vacate.plan.loading import with_added_nodes  # noqa: PLC0415
    from vacate.plan.report import check_nodes  # noqa: PLC0415

    if not count:
        return snapshot
    if not (like := like or default):
        raise ConfigError(f"--add-nodes: say which node they are like: --add-nodes {count}=NODE")
    check_nodes(snapshot, [like])
    return with_added_nodes(snapshot, count, like)
