"""What a drain would do, as text or JSON; and the pods for which it is refused."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping, Sequence

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
from vacate.maintenance.blockers import NOWHERE_TO_GO
from vacate.maintenance.pods import Treatment
from vacate.views.causes import Cause, causes_of
from vacate.views.maintenance import blocker_lines, cause_sections, wrapped
from vacate.views.phrases import counted


class Verdict(enum.StrEnum):
    """What would come of a drain, as far as it can be seen beforehand."""

    FINISHES = "Finishes"
    WAITS = "Waits"  # for something that ends by itself
    LACKS_ROOM = "LacksRoom"  # it ends, and replacements stay Pending
    BLOCKS = "Blocks"  # until a person acts
    REFUSED = "Refused"  # it does not begin


async def preview(
    cluster: Cluster, maintenance: NodeMaintenance, *, dry_run: bool, output: str
) -> tuple[int | None, Verdict]:
    """Say what would happen where that is wanted; how many pods would go, and what would come of it.

    None where pods are refused, and nothing must be done.
    """
    nodes = maintenance.spec.nodes
    plans = await read_plans(cluster, maintenance)
    refused = {node: found for node, pods in plans.items() if (found := _refused(pods))}
    verdict = Verdict.REFUSED if refused else Verdict.FINISHES
    if dry_run:
        budgets, absent = await read_budgets(cluster), await read_absent(cluster)
        crowded = await read_room(cluster, nodes, [one for pods in plans.values() for one in pods])
        plans = {node: await with_budgets(cluster, pods, budgets, absent) for node, pods in plans.items()}
        verdict = _show(plans, crowded, absent, cluster.clock.now(), output)
    else:
        for node, held in refused.items():
            terminal.error(f"node/{node} has {counted(len(held), 'pod')} that may not be evicted:")
            for blocker in foreseen(held, {}):
                terminal.echo_lines(blocker_lines(blocker, terminal.width(err=True)), err=True)
        if refused:
            terminal.echo("Nothing was changed.", err=True)
    if refused:
        return None, verdict
    going = sum(one.verdict.treatment in EVICTED_TREATMENTS for pods in plans.values() for one in pods)
    return going, verdict


def _show(
    plans: Mapping[str, Sequence[PlannedPod]],
    crowded: Mapping[str, str],
    absent: frozenset[str],
    now: dt.datetime,
    output: str,
) -> Verdict:
    """First what comes of it, then what holds it, then each node with its pods in their order."""
    held = {node: foreseen(pods, crowded, absent) for node, pods in plans.items()}
    causes = causes_of((), now, held=[one for blockers in held.values() for one in blockers])
    verdict = _verdict(plans, causes)
    if output == JSON:
        _summary_event(plans, causes, verdict)
        for node, pods in plans.items():
            _preview_event(node, pods, held[node])
        return verdict
    terminal.echo_lines([_summary(plans), _sentence(verdict, causes)])
    if causes:
        terminal.echo_lines(cause_sections(causes, now, terminal.width()))
    for node, pods in plans.items():
        own = causes_of((), now, held=held[node])
        waiting = {(pod.namespace, pod.pod) for one in own if _holds(one) for pod in one.waiting}
        heading = f"node/{node} {_becomes(verdict, len(_refused(pods)), len(waiting))} (dry run)"
        terminal.echo(f"{heading}:" if pods else f"{heading}; no pod runs on it.")
        for number, one in enumerate(pods, 1):
            terminal.echo_lines(_numbered(number, _planned_line(one)))
    return verdict


def _verdict(plans: Mapping[str, Sequence[PlannedPod]], causes: Sequence[Cause]) -> Verdict:
    if any(map(_refused, plans.values())):
        return Verdict.REFUSED
    if any(map(_holds, causes)):
        return Verdict.BLOCKS
    if any(one.kind == NOWHERE_TO_GO for one in causes):
        return Verdict.LACKS_ROOM
    return Verdict.WAITS if causes else Verdict.FINISHES


def _holds(cause: Cause) -> bool:
    """Whether it holds a drain until a person acts; a replacement without room does not."""
    return cause.needs_person and cause.kind != NOWHERE_TO_GO


def _summary(plans: Mapping[str, Sequence[PlannedPod]]) -> str:
    pods = [one for some in plans.values() for one in some]
    going = sum(one.verdict.treatment in EVICTED_TREATMENTS for one in pods)
    prepared = sum(bool(one.interceptors) for one in pods)
    stay = sum(one.verdict.treatment is Treatment.STAY for one in pods)
    parts = [f"{counted(len(plans), 'node')} to drain, {counted(going, 'pod')} to evict"]
    parts += [f"{prepared} of them after interceptors"] if prepared else []
    parts += [f"{counted(stay, 'pod')} left alone"] if stay else []
    return f"Dry run: {', '.join(parts)}."


def _sentence(verdict: Verdict, causes: Sequence[Cause]) -> str:
    match verdict:
        case Verdict.REFUSED:
            return "Verdict: it would be refused; nothing would be changed."
        case Verdict.BLOCKS:
            pods = {(pod.namespace, pod.pod) for one in causes if _holds(one) for pod in one.waiting}
            holds = "holds" if len(pods) == 1 else "hold"
            return f"Verdict: it would block: {counted(len(pods), 'pod')} {holds} it until a person acts."
        case Verdict.LACKS_ROOM:
            count = sum(len(one.waiting) for one in causes if one.kind == NOWHERE_TO_GO)
            return (
                f"Verdict: it would end, but the replacement of {counted(count, 'pod')} would find no node."
            )
        case Verdict.WAITS:
            return "Verdict: it would have to wait, for what ends by itself."
        case Verdict.FINISHES:
            return "Verdict: nothing is foreseen that would block it."


def _refused(pods: Sequence[PlannedPod]) -> list[PlannedPod]:
    return [one for one in pods if one.verdict.treatment is Treatment.HOLD]


def _becomes(verdict: Verdict, refused: int, waiting: int) -> str:
    """What would become of the node: a refused pod, also one of another node, stops the whole drain."""
    if refused:
        return f"would not be drained: {counted(refused, 'pod')} may not be evicted"
    if verdict is Verdict.REFUSED:
        return "would not be drained: pods of another node may not be evicted"
    if waiting:
        held = counted(waiting, "pod")
        return f"would be cordoned, and not drained until a person acts: {held} would be held"
    return "would be cordoned and drained"


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


def _summary_event(
    plans: Mapping[str, Sequence[PlannedPod]], causes: Sequence[Cause], verdict: Verdict
) -> None:
    made = {
        "type": "summary",
        "verdict": str(verdict),
        "nodes": len(plans),
        "pods": sum(one.verdict.treatment in EVICTED_TREATMENTS for some in plans.values() for one in some),
        "causes": [
            {
                "kind": one.kind,
                "namespace": one.namespace,
                "name": one.name,
                "needsPerson": one.needs_person,
                "message": one.message,
                "pods": [f"{each.namespace}/{each.pod}" for each in one.waiting if each.pod],
                "remedies": [{"text": way.text, "command": way.command} for way in one.remedies],
            }
            for one in causes
        ],
    }
    terminal.echo_document(json_text(made, indent=False))


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
