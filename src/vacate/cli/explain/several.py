"""`vacate explain` of what has several pods: a node, a workload, or a drain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import click

from vacate.api.objects import Obj
from vacate.api.types import Node, Pod
from vacate.api.types.nodemaintenance import DRAINED, NodeMaintenance
from vacate.cli.common.connection import Cluster
from vacate.cli.common.parameters import drain_name, is_drain, node_name
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import list_maintenances, read_node
from vacate.cli.common.remedies import no_maintenance
from vacate.cli.evict.selection import Workload, pods_of_node, pods_of_workload, target
from vacate.cli.explain.text import as_object, broken, remedy_lines
from vacate.errors import NotFound
from vacate.views.explanation import Explanation
from vacate.views.maintenance import held_lines, progress_line
from vacate.views.model import Remedy
from vacate.views.phrases import NOT_INSTALLED, command_line, counted
from vacate.views.sections.unrequested import REQUEST_IT

_SIDE_BY_SIDE = 4
_MOST = 30
_NODE_PREFIXES = ("node", "nodes", "no")


@dataclass(frozen=True, slots=True)
class NamedNode:
    """A node as it was named on the command line."""

    name: str


@dataclass(frozen=True, slots=True)
class NamedDrain:
    """A drain as it was named on the command line."""

    name: str


Explained = str | Workload | NamedNode | NamedDrain
ExplainPod = Callable[[Cluster, str], Awaitable[tuple[Explanation, bool]]]


def explained(text: str) -> Explained:
    """A pod, as NAME or pod/NAME, or a workload, a node or a drain, as TYPE/NAME."""
    prefix, slash, _ = text.partition("/")
    if slash and prefix in _NODE_PREFIXES:
        return NamedNode(node_name(text))
    if is_drain(text):
        return NamedDrain(drain_name(text))
    try:
        return target(text)
    except click.BadParameter as error:
        if not slash or "DaemonSets" in error.message:
            raise
        ways = "pod/NAME, deployment/NAME, statefulset/NAME, node/NAME or nodemaintenance/NAME"
        raise click.BadParameter(f"{text[:80]!r} cannot be explained; write NAME, {ways}") from None


@dataclass(slots=True)
class SeveralPods:
    """What is known of all of them."""

    title: str
    lines: list[str]  # about the whole
    explanations: list[Explanation] = field(default_factory=list)
    left_out: int = 0
    remedies: list[Remedy] = field(default_factory=list)  # about the whole

    def text(self, width: int = 0) -> list[str]:
        """A line for each pod, and each remedy once; with a width, sentences are broken at it."""
        lines = broken(self.title, width, "", "  ")
        for line in self.lines:
            lines += [line] if line.startswith(" ") else broken(line, width, "", "  ")  # others are already
        if self.explanations:
            lines += ["", "Its pods:"]
            lines += [line for one in self.explanations for line in broken(_line(one), width, "  ", "    ")]
        if self.left_out:
            lines.append(f"  … and {counted(self.left_out, 'more pod')}")
        if ways := self._ways():
            lines += ["", "What you can do:"]
        return lines + remedy_lines(ways, width)

    def _ways(self) -> list[Remedy]:
        """Each once, under the names of the pods that it is for; last what is about the whole.

        What stands below the blockers of a drain is not repeated.
        """
        pods: dict[Remedy, list[str]] = {}
        for one in self.explanations:
            for way in dict.fromkeys(one.remedies):
                if way.text != REQUEST_IT:
                    pods.setdefault(way, []).append(one.pod)
        ways = []
        for way, whose in pods.items():
            about = whose[0] if len(whose) == 1 else f"{whose[0]} and {len(whose) - 1} more"
            alone = len(self.explanations) == 1
            ways.append(way if alone else replace(way, text=f"pod/{about}: {way.text}"))
        commands = {line.strip() for line in self.lines} - {""}
        once = []
        for way in (*ways, *self.remedies):
            if way.command not in commands:
                once.append(way)
            commands |= {way.command} - {""}
        return once

    def obj(self) -> Obj:
        """The same for programs."""
        return {
            "title": self.title,
            "lines": self.lines,
            "pods": [as_object(one) for one in self.explanations],
            "podsLeftOut": self.left_out,
            "remedies": [{"text": one.text, "command": one.command} for one in self.remedies],
        }


def _line(one: Explanation) -> str:
    """How it is with a pod, and what it waits for, or what would happen to it."""
    return " ".join([one.headline, *(one.awaited or one.next)[:1]])


async def explain_several(
    cluster: Cluster, what: Workload | NamedNode | NamedDrain, explain: ExplainPod, width: int
) -> SeveralPods:
    """A node, a workload or a drain, with each of its pods that is still there."""
    drains = await list_maintenances(cluster) or []
    if isinstance(what, Workload):
        pods = (await pods_of_workload(cluster, what)).pods
        where = f"{what.kind.singular}/{what.name} in namespace {cluster.namespace}"
        made = SeveralPods(f"{where} has {counted(len(pods), 'pod')}.", [])
    elif isinstance(what, NamedNode):
        node = await read_node(cluster, what.name)
        pods = (await pods_of_node(cluster, what.name, "", "")).pods
        made = _of_node(cluster, node, pods, drains, width)
    else:
        drain = next((one for one in drains if one.metadata.name == what.name), None)
        if drain is None:
            raise no_maintenance(what.name)
        rows = [row.name for row in drain.status.nodes if row.phase != DRAINED]
        pods = [pod for name in rows for pod in await _pods_if_there(cluster, name)]
        made = _of_drain(cluster, drain, width)
    await _explain_each(cluster, made, pods, explain)
    return made


async def _pods_if_there(cluster: Cluster, node: str) -> list[Pod]:
    try:
        return (await pods_of_node(cluster, node, "", "")).pods
    except NotFound:
        return []


async def _explain_each(
    cluster: Cluster, made: SeveralPods, pods: Sequence[Pod], explain: ExplainPod
) -> None:
    room = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def one(pod: Pod) -> Explanation | None:
        async with room:
            try:
                where = replace(cluster, namespace=pod.metadata.namespace)
                return (await explain(where, pod.metadata.name))[0]
            except NotFound:
                return None  # it has gone meanwhile

    found = await asyncio.gather(*map(one, pods[:_MOST]))
    made.explanations = [one for one in found if one is not None]
    if any(NOT_INSTALLED in one.next for one in made.explanations):
        made.lines.append(NOT_INSTALLED)
    made.left_out = max(len(pods) - _MOST, 0)


def _of_node(
    cluster: Cluster, node: Node, pods: Sequence[Pod], drains: Sequence[NodeMaintenance], width: int
) -> SeveralPods:
    name, own = node.metadata.name, program_name()
    mine = [one for one in drains if name in one.spec.nodes]
    state = "takes no new pods (it is cordoned)" if node.spec.unschedulable else "takes new pods"
    has = counted(len(pods), "pod")
    made = SeveralPods(f"node/{name} {state} and has {has} that a drain would evict.", [])
    if not mine:
        made.lines.append("No drain has this node.")
        made.remedies += [
            Remedy("See what a drain would do.", command_line(own, "drain", name, "--dry-run")),
            Remedy("Drain it.", command_line(own, "drain", name)),
        ]
    for drain in mine:
        made.lines += [f"nodemaintenance/{drain.metadata.name}: {progress_line(drain)}."]
        made.lines += held_lines(drain, cluster.clock.now(), width)
        made.remedies.append(
            Remedy("Follow the drain.", command_line(own, "drain", "--follow", drain.metadata.name))
        )
    return made


def _of_drain(cluster: Cluster, drain: NodeMaintenance, width: int) -> SeveralPods:
    name, own = drain.metadata.name, program_name()
    made = SeveralPods(f"nodemaintenance/{name}: {progress_line(drain)}.", [])
    made.lines += held_lines(drain, cluster.clock.now(), width)
    made.remedies = [
        Remedy("Follow the drain.", command_line(own, "drain", "--follow", name)),
        Remedy("Cancel it; evicted pods stay evicted.", command_line(own, "drain", "--cancel", name)),
    ]
    return made
