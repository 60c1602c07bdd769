"""What goes wrong in the laboratory, and what people do meanwhile. Each fault ends after a while."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from support.laboratory.cluster import MANAGERS, NODES, LaboratoryCluster
from support.laboratory.workload import STORAGE
from support.maintenance_words import maintenance
from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES, PODS
from vacate.api.kinds import NODES as NODE_OBJECTS
from vacate.api.objects import Obj, dig
from vacate.entropy import Entropy
from vacate.errors import VacateError
from vacate.sim.fenceagents import Behaviour

PEOPLE = "people.example.com"
TAINT = {"key": "gpu", "effect": "NoSchedule"}
# One that speaks of another machine is left out: that node's silence tells, and here that has many causes.
BEHAVIOURS = tuple(one for one in Behaviour if one is not Behaviour.WRONG_MACHINE)


@dataclass(slots=True)
class Draw:
    """Draws for one step."""

    entropy: Entropy

    def node(self) -> str:
        return NODES[self.below(len(NODES))]

    def other(self, node: str) -> str:
        left = [one for one in NODES if one != node]
        return left[self.below(len(left))]

    def below(self, count: int) -> int:
        return min(int(self.entropy.uniform(0, count)), count - 1)

    def seconds(self, low: float, high: float) -> float:
        return self.entropy.uniform(low, high)


Fault = Callable[[LaboratoryCluster, Draw], Awaitable[None]]


# Partitions


async def cut_node_off(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    await _cut_off(lab, (name,), draw.seconds(20, 500))


async def cut_all_nodes_off(lab: LaboratoryCluster, draw: Draw) -> None:
    await _cut_off(lab, NODES, draw.seconds(60, 400))


async def _cut_off(lab: LaboratoryCluster, nodes: tuple[str, ...], seconds: float) -> None:
    names = [name for name in nodes if name not in lab.registering]
    for name in names:
        lab.outcome.note(f"{name} is cut off from the control plane for {seconds:.0f} s")
        lab.cut_off(name)
    await lab.sim.clock.sleep(seconds)
    for name in names:
        lab.reconnect(name)


async def cut_nodes_from_each_other(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    await _separate(lab, name, [draw.other(name)], draw.seconds(20, 400))


async def cut_node_from_all_peers(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    others = [one for one in (*NODES, STORAGE) if one != name]
    await _separate(lab, name, others, draw.seconds(20, 400))


async def cut_node_from_storage(lab: LaboratoryCluster, draw: Draw) -> None:
    await _separate(lab, draw.node(), [STORAGE], draw.seconds(20, 400))


async def _separate(lab: LaboratoryCluster, name: str, others: list[str], seconds: float) -> None:
    lab.outcome.note(f"{name} does not reach {', '.join(others)} for {seconds:.0f} s")
    for other in others:
        lab.network.cut(name, other)
    await lab.sim.clock.sleep(seconds)
    for other in others:
        lab.network.mend(name, other)


async def cut_manager_off(lab: LaboratoryCluster, draw: Draw) -> None:
    await _cut_process(lab, list(MANAGERS)[draw.below(len(MANAGERS))], draw.seconds(5, 200))


async def cut_controllers_off(lab: LaboratoryCluster, draw: Draw) -> None:
    await _cut_process(lab, ("controllers", "scheduler")[draw.below(2)], draw.seconds(5, 200))


async def _cut_process(lab: LaboratoryCluster, name: str, seconds: float) -> None:
    lab.outcome.note(f"{name} is cut off from the API server for {seconds:.0f} s")
    lab.world.network.cut(name)
    await lab.sim.clock.sleep(seconds)
    lab.world.network.mend(name)


# The store


async def store_unreachable(lab: LaboratoryCluster, draw: Draw) -> None:
    seconds = draw.seconds(5, 60)
    lab.outcome.note(f"the API server does not reach its store for {seconds:.0f} s")
    lab.world.server.condition.unreachable = True
    await lab.sim.clock.sleep(seconds)
    lab.world.server.condition.unreachable = False


async def store_slow(lab: LaboratoryCluster, draw: Draw) -> None:
    condition, slow = lab.world.server.condition, draw.seconds(0.1, 3)
    lab.outcome.note(f"a write to the store takes up to {slow:.1f} s")
    condition.seconds = slow
    await lab.sim.clock.sleep(draw.seconds(10, 90))
    condition.seconds = 0.0


async def store_full(lab: LaboratoryCluster, draw: Draw) -> None:
    lab.outcome.note("the store's disk is full")
    lab.world.server.condition.full = True
    await lab.sim.clock.sleep(draw.seconds(5, 60))
    lab.world.server.condition.full = False


async def server_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    await lab.restart_server(draw.seconds(0.1, 30))


# Machines


async def power_loss(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    lab.power_off(name)
    await lab.sim.clock.sleep(draw.seconds(5, 400))
    lab.power_on(name)


async def shutdown(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    lab.outcome.note(f"{name} shuts down")
    await lab.shut_down(name, draw.seconds(5, 200))


async def agent_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    if name in lab.registering:
        return
    lab.outcome.note(f"the agent of {name} crashes")
    await lab.restart(lab.agents[name], draw.seconds(0.1, 200), name)


async def node_disk_full(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    disk = lab.machines[name].disk
    lab.outcome.note(f"the disk of {name} is full")
    disk.full = True
    await lab.sim.clock.sleep(draw.seconds(20, 300))
    disk.full = False


async def node_disk_slow(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    disk = lab.machines[name].disk
    lab.outcome.note(f"the disk of {name} is slow")
    disk.seconds = draw.seconds(1, 60)
    await lab.sim.clock.sleep(draw.seconds(20, 300))
    disk.seconds = 0.0


# Controllers


async def manager_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    name = list(MANAGERS)[draw.below(len(MANAGERS))]
    lab.outcome.note(f"{name} crashes")
    await lab.restart(lab.managers[name], draw.seconds(0.1, 90), MANAGERS[name])


async def controllers_crash(lab: LaboratoryCluster, draw: Draw) -> None:
    process = (lab.world.controllers, lab.world.scheduler)[draw.below(2)]
    lab.outcome.note(f"{process.name} crashes")
    await lab.restart(process, draw.seconds(0.1, 60))


async def fence_agent(lab: LaboratoryCluster, draw: Draw) -> None:
    name, behaviour = draw.node(), BEHAVIOURS[draw.below(len(BEHAVIOURS))]
    lab.outcome.note(f"the fence agent of {name}: {behaviour}")
    lab.switches.behaviours[name] = behaviour


# People


async def force_without_confirming(lab: LaboratoryCluster, draw: Draw) -> None:
    if (pod := _any_pod(lab, draw)) is not None:
        await _tried(
            lab.world.client.delete(PODS, pod["metadata"]["name"], "default", grace_period_seconds=0)
        )


async def delete_pod(lab: LaboratoryCluster, draw: Draw) -> None:
    if (pod := _any_pod(lab, draw)) is not None:
        await _tried(lab.world.client.delete(PODS, pod["metadata"]["name"], "default"))


async def delete_node_by_mistake(lab: LaboratoryCluster, draw: Draw) -> None:
    """It registers again before the quarantine of pod GC has ended.

    Only of a node that can: to delete another one says that its machine is gone for good, which must be true.
    """
    name = draw.node()
    if not lab.machines[name].on or not lab.reports(name):
        return
    lab.outcome.note(f"the Node object {name} is deleted")
    lab.registering[name] = None
    await _tried(lab.world.client.delete(NODE_OBJECTS, name))
    while lab.machines[name].on and not lab.reports(name):
        await lab.sim.clock.sleep(1.0)
    lab.registering.pop(name, None)


async def request_eviction(lab: LaboratoryCluster, draw: Draw) -> None:
    pod = _any_pod(lab, draw)
    if pod is None:
        return
    lab.outcome.note(f"an eviction of {pod['metadata']['name']} is requested")
    await _tried(lab.world.client.create(EVICTIONREQUESTS, _request(pod), "default"))


async def withdraw_request(lab: LaboratoryCluster, draw: Draw) -> None:
    found = lab.world.objects(EVICTIONREQUESTS, "default")
    if found:
        name = str(found[draw.below(len(found))]["metadata"]["name"])
        patch: Obj = {"spec": {"requesters": []}}
        await _tried(lab.world.client.patch(EVICTIONREQUESTS, name, patch, "default"))


async def drain_node(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    lab.outcome.note(f"{name} is drained")
    await _tried(lab.world.client.create(NODEMAINTENANCES, maintenance(f"of-{name}", {"nodes": [name]})))
    await lab.sim.clock.sleep(draw.seconds(100, 1000))
    if draw.below(2):
        await _tried(lab.world.client.delete(NODEMAINTENANCES, f"of-{name}"))


async def evict_directly(lab: LaboratoryCluster, draw: Draw) -> None:
    """As kubectl drain does; where interceptors are registered, the bridge makes a request of it."""
    pod = _any_pod(lab, draw)
    if pod is None:
        return
    await _tried(lab.world.client.evict(pod["metadata"]["name"], "default"))


async def taint_node(lab: LaboratoryCluster, draw: Draw) -> None:
    """The descheduler evicts what does not tolerate it."""
    name = draw.node()
    await _tried(_set_taint(lab, name, present=True))
    await lab.sim.clock.sleep(draw.seconds(30, 300))
    await _tried(_set_taint(lab, name, present=False))


async def _set_taint(lab: LaboratoryCluster, name: str, *, present: bool) -> None:
    found = await lab.world.client.get(NODE_OBJECTS, name)
    taints = [one for one in dig(found, "spec", "taints") or [] if one["key"] != TAINT["key"]]
    wanted = [*taints, TAINT] if present else taints
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    await lab.world.client.patch(
        NODE_OBJECTS, name, {"metadata": version, "spec": {"taints": wanted or None}}
    )


async def untaint(lab: LaboratoryCluster) -> None:
    """Take away what `taint_node` may have left."""
    for name in NODES:
        await _tried(_set_taint(lab, name, present=False))


async def _tried(work: Awaitable[object]) -> None:
    with contextlib.suppress(VacateError):
        await work


def _any_pod(lab: LaboratoryCluster, draw: Draw) -> Obj | None:
    found = lab.world.objects(PODS, "default")
    return found[draw.below(len(found))] if found else None


def _request(pod: Obj) -> Obj:
    meta = pod["metadata"]
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": meta["uid"]},
        "spec": {
            "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": PEOPLE}],
            "heartbeatDeadlineSeconds": 600,
        },
    }


FAULTS: dict[str, tuple[Fault, int]] = {
    "node cut off from the control plane": (cut_node_off, 12),
    "all nodes cut off": (cut_all_nodes_off, 1),
    "two nodes cut off from each other": (cut_nodes_from_each_other, 2),
    "node cut off from all peers": (cut_node_from_all_peers, 2),
    "node cut off from storage": (cut_node_from_storage, 2),
    "manager cut off": (cut_manager_off, 1),
    "controllers cut off": (cut_controllers_off, 1),
    "store unreachable": (store_unreachable, 2),
    "store slow": (store_slow, 1),
    "store full": (store_full, 1),
    "server crash": (server_crash, 2),
    "machine loses power": (power_loss, 2),
    "machine shuts down": (shutdown, 3),
    "agent crash": (agent_crash, 3),
    "node disk full": (node_disk_full, 2),
    "node disk slow": (node_disk_slow, 2),
    "manager crash": (manager_crash, 2),
    "controllers crash": (controllers_crash, 1),
    "fence agent misbehaves": (fence_agent, 3),
    "force deletion without confirmation": (force_without_confirming, 2),
    "pod deleted": (delete_pod, 2),
    "node object deleted": (delete_node_by_mistake, 1),
    "eviction requested": (request_eviction, 3),
    "request withdrawn": (withdraw_request, 1),
    "node drained": (drain_node, 2),
    "direct eviction": (evict_directly, 1),
    "node tainted": (taint_node, 1),
}
"""Every fault with its weight."""
