"""What people say of a node that has the exclusive volume, and is only cut off: that it is gone."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.faults.volumes import ended
from support.laboratory.health import readiness_of
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions

UNKNOWN_WITHIN = 90.0


async def delete_the_node_of_the_user(lab: LaboratoryCluster, draw: Draw) -> None:
    """Each of its pods is removed by force, which is confirmed; of the Node nobody is asked."""
    async with lab.volume_turn:
        pod, node = next(iter(lab.volume_users().items()), ("", ""))
        if not pod or node in lab.hosts.spared:
            return
        lab.outcome.note(f"{node}, where {pod} uses the volume, is cut off")
        lab.hosts.keep_away(node)
        try:
            last = lab.sim.loop.time() + UNKNOWN_WITHIN
            while readiness_of(lab, node) != "Unknown" and lab.sim.loop.time() < last:
                await lab.sim.clock.sleep(1.0)
            found = lab.world.find(NODES, node)
            if found is None or readiness_of(lab, node) != "Unknown":
                return
            for one in lab.world.objects(PODS, "default"):
                if dig(one, "spec", "nodeName") == node:
                    await _force(lab, one)
            if any(dig(one, "spec", "nodeName") == node for one in lab.world.objects(PODS, "default")):
                return
            lab.outcome.note(f"the Node object {node} is deleted without a confirmation")
            options = DeleteOptions(uid=str(found["metadata"]["uid"]))
            await tried(lab.world.client.delete(NODES, node, options=options))
            await lab.sim.clock.sleep(draw.seconds(20, 120))
        finally:
            lab.hosts.let_back(node)
        await ended(lab, pod)


async def _force(lab: LaboratoryCluster, pod: Obj) -> None:
    name, uid = pod["metadata"]["name"], str(pod["metadata"]["uid"])
    lab.outcome.note(f"{name} is removed by force, which is confirmed")
    client = lab.world.client
    await tried(client.patch(PODS, name, {"metadata": {"annotations": {CONFIRMATION: uid}}}, "default"))
    await tried(client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0, uid=uid)))
