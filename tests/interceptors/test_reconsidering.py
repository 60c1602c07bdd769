"""Declined turns, a budget that blocks the eviction then, and the cause of the refusal goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from support.simulated.autoscalers import autoscaled, is_restored, patch_autoscaler
from support.simulated.clusters import Requests, in_world
from support.simulated.deployments import fewest, is_quiet, moving, pods, replicas, requested
from support.simulated.maintenances import drain, on_node, phase
from support.simulated.statefulsets import members, ready_statefulset
from support.simulated.workloads import condition_of, created, history, running
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    OPT_IN,
    REPLICASET_INTERCEPTOR,
)
from vacate.embedded.apiserver.inprocess import Handler
from vacate.eviction.registration import PREFIXES
from vacate.interceptors.reconsidering import MAX_PAUSE
from vacate.sim.cluster import World
from vacate.testing import horizontalpodautoscaler, pdb, statefulset
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]


async def blocked_drain(world: World, old: Obj, timeout: float = 600.0) -> str:
    """A drain that a budget blocks after the interceptors have declined; the node."""
    await world.client.create(
        PODDISRUPTIONBUDGETS, pdb("web", min_available=1, selector={"app": "web"}), "default"
    )
    node, uid = str(old["spec"]["nodeName"]), old["metadata"]["uid"]
    await drain(world, node)

    def is_blocked() -> bool:
        found = world.find(EVICTIONREQUESTS, uid, "default")
        return found is not None and condition_of(found, "Progressing", "reason") == "Blocked"

    await world.until(is_blocked, timeout)
    await world.sim.clock.sleep(60.0)
    assert phase(world) != "Drained"
    return node


async def drained(world: World, node: str, timeout: float = 60.0) -> None:
    await world.until(lambda: phase(world) == "Drained", timeout)
    assert on_node(world, node) == []
    assert fewest(world, 1) == 1
    assert replicas(world) == 1


def test_a_raised_ceiling_lets_an_autoscaler_replace_the_pod() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, 1, most=1)
        node = await blocked_drain(world, old)
        await patch_autoscaler(world, {"spec": {"maxReplicas": 2}})
        await drained(world, node)
        await world.until(lambda: is_restored(world))

    in_world(body)


@pytest.mark.thorough
def test_without_its_autoscaler_the_deployment_is_surged() -> None:
    async def body(world: World) -> None:
        (old,) = await autoscaled(world, 1, most=1)
        node = await blocked_drain(world, old)
        await world.client.delete(HORIZONTALPODAUTOSCALERS, "web", "default")
        await drained(world, node)

    in_world(body)


def test_a_strategy_that_allows_a_surge_again() -> None:
    async def body(world: World) -> None:
        rolling = {"maxSurge": 0, "maxUnavailable": 1}
        (old,) = await moving(
            world, 1, spec={"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
        )
        node = await blocked_drain(world, old)
        change = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
        await world.client.patch(DEPLOYMENTS, "web", {"spec": change}, "default")
        await drained(world, node)

    in_world(body)


Step = Callable[[World], Awaitable[object]]


async def two_autoscalers(world: World) -> Obj:
    (old,) = await autoscaled(world, 1, most=3)
    other = horizontalpodautoscaler("other", target="web")
    await world.client.create(HORIZONTALPODAUTOSCALERS, other, "default")
    return old


async def remove_other(world: World) -> None:
    await world.client.delete(HORIZONTALPODAUTOSCALERS, "other", "default")


async def out_of_order(world: World) -> Obj:
    """Registered by the author: who opts in is given an order that works."""
    await world.client.create(HORIZONTALPODAUTOSCALERS, horizontalpodautoscaler(), "default")
    numbers = {AUTOSCALER_INTERCEPTOR: 1, REPLICASET_INTERCEPTOR: 2, DEPLOYMENT_INTERCEPTOR: 3}
    notes = {_priority(name): str(number) for name, number in numbers.items()}
    await running(world, "web", 1, template={"metadata": {"annotations": notes}})
    return pods(world)[0]


def _priority(name: str) -> str:
    return f"{PREFIXES[0]}/priority_{name}"


async def put_first(world: World) -> None:
    (old,) = pods(world)
    change = {"metadata": {"annotations": {_priority(AUTOSCALER_INTERCEPTOR): "4"}}}
    await world.client.patch(PODS, old["metadata"]["name"], change, "default")


async def broken_rollout(world: World) -> Obj:
    """Of its two members one has the new template, and never becomes ready."""
    old, _ = await ready_statefulset(world, 2)
    await roll(world, "never")
    return old


async def roll(world: World, ready_seconds: str | None) -> None:
    notes = {"annotations": {"sim.vacate.dev/ready-seconds": ready_seconds}}
    await world.client.patch(STATEFULSETS, "db", {"spec": {"template": {"metadata": notes}}}, "default")


async def undo_rollout(world: World) -> None:
    await roll(world, None)
    await world.client.delete(PODS, "db-1", "default")


async def member_without_room(world: World) -> Obj:
    old, _ = await ready_statefulset(world, 2)
    await cordon(world, unschedulable=True)
    await world.client.delete(PODS, "db-1", "default")
    return old


async def cordon(world: World, *, unschedulable: bool | None = None) -> None:
    for one in world.objects(NODES):
        change = {"spec": {"unschedulable": unschedulable}}
        await world.client.patch(NODES, one["metadata"]["name"], change)


async def orphaned_member(world: World) -> Obj:
    (old,) = await ready_statefulset(world, 1)
    options = DeleteOptions(propagation_policy="Orphan")
    await world.client.delete(STATEFULSETS, "db", "default", options)
    await world.until(lambda: not members(world)[0]["metadata"].get("ownerReferences"))
    return old


async def adopt_member(world: World) -> None:
    made = statefulset("db", replicas=1, metadata={"annotations": {OPT_IN: "true"}})
    await world.client.create(STATEFULSETS, made, "default")


@pytest.mark.parametrize(
    ("given", "why", "heal"),
    [
        (two_autoscalers, "remove all but one", remove_other),
        (out_of_order, "give it a higher priority", put_first),
        (broken_rollout, "is in progress and does not end", undo_rollout),
        (member_without_room, "pod db-1 did not become ready in time", cordon),
        (orphaned_member, "the pod belongs to no StatefulSet", adopt_member),
    ],
)
def test_another_turn_is_offered_once_what_was_declined_for_has_changed(
    given: Callable[[World], Awaitable[Obj]], why: str, heal: Step
) -> None:
    """And not before; the cases of the matrix and of what wakes controllers have the other causes."""

    async def body(world: World) -> None:
        old = await given(world)
        budget = pdb("all", min_available=2, selector={"app": old["metadata"]["labels"]["app"]})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        (name,) = await requested(world, old)

        def declined() -> bool:
            shown = created(world, EVICTIONREQUESTS, name).get("status", {}).get("conditions", [])
            return any(one["type"].endswith("/Declined") and why in one["message"] for one in shown)

        def offered() -> bool:
            found = [one["metadata"].get("annotations", {}) for _, one in history(world, EVICTIONREQUESTS)]
            return any(SUPERSEDES in one for one in found)

        await world.until(declined, 1200.0)
        await world.sim.clock.sleep(1200.0)
        assert not offered()
        await heal(world)
        await world.until(offered, 60.0)

    in_world(body)


class LateCache:
    """The manager hears of objects of one kind later than of all others."""

    def __init__(self, world: World, kind: Kind) -> None:
        self._clock = world.sim.clock
        self._kind = kind
        world.network.audit = self

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        if link == "evictions" and request.path.endswith(f"/{self._kind.plural}"):
            await self._clock.sleep(5.0)
        return await server.handle(request)


@pytest.mark.parametrize("kind", [PODS, REPLICASETS, DEPLOYMENTS], ids=lambda one: one.plural)
def test_a_manager_that_starts_looks_at_declined_turns_whatever_it_hears_of_first(kind: Kind) -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world, 1, spec={"strategy": {"type": "Recreate", "rollingUpdate": None}})
        node = await blocked_drain(world, old)
        await world.sim.clock.sleep(3600.0)
        LateCache(world, kind)
        await world.restart(world.evictions)
        await world.sim.clock.sleep(10.0)
        change = {"strategy": {"type": "RollingUpdate"}}
        await world.client.patch(DEPLOYMENTS, "web", {"spec": change}, "default")
        await drained(world, node)

    in_world(body)


async def surge_without_room(world: World, hours: float) -> tuple[str, str]:
    """A drain whose surge nobody takes, for so long; the node, and one that would take it if it might."""
    (old,) = await moving(world, 1, spec={"progressDeadlineSeconds": 30})
    node = str(old["spec"]["nodeName"])
    others = [name for one in world.objects(NODES) if (name := one["metadata"]["name"]) != node]
    for name in others:
        await world.client.patch(NODES, name, {"spec": {"unschedulable": True}})
    await world.client.create(
        PODDISRUPTIONBUDGETS, pdb("web", min_available=1, selector={"app": "web"}), "default"
    )
    await drain(world, node)
    await world.sim.clock.sleep(60.0)
    requests = Requests(world)
    await world.sim.clock.sleep(hours * 3600)
    counts = [one["spec"]["replicas"] for gone, one in history(world, DEPLOYMENTS) if not gone]
    assert [now for before, now in pairwise(counts) if now != before] == [2]
    assert requests.count / (hours * 60) < 20
    (held,) = (await world.client.get(NODEMAINTENANCES, "kernel"))["status"]["blockers"]
    assert held["kind"] == "Replacement"
    assert "disruption budget web would refuse the eviction" in held["message"]
    assert "make room" in held["remedy"]
    return node, others[0]


def test_a_surge_without_room_is_begun_once_and_stays_until_there_is_room() -> None:
    async def body(world: World) -> None:
        node, other = await surge_without_room(world, hours=1)
        await world.client.patch(NODES, other, {"spec": {"unschedulable": None}})
        await drained(world, node, 25.0)  # it is seen within 15, and the pod takes its time to end
        await world.until(lambda: is_quiet(world))

    in_world(body)


@pytest.mark.parametrize("spec", [{"minAvailable": 0}, {"minAvailable": None, "maxUnavailable": 1}])
def test_a_surge_without_room_ends_when_the_budget_opens(spec: Obj) -> None:
    """Also a budget that is open only without the surge."""

    async def body(world: World) -> None:
        await surge_without_room(world, hours=0.1)
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", {"spec": spec}, "default")
        await world.until(lambda: phase(world) == "Drained", 30.0)

    in_world(body)


class Resetter:
    """A program that keeps a field at 1, as a GitOps agent or an autoscaler of another kind does."""

    def __init__(self, world: World, kind: Kind, field: str) -> None:
        self._world, self._kind, self._field = world, kind, field
        self.resets: list[float] = []
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        client = self._world.client_of("gitops")
        while True:
            found = await client.get(self._kind, "web", "default")
            if found["spec"][self._field] != 1:
                await client.patch(self._kind, "web", {"spec": {self._field: 1}}, "default")
                self.resets.append(self._world.sim.loop.time())
            await self._world.sim.clock.sleep(1.0)

    def stop(self) -> None:
        self._task.cancel()


@pytest.mark.parametrize(
    ("kind", "field"), [(DEPLOYMENTS, "replicas"), (HORIZONTALPODAUTOSCALERS, "minReplicas")]
)
def test_a_count_that_is_set_back_each_time_is_tried_ever_more_rarely(kind: Kind, field: str) -> None:
    async def body(world: World) -> None:
        slow = {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "5"}}}
        (old,) = await (moving(world, template=slow) if kind is DEPLOYMENTS else autoscaled(world, 1, most=3))
        program = Resetter(world, kind, field)
        node = await blocked_drain(world, old)
        await world.sim.clock.sleep(1200.0)
        pauses = [now - before for before, now in pairwise(program.resets)]
        assert len(pauses) < 20, pauses
        assert max(pauses) > MAX_PAUSE
        (held,) = (await world.client.get(NODEMAINTENANCES, "kernel"))["status"]["blockers"]
        assert f"{field} of {kind.kind} web is set back by another program" in held["message"]
        assert f"kubectl get {kind.singular} web -n default -o yaml --show-managed-fields" in held["message"]
        assert f"vacate retry {old['metadata']['name']} -n default" in held["remedy"]
        program.stop()
        await drained(world, node, MAX_PAUSE + 60.0)

    in_world(body)
