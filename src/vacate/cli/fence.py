"""`vacate fence`: fence an unreachable node with an agent, and release its pods when that is confirmed."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from vacate.api.kinds import FENCINGPOLICIES, NODES, SECRETS
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import MAX_AGENT_TIMEOUT, POWER, STORAGE, FencingPolicy
from vacate.cli.common import terminal
from vacate.cli.common.connection import (
    Cluster,
    Connection,
    cluster_scope_options,
    run_on_cluster,
)
from vacate.cli.common.events import note_node
from vacate.cli.common.exitcodes import end
from vacate.cli.common.parameters import node_name, span_between
from vacate.cli.common.queries import read_node
from vacate.cli.common.shellcompletion import complete_nodes
from vacate.cli.identity import cluster_user
from vacate.cli.push import json_option, pushed
from vacate.controllers.fencing.manual import ManualFence
from vacate.entropy import system_entropy
from vacate.errors import ConfigError, FencingFailed, Forbidden, NotFound
from vacate.fenceagents.agent import FenceAgent, find_program
from vacate.fenceagents.configured import options_of_secret
from vacate.fencing.agentprotocol import PowerState, check_allowed, check_options, read_options
from vacate.fencing.annotations import approval_patch, request_patch
from vacate.fencing.decision import selects
from vacate.fencing.limits import FencingLimits
from vacate.kube.nodes import readiness

_MAX_FILE_BYTES = 65_536
_SHARE = re.compile(r"[0-9]{1,4}|[0-9]{1,2}%|100%")


def _share(text: str) -> int | str:
    if not _SHARE.fullmatch(text):
        raise click.BadParameter(f"{text[:20]!r} is not a number of nodes; write 3 or 51%")
    return text if text.endswith("%") else int(text)


@click.command()
@click.argument("node", type=node_name, shell_complete=complete_nodes, metavar="NODE")
@click.option(
    "--agent",
    metavar="PROGRAM",
    help="Fence agent of the ClusterLabs protocol, such as fence_redfish, or its full path.",
)
@click.option(
    "--options",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Options of the agent for this node, one name=value per line; - reads standard input.",
)
@click.option("--secret", metavar="NAMESPACE/NAME", help="Take the options from a Secret instead.")
@click.option(
    "--mechanism",
    type=click.Choice([POWER, STORAGE], case_sensitive=False),
    help=f"What the agent does. {POWER} (default): it powers the machine off. {STORAGE}: it cuts the node "
    "off from its storage, and the machine runs on.",
)
@click.option(
    "--min-healthy",
    type=_share,
    default="51%",
    show_default=True,
    metavar="N|N%",
    help="How many of the other nodes must be ready.",
)
@click.option(
    "--max-fenced",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many nodes may be out of service at once, this one included.",
)
@click.option(
    "--agent-timeout",
    type=span_between(1.0, float(MAX_AGENT_TIMEOUT)),
    default="60s",
    show_default=True,
    metavar="SPAN",
    help="How long one call of the agent may take.",
)
@click.option(
    "--retry",
    is_flag=True,
    help="Fence although another fence of the node may be under way, or another node fell silent during it.",
)
@click.option(
    "--undo",
    is_flag=True,
    help="Power a fenced node on again, and make it schedulable; or end a fence that was begun. If the node "
    "reports then, no agent is needed.",
)
@click.option(
    "--dry-run", is_flag=True, help="Check the limits and ask the agent for the status; change nothing."
)
@click.option(
    "--approve",
    is_flag=True,
    help="Approve the fencing that a FencingPolicy holds back, for this outage only.",
)
@click.option(
    "--request", metavar="REASON", help="Ask the node's FencingPolicy to fence it, whatever pods it has."
)
@json_option
@cluster_scope_options
def fence(
    node: str, agent: str | None, file: Path | None, secret: str | None, mechanism: str | None,
    min_healthy: int | str, max_fenced: int, agent_timeout: dt.timedelta, retry: bool, undo: bool,
    dry_run: bool, approve: bool, request: str | None, output: str | None, reach: Connection,
) -> None:  # fmt: skip
    """Power an unreachable node off, and release its pods when it is off.

    The agent powers the machine off; its status is then read back in a call of its own. Only if the machine
    is off, the node has not reported meanwhile, and all other nodes still report, it gets the taint
    node.kubernetes.io/out-of-service, and pod GC removes its pods. If anything fails or is unclear, nothing
    is released. A node that still reports is not fenced: drain it.

    With --mechanism Storage the agent cuts the node off from its storage instead. The machine may run on: the
    node gets its storage back, with --undo, only after it was restarted.

    Where a FencingPolicy fences nodes, --approve and --request address that policy, and need no agent.

    Exit codes: 0 done, 1 refused, failed or unclear, 2 usage.
    """
    if mechanism is not None and (undo or approve or request is not None):
        raise click.UsageError(
            "--mechanism is for a fence by hand: --undo goes by what was done to the node, and --approve and "
            "--request go by the FencingPolicy."
        )
    if approve or request is not None:
        _mark(node, agent, approve, request, output, reach)
        return
    if agent is None and not undo:
        raise click.UsageError("Name the fence agent with --agent, such as fence_redfish.")
    if agent is not None and (file is None) == (secret is None):
        raise click.UsageError("Name the agent's options with --options or --secret, and not with both.")
    program = find_program(agent) if agent is not None else ""
    limits, seconds = FencingLimits(min_healthy, max_fenced), agent_timeout.total_seconds()

    async def work(cluster: Cluster) -> str:
        machine = await _agent(cluster, program, file, secret, seconds) if program else None
        await read_node(cluster, node)  # the agent is asked only about a node that exists
        user = await cluster_user(cluster) or "a user"
        owner = f"vacate fence {system_entropy().uid()[:8]} of {user}"
        fencing = ManualFence(
            cluster.client, cluster.clock, machine, limits, owner, mechanism or POWER, math.ceil(seconds),
            lambda line: terminal.echo(line, err=True),
        )  # fmt: skip
        if dry_run and machine is not None:
            return await _try(fencing, machine, node)
        if undo:
            return await _undo(cluster, fencing, node, user)
        return await _fence(cluster, fencing, node, user, retry=retry)

    _run(node, work, output, reach)


def _run(node: str, work: Callable[[Cluster], Awaitable[str]], output: str | None, reach: Connection) -> None:
    """Do it, and print what was done, or why not."""
    end(run_on_cluster(reach, lambda cluster: pushed((node,), lambda _: work(cluster), output)))


def _mark(
    node: str, agent: str | None, approve: bool, request: str | None, output: str | None, reach: Connection
) -> None:
    if agent is not None or (approve and request is not None):
        raise click.UsageError(
            "--approve and --request are for FencingPolicies: give one of them, and no --agent."
        )

    async def work(cluster: Cluster) -> str:
        found = await read_node(cluster, node)
        await _check_policy(cluster, found)
        patch, message = approval_patch(found) if approve else request_patch(found, request or "")
        await cluster.client.patch(NODES, node, patch)
        user = await cluster_user(cluster) or "a user of vacate fence"
        reason = "FenceApproved" if approve else "FenceRequested"
        await _note(cluster, node, reason, f"{user}: {message}", warning=True)
        return f"node/{node}: {message}"

    _run(node, work, output, reach)


async def _check_policy(cluster: Cluster, node: Node) -> None:
    """A mark that no controller reads would look like a fence that is under way."""
    try:
        policies = (await cluster.client.list(FENCINGPOLICIES, into=FencingPolicy)).items
    except Forbidden as error:
        terminal.echo(f"warning: not checked whether a FencingPolicy selects the node: {error}", err=True)
        return
    except NotFound:
        policies = []
    if not any(selects(policy, node) for policy in policies):
        raise FencingFailed(
            f"no FencingPolicy selects node {node.metadata.name}, so nothing would act on this. Nothing was "
            "changed; create a policy, or fence the node by hand with --agent"
        )


async def _fence(cluster: Cluster, fencing: ManualFence, node: str, user: str, *, retry: bool) -> str:
    try:
        await fencing.fence(node, retry=retry)
    except FencingFailed as error:
        await _note(cluster, node, "FencingFailed", f"{user}: {error}", warning=True)
        raise
    if fencing.by_storage:
        did, state = "cut the node off from its storage", "is cut off from its storage"
    else:
        did, state = "switched the node off", "is off"
    await _note(cluster, node, "Fenced", f"{user} {did}; its pods are released.")
    return f"node/{node} {state} and out of service: its pods are released"


async def _undo(cluster: Cluster, fencing: ManualFence, node: str, user: str) -> str:
    done = await fencing.unfence(node)
    await _note(cluster, node, "Unfenced", f"{user} {done.did}.")
    found = await cluster.client.get(NODES, node, into=Node)
    return f"node/{node} {done.state} and {scheduling(found)}"


def scheduling(node: Node) -> str:
    """Whether the node takes pods: a machine that was just powered on takes minutes to report."""
    if node.spec.unschedulable:
        return "is still cordoned"
    return "takes pods" if readiness(node) == "True" else "takes pods once it is Ready"


async def _try(fencing: ManualFence, machine: FenceAgent, node: str) -> str:
    await fencing.check(node)
    status = await machine.status()
    if status.state is PowerState.UNKNOWN:
        raise FencingFailed(f"the agent cannot read the status of the machine: {status.message}")
    what = "storage" if fencing.by_storage else "machine"
    return f"node/{node} may be fenced; the agent says that its {what} is {status.state} (dry run)"


async def _agent(
    cluster: Cluster, program: str, file: Path | None, secret: str | None, seconds: float
) -> FenceAgent:
    if secret:
        options = await _from_secret(cluster, program, secret)
        return FenceAgent(program, options, seconds, frozenset(options))
    return FenceAgent(program, _from_file(file or Path("-")), seconds)


async def _note(cluster: Cluster, node: str, reason: str, message: str, *, warning: bool = False) -> None:
    try:
        found = await cluster.client.get(NODES, node, into=Node)
    except NotFound:
        return
    await note_node(cluster, found, reason, message, warning=warning)


async def _from_secret(cluster: Cluster, program: str, secret: str) -> dict[str, str]:
    namespace, _, name = secret.partition("/")
    if not namespace or not name or "/" in name:
        raise ConfigError(f"--secret: {secret[:80]!r} is not a Secret; write NAMESPACE/NAME")
    found = await cluster.client.get(SECRETS, name, namespace)
    options = options_of_secret(found, secret)
    check_options(options, f"--secret: {secret}")
    # Others may have written it, and the agent runs as the person who runs this command.
    check_allowed(Path(program).name, {}, options, "", f"--secret: {secret}")
    return options


def _from_file(file: Path) -> dict[str, str]:
    source = f"--options: {file}"
    try:
        if str(file) == "-":
            return read_options(sys.stdin.read(_MAX_FILE_BYTES), source)
        return read_options(file.read_bytes()[:_MAX_FILE_BYTES].decode(), source)
    except UnicodeDecodeError:
        raise ConfigError(f"{source}: is not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror}") from None
