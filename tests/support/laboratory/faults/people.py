"""What people do: requests, drains and evictions, and mistakes."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.faults.draw import Draw, tried
from support.laboratory.health import fence_rows, readiness_of
from support.laboratory.hosts import NODES
from support.laboratory.workload import PLAIN
from support.simulated.maintenances import maintenance
from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES, PODS
from vacate.api.kinds import NODES as NODE_OBJECTS
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions
from vacate.api.types.core import TERMINAL_PHASES

PEOPLE = "people.example.com"
REGISTERS_WITHIN = 25.0
"""Seconds; pod GC believes that a node is gone after forty."""
TAINT = {"key": "gpu", "effect": "NoSchedule"}
LOOK_SECONDS = 60.0
"""So often taints are looked for that a server has written late."""


async def force_without_confirming(lab: LaboratoryCluster, draw: Draw) -> None:
    if (pod := _any_pod(lab, draw)) is not None:
        await tried(
            lab.world.client.delete(
                PODS, pod["metadata"]["name"], "default", DeleteOptions(grace_period_seconds=0)
            )
        )


async def delete_pod(lab: LaboratoryCluster, draw: Draw) -> None:
    if (pod := _any_pod(lab, draw)) is not None:
        await tried(lab.world.client.delete(PODS, pod["metadata"]["name"], "default"))


async def delete_node_by_mistake(lab: LaboratoryCluster, draw: Draw) -> None:
    """It registers again before the quarantine of pod GC has ended, often after its agent was started anew.

    Only of a node that can: to delete another one says that its machine is gone for good, which must be true.
    """
    name, hosts = draw.node(), lab.hosts
    down = draw.seconds(2, 15) if draw.below(3) else 0.0
    if not hosts.machines[name].on or not hosts.reports(name) or name in hosts.spared:
        return
    lab.outcome.note(f"the Node object {name} is deleted{', while its agent restarts' if down else ''}")
    hosts.spared[name] = None
    if down:
        lab.spawn(hosts.restart(hosts.agents[name], down, name))
    await tried(lab.world.client.delete(NODE_OBJECTS, name))
    await _registered_again(lab, name)
    hosts.spared.pop(name, None)


async def delete_a_lost_node(lab: LaboratoryCluster, draw: Draw) -> None:
    """Somebody takes a node for lost that is only cut off, and deletes its Node without a confirmation.

    Only where a member of a StatefulSet is bound to it, and it counts as lost: of others nobody is asked.
    """
    hosts, members = lab.hosts, _nodes_with_members(lab)
    if not members:
        return
    name = members[draw.below(len(members))]
    if name in hosts.spared:
        return
    lab.outcome.note(f"{name} is cut off, and its Node is deleted without a confirmation")
    hosts.keep_away(name)
    await lab.sim.clock.sleep(draw.seconds(60, 200))
    for _ in range(10):  # for as long as a person who is in a hurry tries
        if name in _nodes_with_members(lab) and readiness_of(lab, name) == "Unknown":
            await tried(lab.world.client.delete(NODE_OBJECTS, name))
        await lab.sim.clock.sleep(draw.seconds(5, 20))
    await lab.sim.clock.sleep(draw.seconds(0, 300))
    hosts.let_back(name)


def _nodes_with_members(lab: LaboratoryCluster) -> list[str]:
    """The nodes to which members of StatefulSets are bound that have not ended."""
    members = [
        one
        for one in lab.world.objects(PODS, "default")
        if dig(one, "metadata", "labels", "app") == "db"
        and dig(one, "status", "phase") not in TERMINAL_PHASES
    ]
    return sorted({str(node) for one in members if (node := dig(one, "spec", "nodeName"))})


async def _registered_again(lab: LaboratoryCluster, name: str) -> None:
    """Return when it is; where that takes too long the machine is switched off, as its deletion says."""
    last = lab.sim.loop.time() + REGISTERS_WITHIN
    while lab.hosts.machines[name].on and not lab.hosts.reports(name):
        if lab.sim.loop.time() > last:
            lab.outcome.note(f"{name} does not register in time")
            lab.hosts.power_off(name)
            await lab.sim.clock.sleep(60.0)
            lab.hosts.power_on(name)
            return
        await lab.sim.clock.sleep(1.0)


async def evict_all_of_a_budget(lab: LaboratoryCluster, draw: Draw) -> None:
    """As several drains at once do; each budget lets one pod go."""
    lab.outcome.note("all pods of two budgets are evicted at once")
    for pod in lab.world.objects(PODS, "default"):
        if dig(pod, "metadata", "labels", "app") in ("db", PLAIN):
            await tried(lab.world.client.evict(pod["metadata"]["name"], "default"))


async def request_eviction(lab: LaboratoryCluster, draw: Draw) -> None:
    pod = _any_pod(lab, draw)
    if pod is None:
        return
    lab.outcome.note(f"an eviction of {pod['metadata']['name']} is requested")
    await tried(lab.world.client.create(EVICTIONREQUESTS, _request(pod), "default"))


async def withdraw_request(lab: LaboratoryCluster, draw: Draw) -> None:
    found = lab.world.objects(EVICTIONREQUESTS, "default")
    if found:
        name = str(found[draw.below(len(found))]["metadata"]["name"])
        patch: Obj = {"spec": {"requesters": []}}
        await tried(lab.world.client.patch(EVICTIONREQUESTS, name, patch, "default"))


async def drain_node(lab: LaboratoryCluster, draw: Draw) -> None:
    name = draw.node()
    lab.outcome.note(f"{name} is drained")
    await tried(lab.world.client.create(NODEMAINTENANCES, maintenance(f"of-{name}", {"nodes": [name]})))
    await lab.sim.clock.sleep(draw.seconds(100, 1000))
    if draw.below(2):
        await tried(lab.world.client.delete(NODEMAINTENANCES, f"of-{name}"))


async def evict_directly(lab: LaboratoryCluster, draw: Draw) -> None:
    """As kubectl drain does; where interceptors are registered, the bridge makes a request of it."""
    pod = _any_pod(lab, draw)
    if pod is None:
        return
    await tried(lab.world.client.evict(pod["metadata"]["name"], "default"))


async def taint_node(lab: LaboratoryCluster, draw: Draw) -> None:
    """The descheduler evicts what does not tolerate it."""
    name = draw.node()
    await tried(_set_taint(lab, name, present=True))
    await lab.sim.clock.sleep(draw.seconds(30, 300))
    await tried(_set_taint(lab, name, present=False))


async def _set_taint(lab: LaboratoryCluster, name: str, *, present: bool) -> None:
    found = await lab.world.client.get(NODE_OBJECTS, name)
    taints = [one for one in dig(found, "spec", "taints") or [] if one["key"] != TAINT["key"]]
    wanted = [*taints, TAINT] if present else taints
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    await lab.world.client.patch(
        NODE_OBJECTS, name, {"metadata": version, "spec": {"taints": wanted or None}}
    )


async def keep_restarting(lab: LaboratoryCluster) -> None:
    """A person does what a policy asks for: a machine without its storage is restarted, sooner or later."""
    draw = Draw(lab.sim.stream("restarts after storage fences"))
    while True:
        await lab.sim.clock.sleep(draw.seconds(30, 300))
        for row in fence_rows(lab):
            name = str(row["name"])
            if "Restart the machine" in row.get("message", "") and name not in lab.hosts.spared:
                lab.outcome.note(f"{name} is restarted, as its policy asks for")
                lab.outcome.counts["near: restart after a storage fence"] += 1
                lab.hosts.power_off(name)
                await lab.sim.clock.sleep(5.0)
                lab.hosts.power_on(name)


async def untaint(lab: LaboratoryCluster) -> None:
    """Take away what `taint_node` may have left, however often a write meets that of a node agent."""
    for name in NODES:
        while TAINT["key"] in _taints(lab, name):
            await tried(_set_taint(lab, name, present=False))
            await lab.sim.clock.sleep(0.1)


async def keep_untainted(lab: LaboratoryCluster) -> None:
    """The same for writes that a server carries out long after the person has gone."""
    while True:
        await untaint(lab)
        await lab.sim.clock.sleep(LOOK_SECONDS)


def _taints(lab: LaboratoryCluster, name: str) -> list[str]:
    return [one["key"] for one in dig(lab.world.find(NODE_OBJECTS, name), "spec", "taints") or ()]


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
