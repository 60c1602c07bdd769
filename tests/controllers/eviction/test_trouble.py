"""Restarts, outages, two controllers at once, and a controller that has nothing to do."""

from __future__ import annotations

import datetime as dt

import pytest

from support.matrix.place import Refusal
from support.matrix.simulated import Refusals
from support.simulated.evictions import (
    DRAIN,
    A,
    B,
    C,
    active,
    completed,
    ended,
    evictions_heard,
    failed,
    finish,
    found,
    heard,
    heartbeat,
    in_eviction_cluster,
    on_simulated_cluster,
    request_eviction,
    requested,
    running_pod,
    stage,
    turns,
)
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.times import parse_time
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.sim.faults.transport import RequestFaultRates
from vacate.testing import pod
from vacate.wiring.components import component_manager
from vacate.wiring.controllers import enabled

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]


def test_a_restart_at_any_point_resumes_where_the_request_says() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, C, seconds=600)
        for expected in (C, B, A):
            await world.until(lambda who=expected: active(world, name) == who)  # type: ignore[misc]
            await world.restart(world.evictions)
            await world.sim.clock.sleep(5)
            assert active(world, name) == expected
            await finish(world, name)
            await world.restart(world.evictions, down=0.01)
        assert await completed(world, name) == "PodDeleted"
        assert turns(world, name) == [C, B, A]
        assert evictions_heard(world) == 1

    on_simulated_cluster(body)


def test_an_outage_of_the_server_is_not_the_silence_of_interceptors() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=1000)
        await world.until(lambda: active(world, name) == B)
        await world.sim.clock.sleep(500)
        await world.restart_server(down=800)
        back = world.sim.clock.now()
        await world.sim.clock.sleep(95)
        assert active(world, name) == B
        await world.until(lambda: active(world, name) == A, timeout=60)
        assert world.sim.clock.now() - back >= dt.timedelta(seconds=100)

    on_simulated_cluster(body)


def test_a_cut_link_is_not_the_silence_of_interceptors() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=1000)
        await world.until(lambda: active(world, name) == B)
        began = parse_time(found(world, name)["status"]["heartbeatTime"])
        await world.sim.clock.sleep(990)
        world.network.cut("evictions")
        await world.sim.clock.sleep(40)
        world.network.mend("evictions")
        await world.sim.clock.sleep(50)
        assert active(world, name) == B
        await heartbeat(world, name)
        await world.sim.clock.sleep(900)
        assert turns(world, name) == [B]
        assert world.sim.clock.now() - began > dt.timedelta(seconds=1900)

    on_simulated_cluster(body)


def test_a_controller_that_starts_late_gives_interceptors_a_tenth_of_the_deadline() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B, seconds=1000)
        await world.until(lambda: active(world, name) == B)
        await world.evictions.crash()
        await world.sim.clock.sleep(5000)
        await world.evictions.start()
        began = world.sim.clock.now()
        await world.sim.clock.sleep(90)
        assert active(world, name) == B
        await heartbeat(world, name)
        await world.sim.clock.sleep(990)
        assert active(world, name) == B
        await world.until(lambda: active(world, name) == A, timeout=60)
        assert world.sim.clock.now() - began > dt.timedelta(seconds=1080)

    on_simulated_cluster(body)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("seed", range(3))
def test_two_controllers_at_once_skip_nobody_and_hand_over_once(seed: int) -> None:
    async def body(world: World) -> None:
        await world.start(
            "rival",
            lambda link, around: component_manager(link, "rival", enabled(around.gates), around, PROJECTIONS),
            EVICTION_CONTROLLER,
        )
        names = []
        for number in range(4):
            target = await running_pod(world, f"p{number}", interceptors=[A, B, C])
            names.append(await request_eviction(world, target, seconds=600))
        for expected in (C, B):
            for name in names:
                await world.until(lambda one=name, who=expected: active(world, one) == who)  # type: ignore[misc]
                await finish(world, name)
        for name in names:
            assert await completed(world, name, 1200) == "PodDeleted"
            assert turns(world, name) == [C, B, A]

    on_simulated_cluster(body, seed)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("seed", range(3))
