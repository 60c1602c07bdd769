"""Whatever goes past a budget or an interceptor is on record: on the pod, in each status and in the metric.

`vacate drain` and `vacate evict` print it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from support.matrix.place import Refusal
from support.matrix.simulated import SimulatedPlace
from support.simulated.clusters import in_world
from support.simulated.evictions import A
from support.simulated.statefulsets import is_whole
from support.simulated.workloads import condition_of, events_of, history
from vacate.api.kinds import NODEMAINTENANCES, PODDISRUPTIONBUDGETS, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.workloads import DELETE_PREPARED
from vacate.cli.common.connection import Cluster
from vacate.cli.drain.start import DrainOptions, StartedDrain, start_drain
from vacate.cli.evict.eviction import Eviction, EvictOptions
from vacate.cli.evict.selection import Selection
from vacate.entropy import seeded_entropy
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.model import Limits
from vacate.eviction.registration import PREFIXES
from vacate.features import parse_feature_gates
from vacate.sdk import Requester
from vacate.sim.cluster import World
from vacate.testing import pdb, statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]

LONG = dt.timedelta(hours=1)
POD = "default/db-0"


@dataclass(frozen=True)
class Way:
    """A way past what protects a pod, and what is said about it."""

    cause: str  # as the metric names it
    event: str
    outcome: str
    reason: str = ""  # of the request's condition; none where the request does not know
    completes: bool = False  # the interceptor completes its turn
    annotations: dict[str, str] = field(default_factory=dict)  # of the workload
    spec: dict[str, Any] = field(default_factory=dict)  # of the drain
    settings: dict[str, Any] = field(default_factory=dict)
    dialect: Dialect = EVICTION_REQUEST


PREPARED = Way(
    "prepared",
    "DeletedPastBudget",
    "deleted past its own disruption budget: it was prepared, and its owner allows that",
    reason="DeletedWhenPrepared",
    completes=True,
    annotations={DELETE_PREPARED: "true"},
)
LIMIT = Way(
    "limit",
    "LimitReached",
    "evicted past its interceptors: an administrator's limit was reached",
    reason="LimitReached",
    settings={"limits": Limits(duration=dt.timedelta(minutes=5))},
)
DEADLINE = Way(
    "deadline",
    "DeletedAtDeadline",
    "removed past its disruption budgets or interceptors",
    spec={"deadlineSeconds": 60, "onDeadline": "Delete"},
)
EVACUATED = replace(
    PREPARED, dialect=EVACUATION, settings={"gates": parse_feature_gates("EvacuationAPI=true")}
)
NAMED = {"prepared": PREPARED, "limit": LIMIT, "deadline": DEADLINE, "evacuated": EVACUATED}
WAYS = [pytest.param(way, id=name) for name, way in NAMED.items()]


async def member(world: World, way: Way) -> Obj:
    """The only member of a StatefulSet, with an interceptor; behind a budget where its owner says so."""
    turn = {f"{PREFIXES[way.dialect is EVACUATION]}/priority_{A}": "20000"}
    made = statefulset(
        "db",
        replicas=1,
        template={"metadata": {"annotations": turn}},
        metadata={"annotations": way.annotations},
    )
    await world.client.create(STATEFULSETS, made, "default")
    await world.until(lambda: is_whole(world, 1))
    if way.annotations:
        budget = pdb("db", min_available=1, selector={"app": "db"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
    (pod,) = world.objects(PODS, "default")
    return pod


def request_of(world: World, pod: Obj, way: Way) -> Obj:
    name = way.dialect.request_name("db-0", pod["metadata"]["uid"])
    return world.find(way.dialect.kind, name, "default") or {}


async def interceptor(world: World, pod: Obj, way: Way) -> None:
    field = "activeInterceptorName" if way.dialect is EVICTION_REQUEST else "activeEvacuatorClass"
    await world.until(lambda: request_of(world, pod, way).get("status", {}).get(field) == A, 60.0)
    if way.completes:
        done = way.dialect.status_patch({"status": {"activeInterceptorCompleted": True}})
        name = request_of(world, pod, way)["metadata"]["name"]
        await world.client.patch(way.dialect.kind, name, done, "default", subresource="status")


async def drain(world: World, cluster: Cluster, pod: Obj, way: Way) -> None:
    spec = {"pods": {"daemonSetPods": "Ignore"}, **way.spec}
    options = DrainOptions((pod["spec"]["nodeName"],), "", spec, False, False, LONG, "")
    await start_drain(cluster, options, StartedDrain())
    (found,) = world.objects(NODEMAINTENANCES)
    status = found["status"]
    assert (status["podsForced"], status["nodes"][0]["podsForced"]) == (1, 1)
    assert status["nodes"][0]["forcedPods"] == [POD]


async def evict(_world: World, cluster: Cluster, _pod: Obj, _way: Way) -> None:
    requester = Requester(cluster.client, A, clock=cluster.clock, entropy=seeded_entropy(1))
    await Eviction(cluster, requester, EvictOptions(wait=True, timeout=LONG)).run(("db-0",), Selection())


Command = Callable[[World, Cluster, Obj, Way], Awaitable[None]]


def run(command: Command, way: Way, meanwhile: Callable[[World, Obj], Awaitable[None]] | None = None) -> None:
    async def body(world: World) -> None:
        pod = await member(world, way)
        cluster = Cluster(world.client_of("user"), "default", world.sim.clock)
        others = [world.sim.loop.create_task(interceptor(world, pod, way))]
        if meanwhile is not None:
            others.append(world.sim.loop.create_task(meanwhile(world, pod)))
        await command(world, cluster, pod, way)
        for one in others:
            await one
        versions = [
            one
            for gone, one in history(world, way.dialect.kind)
            if not gone and one["metadata"]["name"].startswith(pod["metadata"]["uid"])
        ]
        assert condition_of(versions[-1], "Forced", "reason") == way.reason
        uid = pod["metadata"]["uid"]
        pods = [one["metadata"] for _, one in history(world, PODS) if one["metadata"]["uid"] == uid]
        assert {one.get("reason") for one in pods if "deletionTimestamp" in one} == {"Eviction"}
        if meanwhile is None:  # a process that is killed takes its metrics, and Events that wait, with it
            await world.until(lambda: bool(events_of(world, "db-0", way.event)))
            counted = world.server.metrics.registry.get_sample_value(
                "vacate_bypasses_total", {"cause": way.cause}
            )
            assert counted == 1

    in_world(body, measured=True, **way.settings)


@pytest.mark.parametrize("way", WAYS)
def test_a_drain_has_it_on_record_and_says_it(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    run(drain, way)
    assert f"pod/{POD} {way.outcome}" in capsys.readouterr().out


@pytest.mark.parametrize("way", WAYS[:2])
def test_an_eviction_says_it(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    run(evict, way)
    assert f"pod/db-0 {way.outcome}" in capsys.readouterr().out


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize("moment", ["recorded", "terminating"])
def test_a_manager_that_is_killed_meanwhile_counts_it_once(way: Way, moment: str) -> None:
    async def restart(world: World, pod: Obj) -> None:
        def reached() -> bool:
            uid, request = pod["metadata"]["uid"], request_of(world, pod, way)
            found = world.find(PODS, "db-0", "default") or {}
            leaves = found.get("metadata", {}).get("uid") == uid and "deletionTimestamp" in found["metadata"]
            return leaves if moment == "terminating" else condition_of(request, "Forced") == "True"

        await world.until(reached, 600.0)
        await world.restart(world.evictions, 1.0)

    run(drain, way, restart)


def test_a_deletion_that_is_refused_is_no_way_past(capsys: pytest.CaptureFixture[str]) -> None:
    async def refuse(world: World, pod: Obj) -> None:
        place = SimulatedPlace(world)
        await place.refuse(Refusal("policy", "DELETE", PODS))
        await world.until(lambda: condition_of(request_of(world, pod, PREPARED), "Forced") == "False", 60.0)
        (found,) = world.objects(NODEMAINTENANCES)
        assert found["status"].get("podsForced", 0) == 0
        await place.allow()

    run(drain, PREPARED, refuse)
    assert "was refused" in capsys.readouterr().out
