"""What must have ended when the faults have stopped, each by the name of its invariant."""

from __future__ import annotations

from collections.abc import Iterator

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.health import open_requests
from support.laboratory.outcome import Breach
from vacate.api.kinds import NODEMAINTENANCES, NODES
from vacate.api.objects import Obj, dig
from vacate.sim.invariants.names import Invariant


def left_open(lab: LaboratoryCluster) -> list[Breach]:
    """What has not ended, what may keep the others from it first: a node that goes down holds up a drain."""
    return [
        *(Breach(Invariant.SHUTDOWNS_END, text) for text in _shutdowns(lab)),
        *(Breach(Invariant.REQUESTS_END, text) for text in _requests(lab)),
        *(Breach(Invariant.MAINTENANCES_END, text) for text in _maintenances(lab)),
    ]


def _shutdowns(lab: LaboratoryCluster) -> Iterator[str]:
    """Those under way, and those that are over while the node says that it goes down."""
    for name, machine in lab.hosts.machines.items():
        if lab.hosts.loginds[name].is_preparing and machine.on:
            yield f"the shutdown of {name} goes on"
        elif _goes_down(lab.world.find(NODES, name) or {}):
            yield f"{name} says that it shuts down, and does not"


def _goes_down(node: Obj) -> bool:
    conditions = dig(node, "status", "conditions") or ()
    return any(
        one["type"] == "Ready" and one["status"] == "False" and "shutting down" in one.get("message", "")
        for one in conditions
    )


def _requests(lab: LaboratoryCluster) -> Iterator[str]:
    for one in open_requests(lab):
        message = dig(one, "status", "message")
        yield f"{one['kind']} {one['metadata']['name']} is not complete: {message or 'no status'}"


def _maintenances(lab: LaboratoryCluster) -> Iterator[str]:
    """Those that are not drained, and those that were deleted and are not undone."""
    for one in lab.world.objects(NODEMAINTENANCES):
        name, phase = one["metadata"]["name"], dig(one, "status", "phase")
        if one["metadata"].get("deletionTimestamp"):
            yield f"maintenance {name} was deleted and is not undone"
        elif phase != "Drained":
            yield f"maintenance {name} is not drained: {dig(one, 'status', 'message') or phase}"
