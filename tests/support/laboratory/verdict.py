"""What is read from the whole history of a seed when it has ended."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from vacate.sim.history import budget_breaches


def judge(lab: LaboratoryCluster) -> None:
    """What is read from the whole history."""
    for text in lab.acknowledged.lost(lab.world.server.log.records):
        lab.outcome.breach(text)
    for text in budget_breaches(record for _, record in lab.world.server.history):
        lab.outcome.breach(text)
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
