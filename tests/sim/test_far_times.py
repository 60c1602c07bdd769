"""Times and spans that no calendar holds leave no traceback and no stuck object in the embedded cluster."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.clusters import in_world
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
)
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.sim.cluster import World
from vacate.testing import deployment, pdb, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

FAR, FAR_MICRO = "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z"
INT64 = 2**63 - 1
INT32 = 2**31 - 1


@pytest.fixture(autouse=True)
def _no_tracebacks(caplog: Any) -> Any:
    yield
    assert [one.getMessage() for one in caplog.get_records("call") if one.exc_info] == []


def _condition(type_: str, status: str = "True") -> Obj:
    return {"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": FAR}


async def running(world: World, name: str, **spec: Any) -> None:
    await world.client.create(PODS, pod(name, spec=spec), "default")
    await world.until(lambda: any(one["metadata"]["name"] == name for one in world.healthy_pods()))


@pytest.mark.parametrize("grace", [INT64, 10**12, INT32])
def test_a_pod_with_an_endless_grace_goes_when_its_containers_end(grace: int) -> None:
    async def body(world: World) -> None:
        await running(world, "asked")
        await running(world, "ended", terminationGracePeriodSeconds=grace)
        await world.client.delete(PODS, "asked", "default", DeleteOptions(grace_period_seconds=grace))
        await world.client.delete(PODS, "ended", "default")
        await world.until(lambda: not world.objects(PODS, "default"), 30.0, "both pods are gone")

    in_world(body)


def test_an_event_of_the_year_9999_goes_as_others_do() -> None:
    async def body(world: World) -> None:
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        for name, fields in {"last": {"lastTimestamp": FAR}, "micro": {"eventTime": FAR_MICRO}}.items():
            more = {"reportingComponent": "a.example.com/c", "reportingInstance": "i", "action": "a"}
            event = {
                "metadata": {"name": name},
                "involvedObject": about,
                "reason": "R",
                "type": "Normal",
                **more,
                **fields,
            }
            await world.client.create(EVENTS, event, "default")
        await world.until(lambda: not world.objects(EVENTS, "default"), 3700.0, "the events are gone")

    in_world(body)


def test_times_in_every_status_that_controllers_reckon_with() -> None:
    async def body(world: World) -> None:
        far: Obj = {"minReadySeconds": INT32 - 1, "progressDeadlineSeconds": INT32}
        await world.client.create(DEPLOYMENTS, deployment("web", replicas=2, spec=far), "default")
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        tolerated = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": INT64}
        await running(world, "tolerant", tolerations=[tolerated])
        for one in world.objects(PODS, "default"):
            status = {"conditions": [_condition("DisruptionTarget"), _condition("PodScheduled")]}
            await world.client.patch(
                PODS, one["metadata"]["name"], {"status": status}, "default", subresource="status",
                patch_type="application/strategic-merge-patch+json",
            )  # fmt: skip
        names = {one["metadata"]["name"]: FAR for one in world.objects(PODS, "default")}
        await _patch_status(world, PODDISRUPTIONBUDGETS, "web", {"disruptedPods": names})
        progress = {**_condition("Progressing"), "reason": "ReplicaSetUpdated", "lastUpdateTime": FAR}
        await _patch_status(world, DEPLOYMENTS, "web", {"conditions": [progress]})
        lease: Obj = {"spec": {"renewTime": FAR_MICRO, "leaseDurationSeconds": INT32}}
        await world.client.patch(LEASES, "node-1", lease, "kube-node-lease")
        taint = {"key": "k", "effect": "NoExecute", "timeAdded": FAR}
        await world.client.patch(NODES, "node-1", {"spec": {"taints": [taint]}})
        await world.sim.clock.sleep(600)
        for process in (world.nodes, world.controllers, world.scheduler):
            await world.restart(process)
        await world.sim.clock.sleep(600)
        world.check()
        await running(world, "later")

    in_world(body)


async def _patch_status(world: World, kind: Any, name: str, status: Obj) -> None:
    await world.client.patch(kind, name, {"status": status}, "default", subresource="status")
