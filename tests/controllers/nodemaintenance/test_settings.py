"""Each setting of a maintenance does what its description says."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A, finish, heartbeat, request_eviction, running_pod
from support.simulated.maintenances import (
    drain,
    gone,
    is_cordoned,
    on_node,
    open_requests,
    phase,
    row,
    status,
    web,
)
from support.simulated.workloads import created, events_of, history
from vacate.api.kinds import (
    EVICTIONREQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
)
from vacate.api.types.nodemaintenance import MAX_BLOCKERS
from vacate.sim.cluster import World
from vacate.testing import pdb, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def test_nodes_are_chosen_by_label_also_those_that_get_it_later_and_those_that_lose_it_are_released() -> None:
    async def body(world: World) -> None:
        await web(world, 6)
        await world.client.patch(NODES, "node-1", {"metadata": {"labels": {"pool": "old"}}})
        await drain(world, nodeSelector={"matchLabels": {"pool": "old"}})
        await world.until(lambda: phase(world) == "Drained")
        assert [one["name"] for one in status(world)["nodes"]] == ["node-1"]
        assert (is_cordoned(world, "node-2"), bool(on_node(world, "node-2"))) == (False, True)
        await world.client.patch(NODES, "node-2", {"metadata": {"labels": {"pool": "old"}}})
        await world.until(lambda: row(world, "node-2").get("phase") == "Drained")
        assert on_node(world, "node-2") == []
        await world.client.patch(NODES, "node-1", {"metadata": {"labels": {"pool": None}}})
        await world.until(lambda: not is_cordoned(world, "node-1"))
        assert is_cordoned(world, "node-2")

    in_world(body)


def test_a_deadline_that_passes_is_reported_and_nothing_is_deleted_unless_that_is_wanted() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        where, uid = target["spec"]["nodeName"], target["metadata"]["uid"]
        await drain(world, where, deadlineSeconds=30)
        await world.until(
            lambda: "DeadlinePassed" in {one["kind"] for one in status(world).get("blockers", [])}
        )
        (held,) = [one for one in status(world)["blockers"] if one["kind"] == "DeadlinePassed"]
        assert held["message"] == "the deadline has passed with 1 pod left"
        assert held["remedy"] == "remove what blocks them, raise deadlineSeconds, or set onDeadline: Delete"
        await world.settle(60)
        there = created(world, PODS, "p")["metadata"]
        assert (there["uid"], "deletionTimestamp" in there) == (uid, False)

    in_world(body)


def test_the_heartbeat_deadline_is_that_of_the_requests() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        await drain(world, target["spec"]["nodeName"], heartbeatDeadlineSeconds=900)
        await world.until(lambda: open_requests(world))
        (request,) = open_requests(world)
        assert request["spec"]["heartbeatDeadlineSeconds"] == 900

    in_world(body)


@pytest.mark.parametrize(
    ("order", "asked"),
    [
        ("StrictPriority", ["low"]),
        ("Priority", ["high", "low"]),  # an interceptor that does not respond holds its own pod only
        ("Parallel", ["high", "low"]),
    ],
)
def test_pods_are_asked_for_by_priority_or_all_at_once(order: str, asked: list[str]) -> None:
    async def body(world: World) -> None:
        urgent = {
            "apiVersion": PRIORITYCLASSES.api_version,
            "kind": PRIORITYCLASSES.kind,
            "metadata": {"name": "urgent"},
            "value": 1000,
        }
        await world.client.create(PRIORITYCLASSES, urgent)
        here = {"nodeName": "node-1"}
        await running_pod(world, "low", interceptors=[A], spec=here)
        await running_pod(world, "high", interceptors=[A], spec={**here, "priorityClassName": "urgent"})
        await drain(world, "node-1", order=order)
        await world.until(lambda: len(open_requests(world)) == len(asked))
        await world.settle(60)
        assert sorted(one["spec"]["target"]["podRef"]["name"] for one in open_requests(world)) == asked

    in_world(body)


@pytest.mark.parametrize(("cordon", "early"), [("AllFirst", True), ("InTurn", False)])
def test_the_next_node_is_cordoned_with_the_first_or_in_its_turn(cordon: str, early: bool) -> None:
    async def body(world: World) -> None:
        await running_pod(world, interceptors=[A], spec={"nodeName": "node-1"})
        await drain(world, "node-1", "node-2", cordon=cordon)
        await world.until(lambda: open_requests(world))
        await world.settle(30)
        assert (is_cordoned(world, "node-1"), is_cordoned(world, "node-2")) == (True, early)
        await world.client.delete(PODS, "p", "default")
        await world.until(lambda: phase(world) == "Drained" and is_cordoned(world, "node-2"))

    in_world(body)


def test_a_pod_that_appears_on_a_drained_node_is_evicted_too() -> None:
    async def body(world: World) -> None:
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained")
        await world.client.create(PODS, pod("late", spec={"nodeName": "node-1"}), "default")
        await world.until(lambda: status(world).get("podsEvicted") == 1)
        await world.until(lambda: phase(world) == "Drained")
        assert on_node(world, "node-1") == []

    in_world(body)


def test_going_back_from_drain_to_cordon_withdraws_the_requests_and_keeps_the_cordon() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        where = target["spec"]["nodeName"]
        await drain(world, where)
        await world.until(lambda: open_requests(world))
        await world.client.patch(NODEMAINTENANCES, "kernel", {"spec": {"stage": "Cordon"}})
        await world.until(lambda: phase(world) == "Cordoned" and not open_requests(world))
        assert is_cordoned(world, where)
        assert created(world, PODS, "p")["metadata"]["uid"] == target["metadata"]["uid"]

    in_world(body)


def test_a_request_whose_interceptor_forbids_cancellation_outlives_the_maintenance_and_an_event_says_so() -> (
    None
):
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        where, name = target["spec"]["nodeName"], target["metadata"]["uid"]
        await drain(world, where)
        await world.until(lambda: created_status(world, name).get("activeInterceptorName") == A)
        await heartbeat(world, name, evictionRequestCancellationPolicy="Forbid")
        await gone(world)
        assert not is_cordoned(world, where)
        assert [one["metadata"]["name"] for one in open_requests(world)] == [name]
        await world.until(lambda: events_of(world, "kernel", "CancellationForbidden"))
        (message,) = set(events_of(world, "kernel", "CancellationForbidden"))
        assert message.startswith("Pod default/p is evicted anyway: ")
        await world.until(lambda: len(events_of(world, where, "NodeReleased")) == 1)
        assert events_of(world, where, "NodeCordoned") == ["The node is cordoned for NodeMaintenance kernel."]

    in_world(body)


def test_a_request_of_others_that_cannot_be_joined_is_followed_like_one_that_is() -> None:
    """While cancellation is forbidden no requester is added, so that the drain is not on the request."""

    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A], labels={"app": "strict"})
        name = await request_eviction(world, target)
        await world.until(lambda: created_status(world, name).get("activeInterceptorName") == A)
        await heartbeat(world, name, evictionRequestCancellationPolicy="Forbid")
        where = target["spec"]["nodeName"]
        await drain(world, where)
        await world.until(lambda: phase(world) == "Draining")
        await world.settle(5)
        await heartbeat(world, name, message="copying the disk")
        await world.until(lambda: "copying the disk" in row(world, where)["message"], 3.0)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("strict", max_unavailable=0), "default")
        await finish(world, name)
        await world.until(lambda: phase(world) == "Blocked", 3.0)
        assert [one["kind"] for one in status(world)["blockers"]] == ["DisruptionBudget"]

    in_world(body)


def test_no_more_blockers_are_listed_than_fit_and_all_are_counted() -> None:
    async def body(world: World) -> None:
        count = MAX_BLOCKERS + 5
        for number in range(count):
            one = pod(f"bare-{number}", spec={"nodeName": "node-1"})
            await world.client.create(PODS, one, "default")
        await world.until(lambda: len(world.healthy_pods()) == count)
        await drain(world, "node-1", pods={"unmanagedPods": "Refuse"})
        await world.until(lambda: status(world).get("blockersTotal") == count)
        assert len(status(world)["blockers"]) == MAX_BLOCKERS
        assert not [one for _, one in history(world, EVICTIONREQUESTS)]

    in_world(body)


def created_status(world: World, name: str) -> dict[str, object]:
    """The status of a request, empty before there is one."""
    found = world.find(EVICTIONREQUESTS, name, "default")
    return dict(found.get("status", {})) if found is not None else {}
