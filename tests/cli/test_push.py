"""`vacate retry` and `vacate skip`: what they write, whom they push, and what they say instead."""

from __future__ import annotations

import json

import click
import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A, B, finish, found, request_eviction, running_pod, status
from support.simulated.maintenances import drain, phase, web
from support.simulated.workloads import events_of
from vacate.api.kinds import NODEMAINTENANCES, PODDISRUPTIONBUDGETS, PODS
from vacate.cli.common.connection import Cluster
from vacate.cli.push import Retrying, pushed, retried, skip_turn
from vacate.errors import ConfigError, NotFound
from vacate.sim.cluster import World
from vacate.testing import pdb


def cluster(world: World) -> Cluster:
    return Cluster(world.client, "default", world.sim.clock)


def refusals(world: World, uid: str) -> int:
    counted = status(world, uid).get("podEvictionStatus") or {}
    return int(counted.get("failedAPIEvictionCounter", 0))


async def refused_again(world: World, uid: str, before: int) -> None:
    await world.until(lambda: refusals(world, uid) > before, 5.0)


@pytest.mark.sim
def test_a_pod_a_node_and_a_drain_are_tried_again() -> None:
    async def body(world: World) -> None:
        await web(world, 1)
        await world.client.create(
            PODDISRUPTIONBUDGETS, pdb("web", min_available=1, selector={"app": "web"}), "default"
        )
        (pod,) = world.objects(PODS, "default")
        name, uid, node = pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"]["nodeName"]
        await drain(world, node)
        await world.until(lambda: phase(world) == "Blocked")
        await world.until(lambda: refusals(world, uid) >= 6, 3600.0)  # the next attempt is minutes away
        says = {
            name: f"pod/{name} is tried again",
            f"node/{node}": f"node/{node}: 1 eviction is tried again",
            node: f"node/{node}: 1 eviction is tried again",
            "drain/kernel": "nodemaintenance/kernel: 1 eviction is tried again",
        }
        for target, expected in says.items():
            before = refusals(world, uid)
            assert await Retrying(cluster(world)).retry(target) == expected
            await refused_again(world, uid, before)
        assert phase(world) == "Blocked"  # the drain goes on
        assert world.find(NODEMAINTENANCES, "kernel") is not None
        await world.until(lambda: bool(events_of(world, uid, "RetryRequested")))
        refusals_of = {
            "nothing": "there is no pod nothing in namespace default, no node and no drain of that name",
            "node/nothing": "there is no node nothing; see: kubectl get nodes",
            "drain/nothing": "there is no NodeMaintenance nothing; see: kubectl get nodemaintenances",
        }
        for target, expected in refusals_of.items():
            with pytest.raises(ConfigError, match=expected):
                await Retrying(cluster(world)).retry(target)
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await world.until(lambda: phase(world) == "Drained", 600.0)
        for target in (f"node/{node}", node, "drain/kernel"):
            with pytest.raises(ConfigError, match="has no eviction that is blocked"):
                await Retrying(cluster(world)).retry(target)

    in_world(body)


@pytest.mark.sim
def test_a_dead_interceptor_is_skipped_and_named_by_retry() -> None:
    async def body(world: World) -> None:
        uid = await request_eviction(world, await running_pod(world, interceptors=[B, A]))
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        with pytest.raises(
            ConfigError, match=f"waits for interceptor {A}; to end its turn: .* skip p {A} -n"
        ):
            await Retrying(cluster(world)).retry("p")
        with pytest.raises(ConfigError, match=f"has no interceptor x.example.com; it has {A} and {B}"):
            await skip_turn(cluster(world), "p", "x.example.com")
        assert await skip_turn(cluster(world), "p", B) == f"pod/p interceptor {B} is skipped: it gets no turn"
        await finish(world, uid)
        await world.until(lambda: world.find(PODS, "p", "default") is None, 120.0)
        with pytest.raises((ConfigError, NotFound)):
            await skip_turn(cluster(world), "p", A)

    in_world(body)


@pytest.mark.sim
def test_two_interceptors_are_skipped_one_after_the_other() -> None:
    async def body(world: World) -> None:
        uid = await request_eviction(world, await running_pod(world, interceptors=[B, A]))
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == A)
        await skip_turn(cluster(world), "p", A)
        await world.until(lambda: status(world, uid).get("activeInterceptorName") == B, 60.0)
        assert found(world, uid)["metadata"]["annotations"]["vacate.dev/skip"] == A
        await skip_turn(cluster(world), "p", B)
        await world.until(lambda: world.find(PODS, "p", "default") is None, 120.0)

    in_world(body)


@pytest.mark.unit
@pytest.mark.parametrize("text", ["deployment/web", "A", "node/"])
def test_what_cannot_be_tried_again_is_a_usage_error(text: str) -> None:
    with pytest.raises(click.BadParameter):
        retried(text)


@pytest.mark.unit
@pytest.mark.parametrize(
    "text", ["web-1", "po/web-1", "no/a", "drain/a", "nm/a", "nodemaintenance.vacate.dev/a"]
)
def test_what_is_tried_again_may_have_a_type(text: str) -> None:
    assert retried(text) == text


@pytest.mark.unit
async def test_results_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    async def act(target: str) -> str:
        if target == "b":
            raise ConfigError("there is no eviction request for pod b")
        return "pod/a is tried again"

    assert await pushed(("a", "b"), act, "json") == [0, 1]
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [
        {"target": "a", "done": True, "message": "pod/a is tried again"},
        {"target": "b", "done": False, "message": "there is no eviction request for pod b"},
    ]
    assert err == ""
