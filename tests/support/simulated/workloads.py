"""Objects and steps for tests of workload controllers in a simulated cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from support.simulated.clusters import in_world
from vacate.api.kinds import DEPLOYMENTS, EVENTS, PODS, REPLICASETS, Kind
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import deployment

__all__ = [
    "condition_of",
    "created",
    "events_of",
    "history",
    "in_world",
    "made",
    "node_of",
    "rollout_done",
    "running",
    "writes",
    "written",
]


async def running(world: World, name: str = "web", replicas: int = 3, **parts: Any) -> Obj:
    """A deployment whose rollout is complete."""
    await world.client.create(DEPLOYMENTS, deployment(name, replicas=replicas, **parts), "default")
    await world.until(lambda: rollout_done(world, name), what=f"the rollout of {name}")
    return created(world, DEPLOYMENTS, name)


def created(world: World, kind: Kind, name: str, namespace: str = "default") -> Obj:
    """An object that must be there."""
    found = world.find(kind, name, namespace)
    assert found is not None, f"{kind.resource} {name} is not there"
    return found


def rollout_done(world: World, name: str = "web", namespace: str = "default") -> bool:
    """What `kubectl rollout status` waits for."""
    found = world.find(DEPLOYMENTS, name, namespace)
    if (
        found is None
        or found.get("status", {}).get("observedGeneration", 0) < found["metadata"]["generation"]
    ):
        return False
    wanted, status = found["spec"]["replicas"], found["status"]
    return bool(
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and condition_of(found, "Progressing", "reason") == "NewReplicaSetAvailable"
    )


def condition_of(obj: Obj, kind: str, field: str = "status") -> str:
    """A field of the condition of that type, or an empty string."""
    conditions = obj.get("status", {}).get("conditions", [])
    return str(next((one.get(field, "") for one in conditions if one["type"] == kind), ""))


def node_of(pod: Obj) -> str:
    return str(pod["spec"].get("nodeName", ""))


def events_of(world: World, name: str, reason: str = "") -> list[str]:
    """The messages of events about an object."""
    return [
        str(event["message"])
        for event in world.objects(EVENTS)
        if event["involvedObject"]["name"] == name and reason in ("", event["reason"])
    ]


def history(world: World, kind: Kind) -> Iterator[tuple[bool, Obj]]:
    """All that was ever written of a kind: whether it was a deletion, and the object."""
    for record in world.server.log.records.values():
        if record.resource == kind.resource:
            yield record.deleted, orjson.loads(record.value)


def made(world: World, kind: Kind) -> int:
    """How many objects of the kind were ever created."""
    records = world.server.log.records.values()
    return sum(record.resource == kind.resource and record.created == record.revision for record in records)


def written(world: World, *kinds: Kind) -> int:
    """How many writes of these kinds there were; of workloads where none is named."""
    wanted = {kind.resource for kind in kinds or (DEPLOYMENTS, REPLICASETS, PODS)}
    return sum(record.resource in wanted for record in world.server.log.records.values())


def writes(world: World) -> int:
    """How many writes there were at all, heartbeats aside."""
    aside = "leases.coordination.k8s.io"
    return sum(record.resource != aside for record in world.server.log.records.values())
