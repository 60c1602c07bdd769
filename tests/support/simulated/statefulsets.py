"""Objects and steps for tests of StatefulSets whose members are evicted in order, in a simulated cluster."""

from __future__ import annotations

from typing import Any

from support.simulated.workloads import created, history
from vacate.api.kinds import PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.eviction.registration import resolve
from vacate.sim.cluster import World
from vacate.sim.history import health
from vacate.testing import statefulset

REGISTERED = ("statefulset.apps.k8s.io",)


async def ready_statefulset(world: World, replicas: int = 3, **parts: Any) -> list[Obj]:
    """A StatefulSet that has opted in, with all members ready and registered; returns the pods."""
    annotations = parts.setdefault("metadata", {}).setdefault("annotations", {})
    annotations.setdefault(OPT_IN, "true")
    await world.client.create(STATEFULSETS, statefulset("db", replicas=replicas, **parts), "default")
    await world.until(lambda: is_whole(world, replicas), what="all members are ready")
    await world.until(lambda: all(resolve(pod).interceptors == REGISTERED for pod in members(world)))
    return members(world)


def members(world: World) -> list[Obj]:
    found = [pod for pod in world.objects(PODS, "default") if pod["metadata"]["name"].startswith("db-")]
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def is_whole(world: World, replicas: int) -> bool:
    """Whether there are exactly the wanted members, all ready and none terminating."""
    status = created(world, STATEFULSETS, "db").get("status", {})
    here = [pod for pod in members(world) if not pod["metadata"].get("deletionTimestamp")]
    return bool(len(here) == len(members(world)) == replicas == status.get("readyReplicas", 0))


def gone(world: World) -> list[str]:
    """The names of the pods whose deletion began, in that order."""
    seen: dict[str, str] = {}
    for _, pod in history(world, PODS):
        if pod["metadata"].get("deletionTimestamp"):
            seen.setdefault(pod["metadata"]["uid"], pod["metadata"]["name"])
    return list(seen.values())


def fewest(world: World, wanted: int) -> int:
    """The fewest healthy members at any revision since there were as many as wanted for the first time."""
    counts = [count for _, count in health(world.server.log.records.values(), "default", "app", "db")]
    return min(counts[counts.index(wanted) :])
