"""What others do to the record of the exclusive volume: they remove it, or write one that is not true.

None of them names a pod that exists: its node would start it, which nobody can prevent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container

import msgspec

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.hosts import MANAGERS
from support.laboratory.workload import EXTRA_USER, VOLUME, extra_user
from vacate.api.kinds import PERSISTENTVOLUMES, PODS
from vacate.kube.exclusivevolumes import ATTACHMENT, Attachment, Holder

MAX_MOVE = 120.0


async def remove_the_record(lab: LaboratoryCluster, draw: Draw) -> None:
    async with lab.volume_turn:
        for _ in range(3):
            await _write(lab, None)
            await lab.sim.clock.sleep(draw.seconds(5, 60))


async def forge_the_record(lab: LaboratoryCluster, draw: Draw) -> None:
    """It names a pod that never was."""
    async with lab.volume_turn:
        for _ in range(3):
            never = Holder("default", "never", f"never-{draw.below(1000)}")
            await _write(lab, Attachment(draw.node(), (never,)))
            await lab.sim.clock.sleep(draw.seconds(5, 60))


async def remove_the_record_as_a_pod_starts(lab: LaboratoryCluster, draw: Draw) -> None:
    """The pod runs, its node is cut off before it can say so, and another comes that wants the volume.

    Only where both managers are there: what was in a record that no one saw cannot be known.
    """
    async with lab.volume_turn:
        await _remove_as_a_pod_starts(lab, draw)


async def _remove_as_a_pod_starts(lab: LaboratoryCluster, draw: Draw) -> None:
    before = lab.volume_users()
    for pod in before:
        lab.outcome.note(f"{pod}, which uses the exclusive volume, is deleted")
        await tried(lab.world.client.delete(PODS, pod, "default"))
    pod, node = await next_user(lab, before)
    hosts = lab.hosts
    if not pod or node in MANAGERS.values() or node in hosts.spared:
        return
    lab.outcome.note(f"{node} is cut off as it has started {pod}")
    hosts.cut_off(node)
    # Of those that wait it is the first, so that a manager that does not know who runs would choose it.
    await tried(lab.world.client.create(PODS, extra_user(draw.other(node)), "default"))
    await lab.sim.clock.sleep(draw.seconds(1, 20))
    if _managers_are_there(lab):
        await _write(lab, None)
    await lab.sim.clock.sleep(draw.seconds(20, 200))
    hosts.reconnect(node)
    await tried(lab.world.client.delete(PODS, EXTRA_USER, "default"))
    await ended(lab, EXTRA_USER)


async def next_user(lab: LaboratoryCluster, before: Container[str]) -> tuple[str, str]:
    """The pod that starts next with the volume, in the moment when it does, and its node."""
    changed = asyncio.Event()
    lab.listeners.append(changed.set)
    try:
        async with asyncio.timeout(MAX_MOVE):
            while True:
                if found := [one for one in lab.volume_users().items() if one[0] not in before]:
                    return found[0]
                changed.clear()
                await changed.wait()
    except TimeoutError:
        return "", ""
    finally:
        lab.listeners.remove(changed.set)


async def ended(lab: LaboratoryCluster, pod: str) -> None:
    """Until then what others write into the record could not be known to be wrong."""
    while pod in lab.volume_users():
        await lab.sim.clock.sleep(1.0)


def _managers_are_there(lab: LaboratoryCluster) -> bool:
    return all(map(lab.hosts.is_connected, lab.hosts.managers.values()))


async def _write(lab: LaboratoryCluster, record: Attachment | None) -> None:
    lab.outcome.note(f"somebody writes the record of the volume: {record}")
    text = None if record is None else msgspec.json.encode(record).decode()
    await tried(
        lab.world.client.patch(PERSISTENTVOLUMES, VOLUME, {"metadata": {"annotations": {ATTACHMENT: text}}})
    )
