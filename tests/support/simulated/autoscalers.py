"""Objects and steps for tests of Deployments that move by way of their autoscaler, in a simulated cluster."""

from __future__ import annotations

from typing import Any

from support.simulated.deployments import is_quiet, pods
from support.simulated.workloads import created, history, running
from vacate.api.kinds import HORIZONTALPODAUTOSCALERS
from vacate.api.objects import Obj
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    OPT_IN,
    REPLICASET_INTERCEPTOR,
)
from vacate.embedded.controllers.podautoscaler.metrics import MEASURED
from vacate.eviction.registration import resolve
from vacate.kube.surge import SURGE
from vacate.sim.cluster import World
from vacate.testing import horizontalpodautoscaler

DEFAULT_ORDER = (REPLICASET_INTERCEPTOR, AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR)
AUTOSCALER_FIRST = (REPLICASET_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, AUTOSCALER_INTERCEPTOR)
REQUESTS: Obj = {
    "type": "External",
    "external": {"metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}
"""A metric of which ten are as many as one pod can do."""


async def autoscaled(
    world: World,
    replicas: int = 1,
    *,
    most: int = 5,
    metric: str | None = None,
    order: tuple[str, ...] = DEFAULT_ORDER,
    annotations: dict[str, str] | None = None,
    **parts: Any,
) -> list[Obj]:
    """A Deployment with an autoscaler that has opted in, with all of its pods registered; the pods.

    With a metric the autoscaler follows it; without one it only keeps to its bounds.
    """
    own = dict(annotations or {})
    if metric is not None:
        own[f"{MEASURED}requests"] = metric
    made = horizontalpodautoscaler(least=1, most=most, spec={"metrics": [REQUESTS]})
    made["metadata"]["annotations"] = own
    await world.client.create(HORIZONTALPODAUTOSCALERS, made, "default")
    parts.setdefault("metadata", {})["annotations"] = {OPT_IN: "true"}
    await running(world, "web", replicas, **parts)
    await world.until(lambda: all(resolve(pod).interceptors == order for pod in pods(world)))
    return pods(world)


async def measured(world: World, value: str) -> None:
    """What the metric is from now on."""
    await patch_autoscaler(world, {"metadata": {"annotations": {f"{MEASURED}requests": value}}})


async def patch_autoscaler(world: World, patch: Obj) -> None:
    await world.client.patch(HORIZONTALPODAUTOSCALERS, "web", patch, "default")


def floor(world: World) -> int:
    return int(created(world, HORIZONTALPODAUTOSCALERS, "web")["spec"]["minReplicas"])


def highest_floor(world: World) -> int:
    """The highest that the floor ever was."""
    found = [obj for deleted, obj in history(world, HORIZONTALPODAUTOSCALERS) if not deleted]
    return max(int(one["spec"]["minReplicas"]) for one in found)


def is_restored(world: World) -> bool:
    """Whether nothing of any surge is left, on any object, the autoscaler included."""
    found = world.objects(HORIZONTALPODAUTOSCALERS, "default")
    left = [one for one in found if SURGE in (one["metadata"].get("annotations") or {})]
    return not left and is_quiet(world)
