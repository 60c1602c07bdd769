"""The scheduler in a cluster: places, waits, and is woken."""

from __future__ import annotations

import pytest

from support.simulated.workloads import condition_of, created, events_of, in_world, node_of, running, writes
from vacate.api.kinds import NODES, PODS
from vacate.sim.cluster import World
from vacate.sim.faults.transport import NO_FAULT, Fault, Script
from vacate.testing import pod
from vacate.wire.message import Request

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def asking(name: str, cpu: str, **spec: object) -> dict[str, object]:
    resources = {"requests": {"cpu": cpu}}
    containers = [{"name": "main", "image": "registry.example/app:1", "resources": resources}]
    return pod(name, spec={"containers": containers, **spec})


def test_replicas_spread_over_nodes() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=6)
        counts = [
            sum(node_of(one) == name for one in world.healthy_pods())
            for name in ("node-1", "node-2", "node-3")
        ]
        assert counts == [2, 2, 2]
        name = world.healthy_pods()[0]["metadata"]["name"]
        place = node_of(created(world, PODS, name))
        await world.settle(5)
        assert events_of(world, name, "Scheduled") == [f"Successfully assigned default/{name} to {place}"]
        assert condition_of(created(world, PODS, name), "PodScheduled") == "True"

    in_world(body)


def test_a_pod_without_a_place_says_why_and_is_placed_when_room_comes() -> None:
    async def body(world: World) -> None:
        for name in ("node-1", "node-2", "node-3"):
            await world.client.patch(NODES, name, {"spec": {"unschedulable": True}})
        await world.settle(5)
        await world.client.create(PODS, asking("p", "100m"), "default")
        await world.until(lambda: condition_of(created(world, PODS, "p"), "PodScheduled") == "False")
        waiting = created(world, PODS, "p")
        message = "0/3 nodes are available: 3 node(s) were unschedulable."
        assert condition_of(waiting, "PodScheduled", "reason") == "Unschedulable"
        assert condition_of(waiting, "PodScheduled", "message") == message
        await world.settle(5)
        assert events_of(world, "p", "FailedScheduling") == [message]
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before
        await world.client.patch(NODES, "node-2", {"spec": {"unschedulable": False}})
        await world.until(lambda: node_of(created(world, PODS, "p")) == "node-2", timeout=5)

    in_world(body)


def test_a_pod_that_leaves_makes_room_for_the_one_that_waits() -> None:
    async def body(world: World) -> None:
        node = created(world, NODES, "node-1", "")
        cores = int(node["status"]["allocatable"]["cpu"])
        await world.client.create(PODS, asking("big", str(cores)), "default")
        await world.until(lambda: node_of(created(world, PODS, "big")))
        await world.client.create(PODS, asking("second", str(cores)), "default")
        await world.until(lambda: condition_of(created(world, PODS, "second"), "PodScheduled") == "False")
        message = condition_of(created(world, PODS, "second"), "PodScheduled", "message")
        assert message == "0/1 nodes are available: 1 Insufficient cpu."
        await world.client.delete(PODS, "big", "default")
        await world.until(lambda: node_of(created(world, PODS, "second")) == "node-1", timeout=60)

    in_world(body, nodes=1)


def test_higher_priority_goes_first_when_there_is_room_for_one() -> None:
    async def body(world: World) -> None:
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
        await world.settle(5)
        cores = created(world, NODES, "node-1", "")["status"]["allocatable"]["cpu"]
        await world.client.create(PODS, asking("first", cores), "default")
        high = asking("second", cores, priorityClassName="system-cluster-critical")
        await world.client.create(PODS, high, "default")
        await world.settle(5)
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": False}})
        await world.settle(5)
        assert node_of(created(world, PODS, "second")) == "node-1"
        assert node_of(created(world, PODS, "first")) == ""

    in_world(body, nodes=1)