def test_requests_end_well_over_a_bad_network(seed: int) -> None:
    async def body(world: World) -> None:
        names = []
        for number in range(5):
            target = await running_pod(world, f"p{number}", interceptors=[A, B])
            names.append(await request_eviction(world, target, seconds=600))
        await world.until(lambda: all(ended(world, name) for name in names), timeout=7200)
        assert all(turns(world, name) == [B, A] for name in names)

    bad = RequestFaultRates(
        delay=0.5, lost=0.05, unanswered=0.05, refused=0.05, cut=0.2, stall=0.02, repeat=0.1
    )
    on_simulated_cluster(body, seed, chances=bad)


@pytest.mark.thorough
def test_at_rest_a_thousand_open_requests_cost_no_lists_and_no_writes() -> None:
    async def body(world: World) -> None:
        for number in range(1000):
            await request_eviction(
                world, await running_pod(world, f"p{number}", interceptors=[A]), seconds=86400
            )
        await world.settle()
        assert set(actives(world)) == {A}
        before = {verb: heard(world, verb) for verb in ("list", "get", "patch", "create")}
        requests_written = written_requests(world)
        await world.sim.clock.sleep(86000)
        after = {verb: heard(world, verb) for verb in before}
        assert after == before
        assert written_requests(world) == requests_written

    on_simulated_cluster(body, latency=(0.0, 0.0), disk=(0.0, 0.0))


def actives(world: World) -> list[str]:
    return [one.get("status", {}).get("activeInterceptorName", "") for one in world.objects(EVICTIONREQUESTS)]


def written_requests(world: World) -> int:
    records = world.server.log.records.values()
    return sum(record.resource == EVICTIONREQUESTS.resource for record in records)


def test_with_the_gate_closed_nothing_runs() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("p"), "default")
        await world.until(lambda: len(world.healthy_pods()) == 1)
        assert heard(world, resource="evictionrequests") == 0

    in_eviction_cluster(body, gates=parse_feature_gates("EvictionRequestAPI=false"))


def test_a_pod_deleted_while_the_controller_was_away_completes_the_request() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A)
        await world.until(lambda: active(world, name) == A)
        await world.evictions.crash()
        await world.client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0))
        await world.evictions.start()
        assert await completed(world, name) == "PodDeleted"
        assert heard(world, "get", "pods") == 1

    on_simulated_cluster(body)


def test_an_observed_deletion_spares_the_look_at_the_server() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A)
        await world.until(lambda: active(world, name) == A)
        await world.client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0))
        assert await completed(world, name) == "PodDeleted"
        assert heard(world, "get", "pods") == 0

    on_simulated_cluster(body)


def test_a_request_that_vanishes_with_its_pod_is_forgotten() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world)
        owner: Obj = {
            "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": target["metadata"]["uid"],
            "blockOwnerDeletion": False,
        }  # fmt: skip
        name = await request_eviction(world, target, DRAIN, ownerReferences=[owner])
        await world.until(lambda: world.find(EVICTIONREQUESTS, name, "default") is None, timeout=120)
        await world.settle()
        assert world.find(PODS, "p", "default") is None
        assert stage_at_end(world, name) in ("", "Complete")

    in_eviction_cluster(body)


def stage_at_end(world: World, name: str) -> str:
    return stage(world, name) if world.find(EVICTIONREQUESTS, name, "default") else ""


def test_what_a_webhook_refuses_is_tried_again_every_fifteen_seconds() -> None:
    """No watch shows that a webhook or a policy is gone; also for a controller that starts meanwhile."""

    async def body(world: World) -> None:
        refusals = Refusals()
        world.network.audit = refusals
        refusals.active.append(Refusal("webhook", "POST", PODS, "eviction"))
        name = await requested(world)
        await world.until(lambda: failed(world, name) >= 8, 150.0)
        await world.restart(world.evictions)
        began = world.sim.loop.time()
        await world.until(lambda: failed(world, name) >= 10, 40.0)
        assert world.sim.loop.time() - began > 12.0  # no faster than that either
        refusals.active.clear()
        assert await completed(world, name, 25.0) in ("PodDeleted", "PodTerminated")

    in_eviction_cluster(body)
