"""What a maintenance does next: a value, from its spec and the present state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence

from vacate.api.types import Node
from vacate.api.types.nodemaintenance import (
    ALL_FIRST,
    CORDON,
    CORDONED,
    DRAINING,
    EVICT,
    NOT_FOUND,
    PENDING,
    REPLACED,
    Blocker,
    NodeMaintenance,
    NodeProgress,
)
from vacate.maintenance.blockerrecords import node_blocker
from vacate.maintenance.blockers import CONDITIONS_REFUSED, from_node, from_turn, from_withdrawal
from vacate.maintenance.claims import claims_of
from vacate.maintenance.model import ACTIVE, STARTED, MaintenanceInputs, MaintenancePlan
from vacate.maintenance.nodedrain import drain_node
from vacate.maintenance.pods import selector_from
from vacate.maintenance.progress import is_done, plausible
from vacate.maintenance.turns import TurnRules, Turns, limit_of, next_turns
from vacate.views.model import Remedy
from vacate.views.phrases import counted

TURN_RECHECK = dt.timedelta(seconds=15)
"""A node that waits for other maintenances is looked at again after so long, though none has changed."""


def meant_nodes(maintenance: NodeMaintenance, nodes: Sequence[Node]) -> list[str]:
    """The names of the nodes that a maintenance means, in the order of their turns."""
    spec = maintenance.spec
    if spec.nodes:
        return list(dict.fromkeys(spec.nodes))
    if spec.node_selector is None:
        return []
    selector = selector_from(spec.node_selector)
    if selector.everything:
        return []  # admission refuses it; should it be stored all the same, it means nothing
    return sorted(node.metadata.name for node in nodes if selector.matches(node.metadata.labels))


def plan_maintenance(
    maintenance: NodeMaintenance, names: Sequence[str], around: MaintenanceInputs, now: dt.datetime
) -> MaintenancePlan:
    """The next steps of a maintenance that is not being deleted."""
    plan = MaintenancePlan(now)
    created = maintenance.metadata.creation_timestamp
    before = {row.name: plausible(row, created, now) for row in maintenance.status.nodes}
    rows = {name: _present(before.get(name), name, around.nodes.get(name)) for name in names}
    spec = maintenance.spec
    drains = spec.stage != CORDON
    if drains and not _ready_to_start(maintenance, rows, around):
        first = f"{'the node is' if len(rows) == 1 else 'all nodes are'} cordoned first"
        rows = {
            name: _row(row, PENDING, message=first) if row.phase == PENDING else row
            for name, row in rows.items()
        }
    elif drains:
        turns = _turns(maintenance, rows, around)
        plan.starts = turns.starts
        _name_limit(rows, turns.starts, spec.max_nodes)
        if turns.held:
            plan.wake(now + TURN_RECHECK)
            held = from_turn(turns, len({one.node.metadata.name for one in around.others}))
            rows[turns.held] = _row(rows[turns.held], PENDING, message=held.message)
            if not turns.starts and not any(row.phase in ACTIVE for row in rows.values()):
                plan.blockers.append(held)
        for name in plan.starts:
            rows[name] = _started(rows[name], around.nodes[name], now)
    for name, row in rows.items():
        node = around.nodes.get(name)
        if node is None or row.phase == REPLACED:
            plan.rows.append(row)
            if node is None and not row.uid:
                plan.blockers.append(_unknown(name))
            continue
        if not drains or spec.cordon == ALL_FIRST or row.phase in STARTED:
            plan.cordon.append(node)
        if not drains:
            plan.rows.append(_row(row, CORDONED, message="the node takes no new pods"))
        elif row.phase in STARTED:
            plan.rows.append(drain_node(maintenance, row, node, around, plan, now))
        else:
            plan.rows.append(row)
    _add_refusals(plan, around)
    plan.blockers = [around.dated(one, now) for one in plan.blockers]
    return plan


def _add_refusals(plan: MaintenancePlan, around: MaintenanceInputs) -> None:
    """What was refused of nodes, and of pods that stay. Where all is done, nothing is blocked any more."""
    done = bool(plan.rows) and all(is_done(row) for row in plan.rows)
    for (kind, node), message in sorted(around.refused_nodes.items()):
        if kind != CONDITIONS_REFUSED or not done:
            plan.blockers.append(from_node(kind, node, message))
    plan.blockers += [from_withdrawal(pod, why) for pod, why in sorted(around.unwithdrawn.items())]


def _present(row: NodeProgress | None, name: str, node: Node | None) -> NodeProgress:
    """The node's row as it was, corrected by whether the node is still the same."""
    row = row or NodeProgress(name=name)
    if node is None:
        gone = "the node was deleted" if row.uid else "there is no node of this name"
        return _row(row, NOT_FOUND, message=gone, drained=None)
    if row.uid and row.uid != node.metadata.uid:
        new = (
            "the node was replaced by a new one of the same name, which is not drained; to drain it, create "
            "a new NodeMaintenance"
        )
        return _row(row, REPLACED, message=new)
    if row.phase not in STARTED:
        return _row(row, PENDING, message="waits for its turn")
    return row


