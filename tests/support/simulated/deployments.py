"""Objects and steps for tests of Deployments that move before they are evicted, in a simulated cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, TypeVar

from support.simulated.evictions import found, request_eviction
from support.simulated.workloads import condition_of, created, history, rollout_done, running
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.entropy import Entropy
from vacate.errors import NotFound
from vacate.eviction.registration import PREFIXES, resolve
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.surge import DEPLOYMENT_ANNOTATIONS, IN_PROGRESS, MARKED, REPLICAS_TO_EVICT, SURGE
from vacate.sim.cluster import World
from vacate.sim.history import health

T = TypeVar("T")
OURS = {*DEPLOYMENT_ANNOTATIONS, MARKED, DELETION_COST}
REGISTERED = ("replicaset.apps.k8s.io", "deployment.apps.k8s.io")


async def moving(
    world: World, replicas: int = 1, *, annotations: dict[str, str] | None = None, **parts: Any
) -> list[Obj]:
    """A Deployment that has opted in, complete, with all of its pods registered; returns the pods."""
    parts.setdefault("metadata", {})["annotations"] = {OPT_IN: "true", **(annotations or {})}
    await running(world, "web", replicas, **parts)
    await world.until(lambda: all(resolve(pod).interceptors == REGISTERED for pod in pods(world)))
    return pods(world)


async def one_with_its_own_interceptor(world: World, name: str, replicas: int) -> list[Obj]:
    """The same with an interceptor of the application, which has the first turn."""
    first = {f"{PREFIXES[0]}/priority_{name}": "20000"}
    template = {"metadata": {"annotations": first}}
    await running(world, "web", replicas, metadata={"annotations": {OPT_IN: "true"}}, template=template)
    await world.until(lambda: all(resolve(pod).interceptors == (*REGISTERED, name) for pod in pods(world)))
    return pods(world)


def pods(world: World) -> list[Obj]:
    """The pods of the Deployment that are not terminating."""
    return [pod for pod in world.objects(PODS, "default") if not pod["metadata"].get("deletionTimestamp")]


def names(world: World) -> set[str]:
    return {str(pod["metadata"]["name"]) for pod in pods(world)}


def replicas(world: World) -> int:
    return int(created(world, DEPLOYMENTS, "web")["spec"]["replicas"])


def set_size(world: World) -> int:
    """How many pods the only ReplicaSet wants."""
    (found,) = world.objects(REPLICASETS, "default")
    return int(found["spec"]["replicas"])


def record(world: World) -> str:
    """The record on the Deployment; empty where there is none."""
    return str(_annotations(created(world, DEPLOYMENTS, "web")).get(SURGE, ""))


def reported(world: World) -> tuple[str, str]:
    """How many pods are to be evicted, and whether interceptors prepare that, as the Deployment says."""
    found = _annotations(created(world, DEPLOYMENTS, "web"))
    return found.get(REPLICAS_TO_EVICT, ""), found.get(IN_PROGRESS, "")


async def requested(world: World, *targets: Obj) -> list[str]:
    return [await request_eviction(world, target) for target in targets]


async def completed(world: World, *requests: str, timeout: float = 7200.0) -> None:
    await world.until(lambda: all(_ended(world, one) for one in requests), timeout)


def open_requests(world: World) -> list[str]:
    """The names of the requests that are not over."""
    found = world.objects(EVICTIONREQUESTS, "default")
    return [str(one["metadata"]["name"]) for one in found if condition_of(one, "Complete") != "True"]


def is_over(world: World, request: str) -> bool:
    return request not in open_requests(world)


async def request_any(world: World, chance: Entropy) -> None:
    """Request the eviction of some registered pod that has no request yet, if there is one."""
    free = [one for one in pods(world) if one["metadata"]["uid"] not in open_requests(world)]
    registered = [one for one in free if "vacate.dev/registered" in one["metadata"].get("annotations", {})]
    if registered:
        target = one_of(chance, registered)
        if world.find(EVICTIONREQUESTS, target["metadata"]["uid"], "default") is None:
            await requested(world, target)


async def cancel(world: World, request: str) -> None:
    """Delete the request, if it is there."""
    with contextlib.suppress(NotFound):
        await world.client.delete(EVICTIONREQUESTS, request, "default")


def one_of(chance: Entropy, choices: Sequence[T]) -> T:
    return choices[min(int(chance.uniform(0.0, len(choices))), len(choices) - 1)]


def ending(world: World, name: str) -> str:
    return condition_of(found(world, name), "Complete", "reason")


def is_quiet(world: World) -> bool:
    """Whether nothing of any surge is left, on any object."""
    objects = [*world.objects(DEPLOYMENTS, "default"), *world.objects(REPLICASETS, "default")]
    left = [one for one in (*objects, *pods(world)) if OURS & _annotations(one).keys()]
    return not left and rollout_done(world)


def fewest(world: World, wanted: int) -> int:
    """The fewest healthy pods at any revision since there were as many as wanted for the first time."""
    counts = [count for _, count in health(world.server.log.records.values(), "default", "app", "web")]
    return min(counts[counts.index(wanted) :])


def most(world: World) -> int:
    """The most replicas that the Deployment ever asked for."""
    return max(int(one["spec"]["replicas"]) for one in _versions(world))


def _versions(world: World) -> list[Obj]:
    return [obj for deleted, obj in history(world, DEPLOYMENTS) if not deleted]


def _ended(world: World, name: str) -> bool:
    request = world.find(EVICTIONREQUESTS, name, "default")
    return request is None or condition_of(request, "Complete") == "True"


def _annotations(obj: Obj) -> dict[str, str]:
    return dict(obj["metadata"].get("annotations") or {})
