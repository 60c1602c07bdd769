"""What is read from the whole history of a seed when it has ended."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.hosts import MANAGERS
from vacate.eviction.dialects.registry import OWN_DIALECTS
from vacate.sim.invariants.check import breaches
from vacate.sim.invariants.history import RequestHistory
from vacate.sim.invariants.names import Invariant


def check_history(lab: LaboratoryCluster) -> None:
    """Check what only the whole history shows, and count how near the invariants were."""
    outcome, server = lab.outcome, lab.world.server
    outcome.breach_all(Invariant.DURABLE, lab.acknowledged.lost(server.log.records))
    histories = [RequestHistory(server.history, one) for one in OWN_DIALECTS]
    outcome.breach_all(Invariant.REQUESTS, breaches(histories, lab.audit.heard, MANAGERS))
    evictions = [one for one in lab.audit.heard if one.method == "POST"]
    lab.outcome.counts.update(
        {
            "near: eviction refused by a budget": sum(one.status == 429 for one in evictions),
            "near: identity started on another node": lab.processes.moves,
            "near: exclusive volume used on another node": lab.processes.volume_moves,
            "near: pods released by a fence": lab.fences.released,
            "near: start refused by a full disk": sum(
                one.refused_starts for one in lab.hosts.machines.values()
            ),
            "near: processes of a pod that waited for a lost host": sum(
                one.stuck for one in lab.hosts.machines.values()
            ),
        }
    )