def _row(row: NodeProgress, phase: str, *, message: str, drained: dt.datetime | None = None) -> NodeProgress:
    return NodeProgress(
        name=row.name,
        uid=row.uid,
        phase=phase,
        pods_total=row.pods_total,
        pods_evicted=row.pods_evicted,
        pods_forced=row.pods_forced,
        forced_pods=row.forced_pods,
        percent=row.percent,
        drained_time=drained,
        message=message,
    )


def _started(row: NodeProgress, node: Node, now: dt.datetime) -> NodeProgress:
    begin = now.replace(microsecond=0)
    return NodeProgress(name=row.name, uid=node.metadata.uid, phase=DRAINING, start_time=begin)


def _ready_to_start(
    maintenance: NodeMaintenance, rows: Mapping[str, NodeProgress], around: MaintenanceInputs
) -> bool:
    """Whether all nodes are cordoned that must be before one is drained."""
    return maintenance.spec.cordon != ALL_FIRST or all(
        node.spec.unschedulable and maintenance.metadata.name in claims_of(node).by
        for name, row in rows.items()
        if row.phase != REPLACED and (node := around.nodes.get(name)) is not None
    )


def _turns(
    maintenance: NodeMaintenance, rows: Mapping[str, NodeProgress], around: MaintenanceInputs
) -> Turns:
    spec = maintenance.spec
    there = {name: around.nodes[name] for name in rows if name in around.nodes}
    limit = around.limits.draining_nodes
    rules = TurnRules(
        spec.max_nodes,
        len(rows),
        spec.topology_key,
        None if limit is None else limit_of(limit, around.node_count),
        around.limits.topology_key,
    )
    own = [there[name] for name, row in rows.items() if row.phase in ACTIVE and name in there]
    waiting = [there[name] for name, row in rows.items() if row.phase == PENDING and name in there]
    return next_turns(waiting, own, around.others, rules)


def _name_limit(rows: dict[str, NodeProgress], starts: Collection[str], max_nodes: int | str) -> None:
    """Nodes that wait say for which one, where it is the limit of their own maintenance."""
    limit = limit_of(max_nodes, len(rows))
    drained = [name for name, row in rows.items() if row.phase in ACTIVE or name in starts]
    if len(drained) < limit:
        return
    more = f" and {len(drained) - 1} more" if len(drained) > 1 else ""
    waits = f"waits for its turn after {drained[0]}{more}: {counted(limit, 'node')} at a time (maxNodes)"
    for name, row in rows.items():
        if row.phase == PENDING:
            rows[name] = _row(row, PENDING, message=waits)


def _unknown(name: str) -> Blocker:
    way = Remedy("correct spec.nodes, or wait for the node to join", "kubectl get nodes")
    return node_blocker(name, "NodeNotFound", "there is no node of this name", [way], sentence=way.text)


def wants_taint(maintenance: NodeMaintenance) -> bool:
    """Whether DaemonSet pods must be kept off the nodes."""
    return maintenance.spec.stage != CORDON and maintenance.spec.pods.daemon_set_pods == EVICT
