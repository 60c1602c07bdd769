"""Drains by lifecycle.k8s.io: the maintenance has EvictionRequests of its own, beside those of others."""

from __future__ import annotations

import pytest

from controllers.lifecycle.test_walkthroughs import InGroup
from support.simulated.clusters import in_world
from support.simulated.evictions import A, request_eviction, running_pod
from support.simulated.maintenances import drain, gone, is_cordoned, on_node, phase, status
from support.simulated.workloads import created
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, NODEMAINTENANCES, PODS
from vacate.api.objects import Obj
from vacate.errors import Invalid
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

OPEN = parse_feature_gates("LifecycleAPI=true")
BACKUP = "backup.example.com/backup"
RESPONDERS = [{"name": BACKUP, "priority": 20_000}]
LONG = f"drain-{'n' * 100}"
DOTTED = "drain-node-1.example.com"


def requesters(world: World) -> dict[str, str]:
    """Of all EvictionRequests: what each requester wants."""
    return {one["spec"]["requester"]: one["spec"]["intent"] for one in world.objects(LIFECYCLE_REQUESTS)}


def process(world: World) -> Obj:
    """The status of the one Eviction that is not over."""
    going = [
        one["status"]
        for one in world.objects(LIFECYCLE_EVICTIONS)
        if not any(each["status"] == "True" for each in one.get("status", {}).get("conditions", ()))
    ]
    return going[0] if len(going) == 1 else {}


async def request_by(world: World, name: str, requester: str) -> None:
    """Another requester wants the pod gone as well."""
    meta = created(world, PODS, name)["metadata"]
    spec = {"target": {"pod": {"name": name, "uid": meta["uid"]}}, "requester": requester}
    body = {"metadata": {"name": "other"}, "spec": {**spec, "intent": "Eviction"}}
    await world.client.create(LIFECYCLE_REQUESTS, body, "default")


@pytest.mark.parametrize(
    ("name", "requester"),
    [
        ("kernel", "nodemaintenance.vacate.dev/kernel"),
        (DOTTED, "example.com.nodemaintenance.vacate.dev/drain-node-1"),
        (LONG, ""),
    ],
    ids=["plain", "dotted", "long"],
)
def test_a_drain_requests_evictions_and_undoes_what_it_did(name: str, requester: str) -> None:
    async def body(world: World) -> None:
        plain = await running_pod(world, "plain")
        node = plain["spec"]["nodeName"]
        await drain(world, node, name=name, requestKind="Lifecycle", reason="kernel update")
        await world.until(lambda: phase(world, name) == "Drained", 3600.0)
        assert not on_node(world, node)
        assert not world.objects(EVICTIONREQUESTS)
        await gone(world, name)
        assert not is_cordoned(world, node)
        await world.until(lambda: not world.objects(LIFECYCLE_EVICTIONS))

        held = await running_pod(world, "held", spec={"evictionResponders": RESPONDERS})
        node = held["spec"]["nodeName"]
        await drain(world, node, name=name, requestKind="Lifecycle")
        await world.until(lambda: bool(process(world).get("targetResponders")))
        ((own, intent),) = requesters(world).items()
        assert intent == "Eviction"
        assert own == requester or (name == LONG and own.startswith("nodemaintenance.vacate.dev/drain-nnn"))
        await world.until(lambda: phase(world, name) == "Blocked", 3600.0)
        (blocker,) = status(world, name)["blockers"]
        assert blocker["kind"] == "Responder"
        assert blocker["message"].startswith(f"responder {BACKUP} has not responded")
        assert "update Evictions" in blocker["remedy"]
        await gone(world, name)
        await world.until(lambda: not process(world))
        assert requesters(world) == {own: "Withdrawn"}
        assert on_node(world, node) == ["held"]

        await drain(world, node, name=name, requestKind="Lifecycle")  # and once more, from the beginning
        await world.until(lambda: bool(process(world)))

    in_world(body, nodes=1, gates=OPEN)


def test_a_maintenance_joins_the_eviction_that_goes_on_whatever_its_own_kind() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, "web", spec={"evictionResponders": RESPONDERS}, interceptors=[A])
        await request_by(world, "web", "acme.io/upgrade")
        await world.until(lambda: bool(process(world).get("requesters")))
        await drain(world, pod["spec"]["nodeName"])  # by EvictionRequests of Vacate's own kind, by default
        await world.until(lambda: len(process(world).get("requesters", ())) == 2)
        assert set(requesters(world)) == {"acme.io/upgrade", "nodemaintenance.vacate.dev/kernel"}
        assert not world.objects(EVICTIONREQUESTS)
        await gone(world)
        await world.until(
            lambda: (
                requesters(world)
                == {
                    "acme.io/upgrade": "Eviction",
                    "nodemaintenance.vacate.dev/kernel": "Withdrawn",
                }
            )
        )
        assert process(world)

    in_world(body, nodes=1, gates=OPEN)


def test_a_request_of_our_own_kind_that_goes_on_is_joined() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, "web", interceptors=[A])
        await request_eviction(world, pod)
        await drain(world, pod["spec"]["nodeName"], requestKind="Lifecycle")

        def names() -> list[str]:
            (one,) = world.objects(EVICTIONREQUESTS)
            return [each["name"] for each in one["spec"].get("requesters", [])]

        await world.until(lambda: len(names()) == 2)
        assert not world.objects(LIFECYCLE_REQUESTS)

    in_world(body, nodes=1, gates=OPEN)


def test_a_pod_that_lists_responders_only_is_evicted_by_that_api_in_any_drain() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, spec={"evictionResponders": RESPONDERS})
        await drain(world, pod["spec"]["nodeName"])
        await world.until(lambda: bool(process(world)))
        assert world.objects(EVICTIONREQUESTS) == []

    in_world(body, gates=OPEN)


def test_a_pod_of_a_scheduling_group_is_evicted_by_our_own_kind_in_any_drain() -> None:
    async def body(world: World) -> None:
        world.network.audit = InGroup()
        await world.restart(world.evictions)
        pod = await running_pod(world, "web")
        await drain(world, pod["spec"]["nodeName"], requestKind="Lifecycle")
        await world.until(lambda: phase(world) == "Drained", 600.0)
        assert world.objects(LIFECYCLE_REQUESTS) == []

    in_world(body, nodes=1, gates=OPEN)


def test_without_the_gate_the_drain_says_what_to_open() -> None:
    async def body(world: World) -> None:
        pod = await running_pod(world, "web")
        await drain(world, pod["spec"]["nodeName"], requestKind="Lifecycle")
        await world.until(lambda: phase(world) == "Blocked", 3600.0)
        (blocker,) = status(world)["blockers"]
        assert "open the feature gate LifecycleAPI, or set requestKind: EvictionRequest" in blocker["message"]

    in_world(body, nodes=1)


def test_the_deadline_of_that_api_cannot_be_chosen() -> None:
    async def body(world: World) -> None:
        await drain(world, "node-1", requestKind="Lifecycle", heartbeatDeadlineSeconds=1_200)
        assert created(world, NODEMAINTENANCES, "kernel", "")["spec"]["requestKind"] == "Lifecycle"
        with pytest.raises(Invalid, match=r"spec\.heartbeatDeadlineSeconds.*must be left out"):
            await drain(world, "node-1", name="b", requestKind="Lifecycle", heartbeatDeadlineSeconds=3_600)

    in_world(body, nodes=1, gates=OPEN)
