"""What a drain would do, as text or JSON; and the pods for which it is refused."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vacate.api.types.nodemaintenance import Blocker, NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.output import JSON, json_text
from vacate.cli.drain.plan import (
    EVICTED_TREATMENTS,
    PlannedPod,
    budget_names,
    foreseen,
    read_absent,
    read_budgets,
    read_plans,
    read_room,
    with_budgets,
)
from vacate.maintenance.pods import Treatment
from vacate.views.maintenance import blocker_lines, wrapped
from vacate.views.phrases import counted


async def preview(
    cluster: Cluster, maintenance: NodeMaintenance, *, dry_run: bool, output: str
) -> int | None:
    """Say what would happen where that is wanted; how many pods would go.

    None where pods are refused, and nothing must be done.
    """
    nodes = maintenance.spec.nodes
    budgets = await read_budgets(cluster) if dry_run else []
    plans = await read_plans(cluster, maintenance)
    crowded: dict[str, str] = {}
    absent = await read_absent(cluster) if dry_run else frozenset[str]()
    if dry_run:
        crowded = await read_room(cluster, nodes, [one for pods in plans.values() for one in pods])
        plans = {node: await with_budgets(cluster, pods, budgets, absent) for node, pods in plans.items()}
    refused = {node: found for node, pods in plans.items() if (found := _refused(pods))}
    for node, pods in plans.items():
        held = refused.get(node, [])
        blockers = foreseen(pods if dry_run else held, crowded, absent)
        if dry_run and output == JSON:
            _preview_event(node, pods, blockers)
        elif dry_run:
            heading = _heading(node, len(held), elsewhere=bool(refused))
            terminal.echo(f"{heading}:" if pods else f"{heading}; no pod runs on it.")
            for number, one in enumerate(pods, 1):
                terminal.echo_lines(_numbered(number, _planned_line(one)))
            for blocker in blockers:
                terminal.echo_lines(blocker_lines(blocker, terminal.width()))
        elif held:
            terminal.error(f"node/{node} has {counted(len(held), 'pod')} that may not be evicted:")
            for blocker in blockers:
                terminal.echo_lines(blocker_lines(blocker, terminal.width(err=True)), err=True)
    if refused and not dry_run:
        terminal.echo("Nothing was changed.", err=True)
    if refused:
        return None
    return sum(one.verdict.treatment in EVICTED_TREATMENTS for pods in plans.values() for one in pods)


def _refused(pods: Sequence[PlannedPod]) -> list[PlannedPod]:
    return [one for one in pods if one.verdict.treatment is Treatment.HOLD]


def _heading(node: str, refused: int, *, elsewhere: bool) -> str:
    """What would become of the node: a refused pod, also one of another node, stops the whole drain."""
    if refused:
        what = f"would not be drained: {counted(refused, 'pod')} may not be evicted"
    elif elsewhere:
        what = "would not be drained: pods of another node may not be evicted"
    else:
        what = "would be cordoned and drained"
    return f"node/{node} {what} (dry run)"


def _numbered(number: int, line: str) -> list[str]:
    """One line in a pipe; on a terminal as many as it takes."""
    if not terminal.is_terminal():
        return [f"  {number}. {line}"]
    return wrapped(f"{number}. {line}", terminal.width(), 2)


def _planned_line(one: PlannedPod) -> str:
    """A pod, and what would happen to it."""
    meta, verdict = one.pod.metadata, one.verdict
    what = f"pod {meta.namespace}/{meta.name}"
    if verdict.treatment is Treatment.HOLD:
        return f"{what}: refused"
    if verdict.treatment is Treatment.STAY:
        return f"{what}: stays, {verdict.message}"
    how = "deleted last" if verdict.treatment is Treatment.EVICT_LAST else "evicted"
    if one.refusal:
        how = one.forecast.phrase(budget_names(one))
    if one.interceptors:
        return f"{what}: {how}, after {', '.join(one.interceptors)}"
    return f"{what}: {how}"


def _preview_event(node: str, pods: Sequence[PlannedPod], blockers: Sequence[Blocker]) -> None:
    made = {
        "type": "plan",
        "node": node,
        "pods": [
            {
                "namespace": one.pod.metadata.namespace,
                "pod": one.pod.metadata.name,
                "treatment": one.verdict.treatment.value,
                "interceptors": list(one.interceptors),
                "means": one.forecast.means.value,
            }
            for one in pods
        ],
        "blockers": [msgspec.to_builtins(one) for one in blockers],
    }
    terminal.echo_document(json_text(made, indent=False))
