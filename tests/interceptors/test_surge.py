"""Deployments that move before they are evicted, on the embedded cluster in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from support.simulated.clusters import in_world
from support.simulated.deployments import (
    REGISTERED,
    completed,
    fewest,
    is_quiet,
    most,
    moving,
    names,
    pods,
    record,
    replicas,
    reported,
    requested,
)
from support.simulated.evictions import status, turns
from support.simulated.maintenances import drain, on_node, phase
from support.simulated.workloads import events_of, history, made
from vacate.api.kinds import DEPLOYMENTS, EVACUATIONS, EVICTIONREQUESTS, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.types import Pod
from vacate.api.workloads import OPT_IN
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.registration import resolve
from vacate.features import parse_feature_gates
from vacate.kube.evictionbatches import MAX_UNAVAILABLE, STRATEGY
from vacate.sim.cluster import World
from vacate.testing import deployment, pdb

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

EXAMPLES = Path(__file__).parents[2] / "examples/workloads"


def test_a_single_replica_is_replaced_before_it_goes() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world)
        (request,) = await requested(world, old)
        await world.until(lambda: reported(world) == ("1", "true"))
        await completed(world, request)
        await world.until(lambda: is_quiet(world))
        assert replicas(world) == 1
        assert old["metadata"]["name"] not in names(world)
        assert fewest(world, 1) == 1
        assert made(world, PODS) == 2  # one replacement, and none in vain
        assert turns(world, request) == ["deployment.apps.k8s.io", "replicaset.apps.k8s.io"]
        assert len(events_of(world, "web", "SurgeStarted")) == 1

    in_world(body)


def test_an_evacuated_replica_is_replaced_before_it_goes() -> None:
    """The same evacuators, deployment.apps.k8s.io and replicaset.apps.k8s.io, for the other API."""

    async def body(world: World) -> None:
        (old,) = await moving(world)
        pod = codec_for(Pod).convert(old)
        evacuation = EVACUATION.new_request(pod, "drain.example.com", "", None)
        await world.client.create(EVACUATIONS, evacuation, "default")
        name = evacuation["metadata"]["name"]
        await world.until(lambda: world.find(EVACUATIONS, name, "default") is None, 7200.0)
        await world.until(lambda: is_quiet(world))
        assert old["metadata"]["name"] not in names(world)
        assert (fewest(world, 1), replicas(world), made(world, PODS)) == (1, 1, 2)
        stages = [obj for deleted, obj in history(world, EVACUATIONS) if not deleted]
        active = [one["status"].get("activeEvacuatorClass") for one in stages]
        assert [one for one in dict.fromkeys(active) if one] == [
            "deployment.apps.k8s.io",
            "replicaset.apps.k8s.io",
        ]

    in_world(body, gates=parse_feature_gates("EvacuationAPI=true"))


@pytest.mark.thorough
def test_a_drain_moves_single_replicas_whatever_budget_they_have() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world)
        await world.client.create(
            PODDISRUPTIONBUDGETS, pdb("web", min_available=1, selector={"app": "web"}), "default"
        )
        node = old["spec"]["nodeName"]
        await drain(world, node)
        await world.until(lambda: phase(world) == "Drained", 3600.0)
        await world.until(lambda: is_quiet(world))
        assert on_node(world, node) == []
        assert (fewest(world, 1), replicas(world)) == (1, 1)

    in_world(body)


@pytest.mark.thorough
def test_many_pods_move_in_waves_of_max_surge() -> None:
    async def body(world: World) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 0}}
        old = await moving(world, 5, spec={"strategy": strategy})
        requests = await requested(world, *old)
        await completed(world, *requests)
        await world.until(lambda: is_quiet(world))
        assert not names(world) & {pod["metadata"]["name"] for pod in old}
        assert (fewest(world, 5), most(world), replicas(world)) == (5, 7, 5)  # 30 % of 5, rounded up
        assert made(world, PODS) == 10

    in_world(body)


def test_without_a_surge_pods_go_in_batches_by_opt_in() -> None:
    async def body(world: World) -> None:
        rolling = {"maxSurge": 0, "maxUnavailable": 2}
        old = await moving(
            world,
            5,
            annotations={STRATEGY: MAX_UNAVAILABLE},
            spec={"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}},
        )
        requests = await requested(world, *old)
        await world.until(lambda: reported(world)[0] == "3")  # two go, three wait
        await world.restart(world.evictions, 1.0)
        await completed(world, *requests)
        await world.until(lambda: is_quiet(world))
        assert not names(world) & {pod["metadata"]["name"] for pod in old}
        assert (fewest(world, 5), most(world), replicas(world)) == (3, 5, 5)

    in_world(body)


def test_a_batch_that_cannot_begin_is_reported_and_declined() -> None:
    async def body(world: World) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        old = await moving(world, 2, annotations={STRATEGY: MAX_UNAVAILABLE}, spec={"strategy": strategy})
        cordon = {"spec": {"unschedulable": True}}
        await world.client.patch(NODES, old[0]["spec"]["nodeName"], cordon)
        await world.client.delete(PODS, old[0]["metadata"]["name"], "default")
        await world.until(lambda: old[0]["metadata"]["name"] not in names(world))
        (request,) = await requested(world, old[1])
        await world.until(
            lambda: status(world, request).get("message", "").startswith("Waiting for the next")
        )
        await completed(world, request)
        shown = {one["type"]: one for one in status(world, request)["conditions"]}
        declined = shown["deployment.apps.k8s.io/Declined"]["message"]
        assert (
            declined
            == "0 other pods of Deployment web are available, and 1 must be: that has not changed for 600 s"
        )

    in_world(body, nodes=1)


def test_cancelling_removes_exactly_the_surge() -> None:
    async def body(world: World) -> None:
        old = await moving(world, 3)
        before = names(world)
        (request,) = await requested(world, old[0])
        await world.until(lambda: len(pods(world)) == 4)
        await world.client.delete(EVICTIONREQUESTS, request, "default")
        await world.until(lambda: len(pods(world)) == 3 and is_quiet(world))
        assert names(world) == before
        assert replicas(world) == 3

    in_world(body)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ({"type": "Recreate"}, "Recreate terminates all pods at once"),
        (
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "maxSurge is 0: set spec.strategy.rollingUpdate.maxSurge",
        ),
    ],
)
def test_strategies_without_a_surge_are_declined(strategy: dict[str, object], message: str) -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world, spec={"strategy": strategy})
        (request,) = await requested(world, old)
        await completed(world, request, timeout=60.0)
        shown = {one["type"]: one for one in status(world, request)["conditions"]}
        assert message in shown["deployment.apps.k8s.io/Declined"]["message"]
        assert most(world) == 1

    in_world(body)


def test_a_surge_that_does_not_come_is_reported_declined_and_taken_back() -> None:
    async def body(world: World) -> None:
        template = {"spec": {"containers": [{"name": "main", "image": "app", "resources": _resources("5")}]}}
        (old,) = await moving(world, template=template)
        (request,) = await requested(world, old)
        await world.until(lambda: "is not scheduled: " in status(world, request).get("message", ""))
        await completed(world, request)
        await world.until(lambda: is_quiet(world))
        shown = {one["type"]: one for one in status(world, request)["conditions"]}
        declined = shown["deployment.apps.k8s.io/Declined"]["message"]
        assert declined.startswith("the replacement did not become available in time: pod web-")
        assert replicas(world) == 1

    in_world(body, nodes=1)


def test_a_change_by_the_user_stays_and_the_surge_gives_way() -> None:
    async def body(world: World) -> None:
        old = await moving(world, 2, template=_slow())
        (request,) = await requested(world, old[0])
        await world.until(lambda: replicas(world) == 3)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
        await completed(world, request)
        await world.until(lambda: is_quiet(world))
        assert replicas(world) == 5
        assert events_of(world, "web", "SurgeGaveWay") == [
            "Replicas were changed from 3 to 5 during a surge: the change stays, and the surge is over."
        ]

    in_world(body)


def test_a_rollout_is_awaited() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world)
        await world.client.patch(DEPLOYMENTS, "web", _new_image("never"), "default")
        await world.until(lambda: len(pods(world)) == 2)
        (request,) = await requested(world, old)
        await world.until(lambda: "rollout" in status(world, request).get("message", ""))
        assert record(world) == ""
        await completed(world, request)
        declined = {one["type"]: one for one in status(world, request)["conditions"]}
        assert "rollout" in declined["deployment.apps.k8s.io/Declined"]["message"]
        assert most(world) == 1

    in_world(body)


def test_a_paused_deployment_moves_unless_a_rollout_is_half_done() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world, spec={"progressDeadlineSeconds": 20})
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}}, "default")
        await completed(world, *await requested(world, old))
        await world.until(lambda: len(pods(world)) == 1 and not record(world))
        assert (replicas(world), fewest(world, 1)) == (1, 1)
        await world.client.patch(DEPLOYMENTS, "web", _new_image("never"), "default")
        await world.settle()
        (request,) = await requested(world, *pods(world))
        await completed(world, request)
        declined = {one["type"]: one for one in status(world, request)["conditions"]}
        assert "rollout" in declined["deployment.apps.k8s.io/Declined"]["message"]
        assert (replicas(world), most(world)) == (1, 2)

    in_world(body)


def test_a_deployment_that_is_scaled_to_zero_or_deleted_meanwhile_ends_the_request() -> None:
    async def body(world: World) -> None:
        for ended in (False, True):
            (old,) = await moving(world, template=_slow())
            (request,) = await requested(world, old)
            await world.until(lambda: replicas(world) == 2)
            if ended:
                await world.client.delete(DEPLOYMENTS, "web", "default")
            else:
                await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, "default")
            await completed(world, request)
            await world.until(lambda: not pods(world))
            if not ended:
                await world.until(lambda: is_quiet(world))
                assert replicas(world) == 0
                await world.client.delete(DEPLOYMENTS, "web", "default")
                await world.until(lambda: not world.objects(DEPLOYMENTS, "default"))

    in_world(body)


def test_a_record_that_an_undo_brings_back_changes_nothing() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world)
        (request,) = await requested(world, old)
        await world.until(lambda: record(world) != "")
        kept = record(world)
        await completed(world, request)
        await world.until(lambda: is_quiet(world))
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        patch = {"metadata": {"annotations": {"vacate.dev/surge": kept}}}
        await world.client.patch(DEPLOYMENTS, "web", patch, "default")
        await world.until(lambda: is_quiet(world))
        assert replicas(world) == 3

    in_world(body)


def _resources(cpu: str) -> dict[str, object]:
    return {"requests": {"cpu": cpu}}


def _slow() -> dict[str, object]:
    return {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "20"}}}


def _new_image(ready: str) -> dict[str, object]:
    container = [{"name": "main", "image": "registry.example/app:2"}]
    annotations = {"sim.vacate.dev/ready-seconds": ready}
    return {
        "spec": {"template": {"metadata": {"annotations": annotations}, "spec": {"containers": container}}}
    }


def test_the_example_moves() -> None:
    async def body(world: World) -> None:
        example = yaml.safe_load((EXAMPLES / "single-replica.yaml").read_text())
        await world.client.create(DEPLOYMENTS, example, "default")
        await world.until(lambda: [resolve(pod).interceptors for pod in pods(world)] == [REGISTERED])
        await world.until(lambda: len(world.healthy_pods()) == 1)
        (old,) = pods(world)
        await completed(world, *await requested(world, old))
        await world.until(lambda: is_quiet(world))
        assert (fewest(world, 1), replicas(world), made(world, PODS)) == (1, 1, 2)

    in_world(body)


def test_a_pod_that_was_never_ready_is_not_replaced_before_it_goes() -> None:
    async def body(world: World) -> None:
        never = {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "never"}}}
        await world.client.create(
            DEPLOYMENTS,
            deployment("web", replicas=1, template=never, metadata={"annotations": {OPT_IN: "true"}}),
            "default",
        )
        await world.until(lambda: [resolve(pod).interceptors for pod in pods(world)] == [REGISTERED])
        await world.sim.clock.sleep(60.0)
        (old,) = pods(world)
        (request,) = await requested(world, old)
        await completed(world, request, timeout=60.0)
        assert replicas(world) == 1
        assert events_of(world, "web", "SurgeStarted") == []

    in_world(body)
