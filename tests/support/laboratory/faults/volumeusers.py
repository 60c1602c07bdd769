"""Pods of the exclusive volume of which nothing but its record knows that they run."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.faults.volumes import ended, next_user
from support.laboratory.health import readiness_of
from support.laboratory.hosts import MANAGERS
from support.laboratory.workload import DISK_USERS, EXTRA_USER, TOLERANT, VOLUME, extra_user
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import PERSISTENTVOLUMES, PODS
from vacate.api.objects import dig
from vacate.api.options import DeleteOptions
from vacate.kube.exclusivevolumes import ATTACHMENT

UNKNOWN_WITHIN = 90.0
"""Seconds after which a node that was cut off is marked, where somebody is there to do it."""
DROPPED_WITHIN = 12.0


async def force_from_a_silent_node(lab: LaboratoryCluster, draw: Draw) -> None:
    """A person removes the volume's user from a node that is cut off, and knows it; then the node returns.

    Often it does not reach the storage yet when it does, so that the process cannot end.
    """
    async with lab.volume_turn:
        hosts, (pod, node) = lab.hosts, next(iter(lab.volume_users().items()), ("", ""))
        if not pod or node in hosts.spared:
            return
        lab.outcome.note(f"{node}, where {pod} uses the volume, is cut off")
        hosts.keep_away(node)
        try:
            await _force(lab, pod, node)
            await lab.sim.clock.sleep(draw.seconds(1, 20))
            stuck = draw.seconds(60, 180) if draw.below(3) else 0.0
            lab.separate(node, stuck)
        finally:
            hosts.let_back(node)
        await ended(lab, pod)


async def _force(lab: LaboratoryCluster, pod: str, node: str) -> None:
    """Not before the node is known to be silent; nor where the record does not know the pod."""
    last = lab.sim.loop.time() + UNKNOWN_WITHIN
    while readiness_of(lab, node) != "Unknown":
        if lab.sim.loop.time() > last:
            return
        await lab.sim.clock.sleep(1.0)
    uid = str(dig(lab.world.find(PODS, pod, "default"), "metadata", "uid"))
    if uid not in _record(lab) or pod not in lab.volume_users():
        return
    lab.outcome.note(f"{pod} is removed from {node} by force, which is confirmed")
    client = lab.world.client
    await tried(client.patch(PODS, pod, {"metadata": {"annotations": {CONFIRMATION: uid}}}, "default"))
    await tried(client.delete(PODS, pod, "default", DeleteOptions(grace_period_seconds=0, uid=uid)))


async def start_beside_unreported(lab: LaboratoryCluster, draw: Draw) -> None:
    """A pod starts beside the volume's user, and a webhook of others refuses what its node says of it.

    It is deleted, with a long hook before its end; both managers are started anew, as an upgrade does; and
    the first user is deleted. From then on nothing but the record knows that somebody uses the volume.
    """
    async with lab.volume_turn:
        before = lab.volume_users()
        user, node = next(iter(before.items()), ("", ""))
        if not user or node in lab.hosts.spared:
            return
        lab.outcome.note(f"a pod comes to {node} beside {user}, and reports on it are refused")
        lab.unreported[EXTRA_USER] = None
        try:
            await tried(lab.world.client.create(PODS, extra_user(node), "default"))
            if await next_user(lab, before) == (EXTRA_USER, node):
                await _end_both(lab, draw, user)
        finally:
            lab.unreported.clear()
        await tried(lab.world.client.delete(PODS, EXTRA_USER, "default"))
        await ended(lab, EXTRA_USER)


async def _end_both(lab: LaboratoryCluster, draw: Draw, user: str) -> None:
    lab.outcome.note(f"{EXTRA_USER} has started, and is deleted")
    await tried(lab.world.client.delete(PODS, EXTRA_USER, "default"))
    await lab.sim.clock.sleep(draw.seconds(2, DROPPED_WITHIN))
    lab.outcome.note("both managers are started anew")
    for name, place in MANAGERS.items():
        lab.spawn(lab.hosts.restart(lab.hosts.managers[name], draw.seconds(0.1, 2), place))
    await lab.sim.clock.sleep(draw.seconds(2, 5))
    lab.outcome.note(f"{user} is deleted")
    await tried(lab.world.client.delete(PODS, user, "default"))
    await lab.sim.clock.sleep(draw.seconds(40, 90))


async def come_as_an_unreported_pod_starts(lab: LaboratoryCluster, draw: Draw) -> None:
    """The volume has gone to a pod whose node cannot say so, and one manager has not heard of it yet.

    In this moment another pod comes which that manager would choose.
    """
    async with lab.volume_turn:
        name = list(MANAGERS)[draw.below(len(MANAGERS))]
        lab.outcome.note(f"{name} is started anew, and hears late of volumes")
        lab.lagging[name] = None
        try:
            await lab.hosts.restart(lab.hosts.managers[name], draw.seconds(0.1, 2), MANAGERS[name])
            await lab.sim.clock.sleep(draw.seconds(2, 10))
            await _move_unreported(lab, draw)
        finally:
            lab.lagging.clear()
            lab.unreported.clear()
        await tried(lab.world.client.delete(PODS, EXTRA_USER, "default"))
        await ended(lab, EXTRA_USER)


async def _move_unreported(lab: LaboratoryCluster, draw: Draw) -> None:
    users = lab.volume_users()
    pods = [one["metadata"]["name"] for one in lab.world.objects(PODS, "default")]
    lab.unreported.update(
        {one: None for one in pods if one.startswith(f"{DISK_USERS}-") and one not in users}
    )
    for user in users:
        lab.outcome.note(f"{user} is deleted; who gets the volume then is not reported")
        await tried(lab.world.client.delete(PODS, user, "default"))
    pod, node = await next_user(lab, users)
    if not pod:
        return
    lab.outcome.note(f"{pod} has started on {node}, and another pod comes")
    await tried(lab.world.client.create(PODS, extra_user(draw.other(node)), "default"))
    await lab.sim.clock.sleep(draw.seconds(20, 40))


async def remove_extra_pods(lab: LaboratoryCluster) -> None:
    """Nobody else does: no controller owns them."""
    for name in (EXTRA_USER, TOLERANT):
        while lab.world.find(PODS, name, "default") is not None:
            await tried(lab.world.client.delete(PODS, name, "default"))
            await lab.sim.clock.sleep(1.0)


def _record(lab: LaboratoryCluster) -> str:
    found = lab.world.find(PERSISTENTVOLUMES, VOLUME)
    return str((dig(found, "metadata", "annotations") or {}).get(ATTACHMENT, ""))
