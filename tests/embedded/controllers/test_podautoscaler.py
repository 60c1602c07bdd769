"""Horizontal pod autoscalers in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.workloads import condition_of, created, events_of, in_world, running
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS
from vacate.api.objects import Obj
from vacate.embedded.controllers.podautoscaler.metrics import MEASURED
from vacate.sim.cluster import World
from vacate.testing import horizontalpodautoscaler

pytestmark = pytest.mark.sim


def external(name: str, **target: Any) -> Obj:
    sort = "AverageValue" if "averageValue" in target else "Value"
    return {"type": "External", "external": {"metric": {"name": name}, "target": {"type": sort, **target}}}


async def autoscaled(world: World, least: int = 1, most: int = 5, **parts: Any) -> None:
    made = horizontalpodautoscaler(least=least, most=most, **parts)
    await world.client.create(HORIZONTALPODAUTOSCALERS, made, "default")


async def measured(world: World, value: str, name: str = "requests") -> None:
    change = {"metadata": {"annotations": {f"{MEASURED}{name}": value}}}
    await world.client.patch(HORIZONTALPODAUTOSCALERS, "web", change, "default")


def count(world: World) -> int:
    return int(created(world, DEPLOYMENTS, "web")["spec"]["replicas"])


def status_and_reason(world: World, type_: str) -> tuple[str, str]:
    found = created(world, HORIZONTALPODAUTOSCALERS, "web")
    return condition_of(found, type_), condition_of(found, type_, "reason")


def test_without_metrics_it_acts_only_outside_of_the_bounds() -> None:
    async def main(world: World) -> None:
        await running(world, replicas=3)
        await autoscaled(world, least=4)
        await world.until(lambda: count(world) == 4)
        await world.settle()
        why = "Current number of replicas below Spec.MinReplicas"
        assert events_of(world, "web", "SuccessfulRescale") == [f"New size: 4; reason: {why}"]
        await world.client.patch(HORIZONTALPODAUTOSCALERS, "web", {"spec": {"minReplicas": 1}}, "default")
        await world.settle()
        assert count(world) == 4
        assert status_and_reason(world, "ScalingActive") == ("False", "FailedGetExternalMetric")
        await world.client.patch(HORIZONTALPODAUTOSCALERS, "web", {"spec": {"maxReplicas": 2}}, "default")
        await world.until(lambda: count(world) == 2)
        await world.settle()

    in_world(main)


def test_the_highest_metric_decides_between_floor_and_ceiling() -> None:
    async def main(world: World) -> None:
        await running(world, replicas=1)
        metrics = [external("requests", averageValue="10"), external("queue", value="100")]
        await autoscaled(world, least=2, most=4, spec={"metrics": metrics})
        await world.until(lambda: count(world) == 2)
        await measured(world, "25")
        await measured(world, "100", "queue")
        await world.until(lambda: count(world) == 3)
        await measured(world, "1k")
        await world.until(lambda: count(world) == 4)
        await world.until(lambda: status_and_reason(world, "ScalingLimited") == ("True", "TooManyReplicas"))
        await measured(world, "1")
        await measured(world, "1", "queue")
        await world.until(lambda: count(world) == 2)
        await world.until(lambda: status_and_reason(world, "ScalingLimited") == ("True", "TooFewReplicas"))
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await world.until(lambda: count(world) == 2)

    in_world(main)


def test_it_lies_idle_at_zero_and_without_a_target() -> None:
    async def main(world: World) -> None:
        await autoscaled(world, least=2)
        await world.until(lambda: status_and_reason(world, "AbleToScale") == ("False", "FailedGetScale"))
        await running(world, replicas=0)
        await world.until(lambda: status_and_reason(world, "ScalingActive") == ("False", "ScalingDisabled"))
        assert count(world) == 0
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}}, "default")
        await world.until(lambda: count(world) == 2)

    in_world(main)
