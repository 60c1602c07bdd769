"""The status of a maintenance, and the conditions of its nodes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence

import msgspec

from vacate.api.objects import Obj
from vacate.api.types import Node
from vacate.api.types.evictionrequest import RequestCondition
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import (
    BLOCKED,
    CORDONED,
    DRAINED,
    DRAINING,
    MAX_BLOCKERS,
    MAX_CONDITIONS,
    MAX_FORCED,
    MAX_NODES,
    PENDING,
    UNDOING,
    NodeMaintenance,
    NodeMaintenanceStatus,
    NodeProgress,
)
from vacate.kube.patches import guarded
from vacate.maintenance.model import MaintenancePlan
from vacate.maintenance.progress import is_done
from vacate.views.phrases import counted

CONDITIONS = (DRAINING, DRAINED, BLOCKED)


def status_of(maintenance: NodeMaintenance, plan: MaintenancePlan, now: dt.datetime) -> NodeMaintenanceStatus:
    """The status to write."""
    rows = _within_names(plan.rows[:MAX_NODES])
    phase = _phase(rows, blocked=bool(plan.blockers))
    done = sum(1 for row in rows if is_done(row))
    finishes = [row.estimated_finish_time for row in rows if row.estimated_finish_time is not None]
    message = _message(phase, rows, done, len(plan.blockers))
    return NodeMaintenanceStatus(
        observed_generation=maintenance.metadata.generation,
        phase=phase,
        message=message,
        nodes_total=len(plan.rows),
        nodes_drained=done,
        pods_total=sum(row.pods_total for row in rows),
        pods_evicted=sum(row.pods_evicted for row in rows),
        pods_forced=sum(row.pods_forced for row in rows),
        percent=sum(100 if is_done(row) else row.percent for row in rows) // len(rows) if rows else 0,
        estimated_finish_time=max(finishes, default=None),
        nodes=rows,
        blockers=plan.blockers[:MAX_BLOCKERS],
        blockers_total=len(plan.blockers),
        conditions=_conditions(maintenance, phase, message, bool(plan.blockers), now),
    )


def _within_names(rows: Sequence[NodeProgress]) -> list[NodeProgress]:
    """The rows with as many names of pods as a status may have; the counts tell of the others."""
    left, found = MAX_FORCED, []
    for row in rows:
        kept = row.forced_pods[:left]
        left -= len(kept)
        same = len(kept) == len(row.forced_pods)
        found.append(row if same else msgspec.structs.replace(row, forced_pods=kept))
    return found


def newly_drained(maintenance: NodeMaintenance, plan: MaintenancePlan) -> list[str]:
    """The nodes that the plan reports as drained for the first time."""
    before = {row.name for row in maintenance.status.nodes if row.phase == DRAINED}
    return [row.name for row in plan.rows if row.phase == DRAINED and row.name not in before]


def keep_draining(maintenance: NodeMaintenance, plan: MaintenancePlan, nodes: Collection[str]) -> None:
    """Report these nodes as draining, with the counts of the last report: not all of their pods are known."""
    before = {row.name: row for row in maintenance.status.nodes}
    for place, row in enumerate(plan.rows):
        if row.name in nodes:
            last = before.get(row.name, NodeProgress(name=row.name))
            plan.rows[place] = msgspec.structs.replace(
                row,
                phase=DRAINING,
                pods_total=last.pods_total,
                pods_evicted=last.pods_evicted,
                percent=last.percent,
                drained_time=None,
                message="counting the pods that are left",
            )


def undoing_status(maintenance: NodeMaintenance, message: str) -> NodeMaintenanceStatus:
    """The status while a deleted maintenance takes back what it did."""
    return msgspec.structs.replace(maintenance.status, phase=UNDOING, message=message)


def is_news(before: NodeMaintenanceStatus, after: NodeMaintenanceStatus) -> bool:
    """Whether the change is worth a write at once, or can wait for others to be written with it."""
    return (
        before.phase != after.phase
        or before.observed_generation != after.observed_generation
        or [(row.name, row.phase) for row in before.nodes] != [(row.name, row.phase) for row in after.nodes]
        or before.blockers_total != after.blockers_total
        or before.pods_forced != after.pods_forced
    )


def _phase(rows: Sequence[NodeProgress], *, blocked: bool) -> str:
    phases = {row.phase for row in rows}
    if blocked:
        return BLOCKED
    if DRAINING in phases:
        return DRAINING
    if rows and all(is_done(row) for row in rows):
        return DRAINED
    return CORDONED if CORDONED in phases else PENDING


def _message(phase: str, rows: Sequence[NodeProgress], done: int, blockers: int) -> str:
    if not rows:
        return "no node matches"
    if phase == CORDONED:
        return f"{counted(len(rows), 'node')} cordoned"
    text = f"{done} of {counted(len(rows), 'node')} drained"
    return f"{text}, {counted(blockers, 'blocker')}" if blockers else text


def _conditions(
    maintenance: NodeMaintenance, phase: str, message: str, blocked: bool, now: dt.datetime
) -> list[RequestCondition]:
    """Ours after those of others, which stay as they are, as far as there is room."""
    before = maintenance.status.conditions
    others = [one for one in before if one.type not in CONDITIONS]
    true = {DRAINING: phase in (DRAINING, BLOCKED), DRAINED: phase == DRAINED, BLOCKED: blocked}
    made = []
    for type_ in CONDITIONS:
        status, old = "True" if true[type_] else "False", condition(before, type_)
        since = old.last_transition_time if old is not None and old.status == status else None
        made.append(
            RequestCondition(
                type=type_,
                status=status,
                observed_generation=maintenance.metadata.generation,
                last_transition_time=since or now.replace(microsecond=0),
                reason=phase,
                message=message,
            )
        )
    return [*others[: MAX_CONDITIONS - len(made)], *made]


def node_conditions_patch(node: Node, phases: Iterable[str], now: dt.datetime) -> Obj | None:
    """The strategic patch of a node's status that shows the phases of all of its maintenances together.

    Without phases the conditions go. Only what differs is written; conditions of others are not touched. What
    is shown is guarded: another manager, with an older view, must not show again what was taken back.
    """
    found = sorted(set(phases) & {PENDING, CORDONED, DRAINING, BLOCKED, DRAINED})
    changes: list[Obj] = []
    for type_ in CONDITIONS:
        old = condition(node.status.conditions, type_)
        if not found:
            if old is not None:
                changes.append({"type": type_, "$patch": "delete"})
            continue
        true = {
            DRAINING: DRAINING in found or BLOCKED in found,
            DRAINED: found == [DRAINED],
            BLOCKED: BLOCKED in found,
        }[type_]
        status = "True" if true else "False"
        if old is not None and old.status == status:
            continue
        moment = now.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        changes.append(
            {
                "type": type_,
                "status": status,
                "reason": "NodeMaintenance",
                "message": "see kubectl get nodemaintenances",
                "lastTransitionTime": moment,
                "lastHeartbeatTime": moment,
            }
        )
    if not changes:
        return None
    patch: Obj = {"status": {"conditions": changes}}
    return guarded(node.metadata, patch) if found else patch
