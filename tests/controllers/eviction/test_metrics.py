"""What the controller shows of open requests, under the names that dashboards expect."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from support.simulated.evictions import (
    DRAIN,
    A,
    B,
    active,
    completed,
    ended,
    failed,
    finish,
    in_eviction_cluster,
    on_simulated_cluster,
    requested,
    status,
)
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.api.times import parse_time
from vacate.client.requests import STRATEGIC_PATCH
from vacate.metrics import LazyFamily, Metrics, exposition
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = pytest.mark.sim

OURS = "evictionrequest_controller_"


def shown(world: World, family: str = OURS) -> dict[str, float]:
    """The series of our families, as they are scraped."""
    text = b"".join(exposition(world.server.metrics.registry)).decode()
    lines = [line for line in text.splitlines() if line.startswith(family) and "#" not in line]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def ended_turns(world: World) -> dict[str, float]:
    """How many turns have ended, by their result; those that never did are left out."""
    found = shown(world, "vacate_turns_ended_total")
    return {name.split('"')[1]: number for name, number in found.items() if number}


def test_an_open_request_shows_who_asks_who_works_since_when_and_who_is_there() -> None:
    async def body(world: World) -> None:
        name = await requested(world, A, B)
        await world.until(lambda: active(world, name) == B)
        await world.sim.clock.sleep(1)
        labels = f'namespace="default",evictionrequest="{name}",pod="p"'
        began = parse_time(status(world, name)["heartbeatTime"]).timestamp()
        assert shown(world) == {
            f'{OURS}active_interceptor{{{labels},interceptor="{B}"}}': began,
            f'{OURS}active_requester{{{labels},requester="{DRAIN}"}}': 1.0,
            f"{OURS}pod_interceptors{{{labels}}}": 2.0,
        }
        await finish(world, name)
        await world.until(lambda: active(world, name) == A)
        await finish(world, name)
        await completed(world, name)
        await world.sim.clock.sleep(1)
        assert shown(world) == {}
        assert shown(world, "vacate_evictions_total") == {
            'vacate_evictions_total{result="accepted"}': 1.0,
            'vacate_evictions_total{result="refused"}': 0.0,
            'vacate_evictions_total{result="failed"}': 0.0,
        }
        assert ended_turns(world) == {"completed": 2.0}

    on_simulated_cluster(body)


def test_an_interceptor_whose_turn_has_ended_is_not_shown_as_active() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        name = await requested(world, A, seconds=600, labels={"app": "web"})
        runs, form = {"status": {"phase": "Running"}}, STRATEGIC_PATCH
        await world.client.patch(PODS, "p", runs, "default", patch_type=form, subresource="status")
        await world.until(lambda: active(world, name) == A)
        await world.sim.clock.sleep(1)
        assert shown(world, f"{OURS}active_interceptor")
        await world.until(lambda: ended_turns(world), timeout=700)
        await world.sim.clock.sleep(5)
        assert active(world, name) == A  # blocked by its budget, and a late heartbeat would still count
        assert shown(world, f"{OURS}active_interceptor") == {}
        assert ended_turns(world) == {"never-responded": 1.0}

    on_simulated_cluster(body)


def test_refusals_are_counted_for_the_request_and_in_total() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        name = await requested(world, labels={"app": "web"})
        await world.until(lambda: failed(world, name) == 3)
        await world.sim.clock.sleep(1)
        labels = f'namespace="default",evictionrequest="{name}",pod="p"'
        assert shown(world, OURS + "evictions") == {f'{OURS}evictions{{{labels},result="refused"}}': 3.0}
        assert shown(world, "vacate_evictions_total")['vacate_evictions_total{result="refused"}'] == 3.0
        # A controller that starts again shows the same series once; what the request records is kept.
        await world.restart(world.evictions)
        assert shown(world, OURS + "evictions") == {f'{OURS}evictions{{{labels},result="refused"}}': 3.0}
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await world.until(lambda: ended(world, name))
        await world.sim.clock.sleep(1)
        assert shown(world) == {}

    in_eviction_cluster(body)


def test_the_work_queue_is_called_after_the_resource() -> None:
    async def body(world: World) -> None:
        await completed(world, await requested(world))
        found = {
            sample.name
            for family in world.server.metrics.registry.collect()
            for sample in family.samples
            if sample.labels.get("name") == "evictionrequests" and not sample.name.endswith("_created")
        }
        assert {name for name in found if not name.endswith(("_bucket", "_sum", "_count"))} == {
            "workqueue_depth",
            "workqueue_adds_total",
            "workqueue_retries_total",
            "workqueue_unfinished_work_seconds",
        }
        assert {"workqueue_queue_duration_seconds_count", "workqueue_work_duration_seconds_count"} <= found

    on_simulated_cluster(body)


def test_pieces_of_an_exposition_say_what_the_whole_says() -> None:
    metrics = Metrics()
    metrics.evictions.labels("accepted").inc()
    odd = 'a "quoted\\ and\nbroken'
    points = [((("pod", f"p{number}"), ("text", odd)), float(number)) for number in range(1203)]
    metrics.show("x", _One(LazyFamily("things", "Things.", "gauge", lambda: iter(points))))
    whole = generate_latest(metrics.registry).decode()
    pieces = list(exposition(metrics.registry))
    assert len(pieces) > 3 + len(points) / 500
    assert sorted(b"".join(pieces).decode().splitlines()) == sorted(whole.splitlines())


def test_a_collector_replaces_the_one_of_its_name() -> None:
    metrics = Metrics(CollectorRegistry())
    for value in (1.0, 2.0):
        points = [((), value)]
        metrics.show("x", _One(LazyFamily("things", "Things.", "gauge", lambda them=points: iter(them))))  # type: ignore[misc]
    assert generate_latest(metrics.registry).decode().splitlines()[-1] == "things 2.0"


class _One:
    def __init__(self, family: LazyFamily) -> None:
        self._family = family

    def collect(self) -> list[LazyFamily]:
        return [self._family]
