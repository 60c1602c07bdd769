"""Requests that a disruption budget refuses: counted, reported, tried again ever later, and woken in line."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from support.simulated.evictions import (
    completed,
    condition_of,
    created,
    ended,
    events_of,
    evictions_heard,
    failed,
    history,
    in_eviction_cluster,
    on_simulated_cluster,
    request_eviction,
    requested,
    running_pod,
    stage,
    status,
)
from support.simulated.workloads import running
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj, dig, encode, terminating
from vacate.api.status import to_status
from vacate.client.requests import STRATEGIC_PATCH
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.apiserver.inprocess import Handler
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.errors import Forbidden
from vacate.sim.cluster import World
from vacate.testing import deployment, pdb, pod
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

WEB = {"app": "web"}


async def guard(world: World, name: str = "web", **bounds: int | str) -> None:
    await world.client.create(PODDISRUPTIONBUDGETS, pdb(name, selector=WEB, **bounds), "default")  # type: ignore[arg-type]


async def requested_in_vain(world: World) -> str:
    """A request for a running pod whose budget nobody counts: its eviction is refused for ever."""
    await guard(world, min_available=1)
    target = await running_pod(world, labels=WEB)
    running_now = {"status": {"phase": "Running"}}
    await world.client.patch(
        PODS, "p", running_now, "default", patch_type=STRATEGIC_PATCH, subresource="status"
    )
    return await request_eviction(world, target)


def attempts(world: World, name: str) -> list[dt.datetime]:
    """When the counter grew, by the times of the events about it."""
    moments: list[dt.datetime] = []
    for at, record in world.server.history:
        if record.resource == EVICTIONREQUESTS.resource and record.name == name:
            moments.append(dt.datetime.fromtimestamp(at, dt.UTC))
    return moments


def test_a_refusal_is_counted_and_reported_in_one_write() -> None:
    async def body(world: World) -> None:
        await guard(world, min_available=1)
        name = await requested(world, labels=WEB)
        await world.until(lambda: failed(world, name) == 1)
        assert stage(world, name) == "Blocked"
        message = status(world, name)["message"]
        assert message.startswith("The eviction was refused: Cannot evict pod as it would violate")
        assert "The disruption budget web needs 1 healthy pod and has 1 currently" in message
        assert len(list(history(world, EVICTIONREQUESTS))) == 2
        await world.sim.clock.sleep(1)
        assert len(events_of(world, name, "EvictionRefused")) == 1

    in_eviction_cluster(body)


@pytest.mark.thorough
def test_the_event_about_a_single_replica_names_what_its_deployment_can_opt_in_to() -> None:
    async def body(world: World) -> None:
        await world.client.create(DEPLOYMENTS, deployment("web", replicas=1), "default")
        await guard(world, min_available=1)
        await world.until(
            lambda: any(dig(one, "status", "phase") == "Running" for one in world.objects(PODS))
        )
        (pod,) = world.objects(PODS)
        name = await request_eviction(world, pod)
        await world.until(lambda: failed(world, name) == 1)
        await world.sim.clock.sleep(1)
        (message,) = events_of(world, name, "EvictionRefused")
        command = "kubectl annotate deployment web vacate.dev/move-before-eviction=true -n default"
        assert message.endswith(f"Start a replacement first. {command}")
        assert command not in status(world, name)["message"]

    in_eviction_cluster(body)


@pytest.mark.thorough
def test_attempts_grow_apart_from_five_seconds_to_a_quarter_of_an_hour() -> None:
    async def body(world: World) -> None:
        name = await requested_in_vain(world)
        await world.sim.clock.sleep(6 * 3600)
        moments = attempts(world, name)[1:]
        gaps = [(b - a).total_seconds() for a, b in pairwise(moments)]
        longest = [5 * 2**n for n in range(8)]
        for gap, most in zip(gaps, longest, strict=False):
            assert 0.8 * most - 0.1 <= gap <= most + 0.1
        assert all(0.8 * 900 - 0.1 <= gap <= 900.1 for gap in gaps[8:])
        assert failed(world, name) == len(moments) == evictions_heard(world)

    on_simulated_cluster(body)


def test_a_restart_keeps_the_counter_and_waits_within_the_present_delay() -> None:
    async def body(world: World) -> None:
        name = await requested_in_vain(world)
        await world.until(lambda: failed(world, name) == 6, timeout=600)
        await world.restart(world.evictions)
        began = world.sim.clock.now()
        await world.until(lambda: failed(world, name) == 7, timeout=161)
        assert world.sim.clock.now() - began > dt.timedelta(seconds=2)

    on_simulated_cluster(body)


def allowed(world: World, name: str = "web") -> int:
    return int(dig(world.find(PODDISRUPTIONBUDGETS, name, "default"), "status", "disruptionsAllowed") or 0)


async def blocked(world: World, number: int) -> list[str]:
    """So many pods of one budget that allows nothing, and a request for each, oldest first."""
    await guard(world, min_available=number)
    targets = [await running_pod(world, f"p{n}", labels=WEB) for n in range(number)]
    names = []
    for target in targets:
        names.append(await request_eviction(world, target))
        await world.sim.clock.sleep(2)
    await world.until(lambda: all(failed(world, one) > 3 for one in names), timeout=900)
    return names


def test_a_budget_that_opens_wakes_as_many_as_it_allows_oldest_first_at_once() -> None:
    async def body(world: World) -> None:
        names = await blocked(world, 4)
        before = [failed(world, one) for one in names]
        heard = evictions_heard(world)
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", {"spec": {"minAvailable": 2}}, "default")
        await world.until(lambda: evictions_heard(world) == heard + 2, timeout=5)
        await world.until(lambda: ended(world, names[0]) and ended(world, names[1]), timeout=10)
        assert [failed(world, one) for one in names] == before
        assert evictions_heard(world) == heard + 2
        assert not ended(world, names[2])
        assert not ended(world, names[3])

    in_eviction_cluster(body)


def test_a_budget_that_goes_away_wakes_all() -> None:
    async def body(world: World) -> None:
        names = await blocked(world, 3)
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await world.until(lambda: all(ended(world, one) for one in names), timeout=10)

    in_eviction_cluster(body)


def test_a_budget_that_turns_to_other_pods_wakes_those_of_before() -> None:
    async def body(world: World) -> None:
        names = await blocked(world, 2)
        other = {"spec": {"selector": {"matchLabels": {"app": "other"}}}}
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", other, "default")
        await world.until(lambda: all(ended(world, one) for one in names), timeout=10)

    in_eviction_cluster(body)


def test_of_two_budgets_the_one_that_stays_still_holds() -> None:
    async def body(world: World) -> None:
        await guard(world, "one", min_available=1)
        await guard(world, "two", min_available=1)
        name = await requested(world, labels=WEB)
        await world.until(lambda: failed(world, name) == 4, timeout=100)
        assert "more than one PodDisruptionBudget" in status(world, name)["message"]
        heard = evictions_heard(world)
        await world.client.delete(PODDISRUPTIONBUDGETS, "one", "default")
        await world.sim.clock.sleep(3)
        assert evictions_heard(world) == heard
        await world.client.delete(PODDISRUPTIONBUDGETS, "two", "default")
        await completed(world, name, 5)

    in_eviction_cluster(body)


def test_a_budget_elsewhere_wakes_nobody() -> None:
    async def body(world: World) -> None:
        [name] = await blocked(world, 1)
        heard = evictions_heard(world)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("db", max_unavailable=1), "default")
        await world.client.delete(PODDISRUPTIONBUDGETS, "db", "default")
        await world.sim.clock.sleep(1)
        assert evictions_heard(world) == heard
        assert not ended(world, name)

    in_eviction_cluster(body)


def test_a_budget_that_opened_while_no_controller_ran_wakes_the_oldest_at_its_start() -> None:
    async def body(world: World) -> None:
        names = await blocked(world, 3)
        await world.evictions.crash()
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", {"spec": {"minAvailable": 2}}, "default")
        await world.until(lambda: allowed(world) == 1)
        await world.evictions.start()
        await world.until(lambda: ended(world, names[0]), timeout=3)
        assert not any(ended(world, one) for one in names[1:])

    in_eviction_cluster(body)


@dataclass
class HeldAnswers:
    """A transport on which refusals of evictions are on their way until they are let through."""

    transport: Transport
    through: asyncio.Event

    async def send(self, request: Request) -> Response:
        response = await self.transport.send(request)
        if request.path.endswith("/eviction") and response.status == 429:
            await self.through.wait()
        return response

    async def aclose(self) -> None:
        await self.transport.aclose()


@pytest.mark.parametrize("change", ["opens", "goes"])
def test_a_budget_that_opens_while_the_refusal_is_on_its_way_wakes_too(change: str) -> None:
    async def body(world: World) -> None:
        through = asyncio.Event()

        def build(link: Transport, around: ComponentContext) -> Any:
            held = HeldAnswers(link, through)
            return component_manager(held, "manager", enabled(around.gates), around, PROJECTIONS)

        await world.start("manager", build, EVICTION_CONTROLLER)
        await guard(world, min_available=1)
        name = await requested(world, labels=WEB)
        await world.until(lambda: evictions_heard(world) == 1)
        if change == "goes":
            await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        else:
            await world.client.patch(PODDISRUPTIONBUDGETS, "web", {"spec": {"minAvailable": 0}}, "default")
            await world.until(lambda: allowed(world) == 1)
        await world.sim.clock.sleep(1)  # the controller sees that before it knows of the refusal
        through.set()
        await world.until(lambda: ended(world, name), timeout=3)
        assert evictions_heard(world) == 2

    in_eviction_cluster(body, evictions=())


NEVER_READY = {"sim.vacate.dev/ready-seconds": "never"}


async def long_blocked(world: World, *names: str, hours: float = 1) -> None:
    """These requests wait for so long that the next try of each is many minutes away."""
    await world.until(lambda: all(failed(world, one) for one in names))
    await world.sim.clock.sleep(hours * 3600)
    assert not any(ended(world, one) for one in names)


async def unready_pod(world: World, name: str) -> Obj:
    """A pod that runs and is not ready."""
    made = pod(name, labels=WEB, metadata={"annotations": NEVER_READY})
    await world.client.create(PODS, made, "default")
    await world.until(lambda: dig(created(world, PODS, name), "status", "phase") == "Running")
    return created(world, PODS, name)


@pytest.mark.parametrize("restarted", [False, True])
def test_an_unready_pod_goes_as_soon_as_the_others_are_healthy_enough(restarted: bool) -> None:
    """The budget allows no disruption before and after: only healthy pods count as one."""

    async def body(world: World) -> None:
        await guard(world, min_available=1)
        await unready_pod(world, "other")
        name = await request_eviction(world, await unready_pod(world, "p"))
        await long_blocked(world, name)
        if restarted:
            await world.evictions.crash()
        await world.client.delete(PODS, "other", "default")
        await running_pod(world, "healthy", labels=WEB)
        if restarted:
            await world.sim.clock.sleep(60)
            await world.evictions.start()
        await world.until(lambda: ended(world, name), timeout=15, what="the unready pod is evicted")
        assert allowed(world) == 0

    in_eviction_cluster(body)


def test_a_pod_that_becomes_unready_goes_where_the_others_are_healthy_enough() -> None:
    """Another one has become ready in the same moment, so that the budget counts as many as before."""
    counted = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2, "observedGeneration": 1}
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}

    async def body(world: World) -> None:
        await guard(world, min_available=1)
        budget = {"status": {**counted, "disruptionsAllowed": 0}}
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", budget, "default", subresource="status")
        name = await request_eviction(world, await running_pod(world, labels=WEB, node="node-1"))
        await long_blocked(world, name)
        world.pool.crash("node-1")  # it would say at once that the pod is ready
        await world.client.patch(
            PODS, "p", {"status": unready}, "default", patch_type=STRATEGIC_PATCH, subresource="status"
        )
        await world.until(lambda: terminating(created(world, PODS, "p")), timeout=15, what="it is evicted")

    in_eviction_cluster(body, controllers=())


def test_who_is_refused_by_others_does_not_keep_the_next_in_line_from_an_open_budget() -> None:
    async def body(world: World) -> None:
        names = await blocked(world, 2)
        await long_blocked(world, *names)
        refusing = RefusedPods({"p0"})
        world.network.audit = refusing
        await world.client.patch(PODDISRUPTIONBUDGETS, "web", {"spec": {"minAvailable": 1}}, "default")
        await world.until(lambda: ended(world, names[1]), timeout=15, what="the next in line is evicted")
        assert refusing.seen == ["p0"]
        assert not ended(world, names[0])

    in_eviction_cluster(body)


class RefusedPods:
    """A policy that refuses the evictions of some pods."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self.seen: list[str] = []

    async def handle(self, _link: str, server: Handler, request: Request) -> Response:
        parts = request.path.split("/")
        if parts[-1] == "eviction" and parts[-2] in self._names:
            self.seen.append(parts[-2])
            refused = Forbidden(f'pods "{parts[-2]}" is forbidden: ValidatingAdmissionPolicy denied it')
            return Response(refused.status_code, encode(to_status(refused)))
        return await server.handle(request)


def test_a_deployment_drains_through_its_budget_one_by_one() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=3)
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", max_unavailable=1), "default")
        await world.until(lambda: allowed(world) == 1)
        before = world.objects(PODS)
        names = [await request_eviction(world, one) for one in before]
        await world.until(lambda: all(ended(world, one) for one in names), timeout=120)
        await world.until(lambda: len(world.healthy_pods()) == 3)
        assert condition_of(created(world, PODDISRUPTIONBUDGETS, "web"), "DisruptionAllowed")

    in_eviction_cluster(body)
