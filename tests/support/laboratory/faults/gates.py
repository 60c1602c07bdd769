"""Faults of the scheduling gate, on which the exclusive volume rests where nodes do not wait for volumes."""

from __future__ import annotations

import asyncio

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.faults.volumes import ended
from support.laboratory.hosts import MANAGERS
from support.laboratory.workload import DISK_USERS
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig, terminating
from vacate.api.options import DeleteOptions

MAX_MOVE = 120.0
BOUND_WITHIN = 60.0


async def managers_away_as_a_gate_opens(lab: LaboratoryCluster, draw: Draw) -> None:
    """No manager sees which node the pod gets. It runs, its node is lost, and it is removed by force."""
    async with lab.volume_turn:
        for pod in lab.volume_users():
            lab.outcome.note(f"{pod}, which uses the exclusive volume, is deleted")
            await tried(lab.world.client.delete(PODS, pod, "default"))
        opened = await _next_opened(lab)
        if opened is None:
            return
        name, uid = opened["metadata"]["name"], opened["metadata"]["uid"]
        lab.outcome.note(f"the gate of {name} opens, and all managers crash")
        for one in MANAGERS:
            await lab.hosts.managers[one].crash()
        node = await _node_of_user(lab, name)
        if node:
            lab.outcome.note(f"{node}, where {name} runs, is cut off; it is removed by force")
            lab.hosts.keep_away(node)
            client = lab.world.client
            confirmed = {"metadata": {"annotations": {CONFIRMATION: uid}}}
            await tried(client.patch(PODS, name, confirmed, "default"))
            await tried(client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0, uid=uid)))
        await lab.sim.clock.sleep(draw.seconds(1, 30))
        for one in MANAGERS:
            lab.spawn(lab.hosts.begin(lab.hosts.managers[one]))
        await lab.sim.clock.sleep(draw.seconds(120, 300))
        if node:
            lab.hosts.let_back(node)
            await ended(lab, name)


async def _next_opened(lab: LaboratoryCluster) -> Obj | None:
    """The next pod whose gate opens, in the moment when it does."""

    def opened() -> Obj | None:
        for one in lab.world.objects(PODS, "default"):
            ours = dig(one, "metadata", "labels", "app") == DISK_USERS
            if ours and not one["spec"].get("schedulingGates") and not terminating(one):
                return one
        return None

    try:
        async with asyncio.timeout(MAX_MOVE):
            while (found := opened()) is None:
                await lab.world.server.changed()
    except TimeoutError:
        return None
    return found


async def _node_of_user(lab: LaboratoryCluster, pod: str) -> str:
    """Where the pod runs with the volume; empty where it does not come to that."""
    last = lab.sim.loop.time() + BOUND_WITHIN
    while pod not in lab.volume_users() and lab.sim.loop.time() < last:
        await lab.sim.clock.sleep(0.5)
    return lab.volume_users().get(pod, "")
