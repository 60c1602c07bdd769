"""Objects and steps for tests of drains in a simulated cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.simulated.workloads import condition_of, created
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, NODEMAINTENANCES, NODES, PODS
from vacate.api.objects import Obj
from vacate.maintenance.names import CLAIMS, TAINT
from vacate.sim.cluster import World
from vacate.testing import deployment

EASY = {"daemonSetPods": "Ignore", "unmanagedPods": "Evict", "localDataPods": "Evict"}


def maintenance(name: str, spec: Obj) -> Obj:
    identity = {"apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind}
    return {**identity, "metadata": {"name": name}, "spec": {"pods": EASY, **spec}}


async def drain(world: World, *nodes: str, name: str = "kernel", **spec: Any) -> None:
    """Create a maintenance of these nodes."""
    if nodes:
        spec["nodes"] = list(nodes)
    await world.client.create(NODEMAINTENANCES, maintenance(name, spec))


async def web(world: World, replicas: int = 6, name: str = "web", template: Obj | None = None) -> None:
    """A deployment, with all of its pods ready."""
    await world.client.create(DEPLOYMENTS, deployment(name, replicas=replicas, template=template), "default")
    await world.until(lambda: len(ready_pods(world, name)) == replicas)


def ready_pods(world: World, name: str) -> list[Obj]:
    return [one for one in world.healthy_pods() if one["metadata"].get("labels", {}).get("app") == name]


def status(world: World, name: str = "kernel") -> Obj:
    found: Obj = created(world, NODEMAINTENANCES, name, "").get("status", {})
    return found


def phase(world: World, name: str = "kernel") -> str:
    return str(status(world, name).get("phase", ""))


def row(world: World, node: str, name: str = "kernel") -> Obj:
    rows = status(world, name).get("nodes", [])
    return next((one for one in rows if one["name"] == node), {})


def node(world: World, name: str) -> Obj:
    return created(world, NODES, name, "")


def is_cordoned(world: World, name: str) -> bool:
    return node(world, name)["spec"].get("unschedulable") is True


def claims(world: World, name: str) -> str | None:
    annotations: Mapping[str, str] = node(world, name)["metadata"].get("annotations") or {}
    return annotations.get(CLAIMS)


def is_tainted(world: World, name: str) -> bool:
    return any(one["key"] == TAINT.key for one in node(world, name)["spec"].get("taints") or [])


def on_node(world: World, name: str) -> list[str]:
    found = [one for one in world.objects(PODS) if one["spec"].get("nodeName") == name]
    return sorted(one["metadata"]["name"] for one in found)


def shown(world: World, name: str) -> dict[str, str]:
    """The conditions of a node that a maintenance writes."""
    return {
        one: value
        for one in ("Draining", "Drained", "Blocked")
        if (value := condition_of(node(world, name), one))
    }


def open_requests(world: World) -> list[Obj]:
    found = world.objects(EVICTIONREQUESTS)
    return [one for one in found if condition_of(one, "Complete") != "True"]


async def gone(world: World, name: str = "kernel") -> None:
    await world.client.delete(NODEMAINTENANCES, name)
    await world.until(lambda: world.find(NODEMAINTENANCES, name) is None)