def test_gated_pods_and_those_of_other_schedulers_are_left_alone() -> None:
    async def body(world: World) -> None:
        await world.client.create(
            PODS, pod("gated", spec={"schedulingGates": [{"name": "example.com/hold"}]}), "default"
        )
        await world.client.create(PODS, pod("other", spec={"schedulerName": "mine"}), "default")
        await world.settle(10)
        assert node_of(created(world, PODS, "gated")) == ""
        assert node_of(created(world, PODS, "other")) == ""
        await world.client.patch(PODS, "gated", {"spec": {"schedulingGates": None}}, "default")
        await world.until(lambda: node_of(created(world, PODS, "gated")), timeout=5)

    in_world(body)


def test_a_scheduler_that_crashes_leaves_nobody_behind() -> None:
    async def body(world: World) -> None:
        for number in range(30):
            await world.client.create(PODS, asking(f"p{number}", "100m"), "default")
            if number % 10 == 5:
                await world.restart(world.scheduler, 0.1)
        await world.until(lambda: len(world.healthy_pods()) == 30)
        counts = [
            sum(node_of(one) == name for one in world.healthy_pods())
            for name in ("node-1", "node-2", "node-3")
        ]
        assert max(counts) - min(counts) <= 2

    in_world(body)


class RefusedBindings:
    """A plan under which the server refuses bindings for a while."""

    def __init__(self) -> None:
        self.active = False
        self.refused = 0

    def fault(self, request: Request) -> Fault:
        if not self.active or not request.path.endswith("/binding"):
            return NO_FAULT
        self.refused += 1
        return Fault(status=503)


def test_nobody_who_waits_in_line_is_forgotten_when_bindings_fail() -> None:
    """A wake serves whoever is first in line, and not the pod whose key it has."""
    plan = RefusedBindings()
    urgent = asking("urgent", "100m", priorityClassName="system-cluster-critical")

    async def body(world: World) -> None:
        plan.active = True
        await world.client.create(PODS, asking("first", "100m"), "default")
        await world.until(lambda: plan.refused > 0)
        await world.client.create(PODS, urgent, "default")
        await world.until(lambda: plan.refused > 2)
        plan.active = False
        await world.until(lambda: node_of(created(world, PODS, "urgent")))
        plan.active = True  # the key of the urgent pod, which is tried again, stands for the first one now
        await world.client.delete(PODS, "urgent", "default")
        await world.until(lambda: world.find(PODS, "urgent", "default") is None)
        before = plan.refused
        await world.client.create(PODS, urgent, "default")
        await world.until(lambda: plan.refused > before)
        plan.active = False
        await world.until(lambda: len(world.healthy_pods()) == 2)

    in_world(body, plans=lambda name: plan if name == "scheduler" else Script(()))


class RefusedReports:
    """A plan under which the server refuses reports about certain pods."""

    def __init__(self, *pods: str) -> None:
        self.pods = pods
        self.refused = 0

    def fault(self, request: Request) -> Fault:
        if not any(request.path.endswith(f"/pods/{name}/status") for name in self.pods):
            return NO_FAULT
        self.refused += 1
        return Fault(status=503)


def test_a_pod_without_a_place_says_why_although_the_first_report_was_lost() -> None:
    plan = RefusedReports("p")

    async def body(world: World) -> None:
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
        await world.settle(5)
        await world.client.create(PODS, asking("p", "100m"), "default")
        await world.until(lambda: plan.refused > 0)
        plan.pods = ()
        await world.until(lambda: condition_of(created(world, PODS, "p"), "PodScheduled") == "False")
        message = condition_of(created(world, PODS, "p"), "PodScheduled", "message")
        assert message == "0/1 nodes are available: 1 node(s) were unschedulable."
        await world.settle(5)
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before

    in_world(body, nodes=1, plans=lambda name: plan if name == "scheduler" else Script(()))


def test_a_pod_whose_status_cannot_be_written_keeps_no_other_pod_from_a_node() -> None:
    plan = RefusedReports("huge")

    async def body(world: World) -> None:
        huge = asking("huge", "1000", priorityClassName="system-cluster-critical")
        await world.client.create(PODS, huge, "default")
        await world.until(lambda: plan.refused > 0)
        await world.client.create(PODS, asking("small", "100m"), "default")
        await world.until(lambda: node_of(created(world, PODS, "small")), timeout=60)
        before = plan.refused
        await world.until(lambda: plan.refused > before)

    in_world(body, plans=lambda name: plan if name == "scheduler" else Script(()))
