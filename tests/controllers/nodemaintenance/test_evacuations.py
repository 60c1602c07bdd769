"""Drains by the Evacuation API: the maintenance is an instigator, and joins whatever request there is."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A, request_eviction, running_pod
from support.simulated.maintenances import drain, gone, is_cordoned, on_node, phase, status
from support.simulated.workloads import created
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, NODEMAINTENANCES
from vacate.errors import Invalid
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

OPEN = parse_feature_gates("EvacuationAPI=true")
PREFIX = "evacuation.coordination.k8s.io"
REGISTERED = {f"{PREFIX}/priority_{A}": "11000/knowledgeable"}
LONG = "drain-node-of-a-long-name-and-2-more-7bb77f87"


def instigators(world: World) -> list[list[str]]:
    return [one["metadata"].get("finalizers", []) for one in world.objects(EVACUATIONS)]


@pytest.mark.parametrize("name", ["kernel", LONG])
def test_a_drain_evacuates_its_pods_and_undoes_what_it_did(name: str) -> None:
    async def body(world: World) -> None:
        plain = await running_pod(world, "plain")
        node = plain["spec"]["nodeName"]
        await drain(world, node, name=name, requestKind="Evacuation", reason="kernel update")
        await world.until(lambda: phase(world, name) == "Drained", 3600.0)
        assert not on_node(world, node)
        assert not world.objects(EVICTIONREQUESTS)
        await world.until(lambda: not world.objects(EVACUATIONS))
        await gone(world, name)
        assert not is_cordoned(world, node)

        held = await running_pod(world, "held", metadata={"annotations": REGISTERED})
        node = held["spec"]["nodeName"]
        await drain(world, node, name=name, requestKind="Evacuation")
        await world.until(lambda: any(instigators(world)))
        ((own,),) = instigators(world)
        assert own.startswith(f"{PREFIX}/instigator_")
        assert own.endswith(".nodemaintenance.vacate.dev")
        assert len(own) <= len(f"{PREFIX}/") + 63
        await world.until(lambda: phase(world, name) == "Blocked", 3600.0)
        (blocker,) = status(world, name)["blockers"]
        assert blocker["kind"] == "Evacuator"
        assert blocker["message"].startswith(f"evacuator {A} has not responded")
        assert "update Evacuations" in blocker["remedy"]
        await gone(world, name)
        await world.until(lambda: not world.objects(EVACUATIONS))
        assert on_node(world, node) == ["held"]

    in_world(body, nodes=1, gates=OPEN)


def test_a_maintenance_joins_the_request_that_exists_whatever_its_kind() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, "web", interceptors=[A])
        await request_eviction(world, pod)
        await drain(world, pod["spec"]["nodeName"], requestKind="Evacuation")

        def requesters() -> list[str]:
            (one,) = world.objects(EVICTIONREQUESTS)
            return [each["name"] for each in one["spec"].get("requesters", [])]

        await world.until(lambda: len(requesters()) == 2)
        assert requesters()[1] == "kernel.nodemaintenance.vacate.dev"
        assert not world.objects(EVACUATIONS)
        await gone(world)
        await world.until(lambda: len(requesters()) == 1)

    in_world(body, nodes=1, gates=OPEN)


def test_the_kind_can_change_in_the_middle_and_requests_that_go_on_stay() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, "web", interceptors=[A])
        await drain(world, pod["spec"]["nodeName"])
        await world.until(lambda: bool(world.objects(EVICTIONREQUESTS)))
        await world.client.patch(NODEMAINTENANCES, "kernel", {"spec": {"requestKind": "Evacuation"}})
        await world.settle(60)
        assert len(world.objects(EVICTIONREQUESTS)) == 1
        assert not world.objects(EVACUATIONS)

    in_world(body, nodes=1, gates=OPEN)


def test_without_the_gate_the_drain_says_what_to_open() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, "web")
        await drain(world, pod["spec"]["nodeName"], requestKind="Evacuation")
        await world.until(lambda: phase(world) == "Blocked", 3600.0)
        (blocker,) = status(world)["blockers"]
        assert blocker["kind"] == "RequestRefused"
        assert (
            "open the feature gate EvacuationAPI, or set requestKind: EvictionRequest" in blocker["message"]
        )
        await world.client.patch(NODEMAINTENANCES, "kernel", {"spec": {"requestKind": "EvictionRequest"}})
        await world.until(lambda: phase(world) == "Drained", 3600.0)

    in_world(body, nodes=1)


def test_an_evacuation_takes_no_longer_deadline_than_six_hours() -> None:
    async def body(world: World) -> None:
        await drain(world, "node-1", requestKind="Evacuation", heartbeatDeadlineSeconds=21_600)
        assert created(world, NODEMAINTENANCES, "kernel", "")["spec"]["requestKind"] == "Evacuation"
        with pytest.raises(Invalid, match=r"spec\.heartbeatDeadlineSeconds.*at most 21600"):
            await drain(world, "node-1", name="b", requestKind="Evacuation", heartbeatDeadlineSeconds=21_601)

    in_world(body, nodes=1, gates=OPEN)


def test_a_pod_that_registers_evacuators_only_is_evacuated_by_any_drain() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, metadata={"annotations": REGISTERED})
        await drain(world, pod["spec"]["nodeName"])
        await world.until(
            lambda: [one["status"].get("activeEvacuatorClass") for one in world.objects(EVACUATIONS)] == [A]
        )
        assert world.objects(EVICTIONREQUESTS) == []

    in_world(body, gates=OPEN)
