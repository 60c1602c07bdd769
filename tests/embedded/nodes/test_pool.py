"""Simulated nodes against the embedded server, in virtual time."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from support.simulated.clusters import SLOW, on_nodes
from vacate.api.kinds import EVENTS, LEASES, NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions
from vacate.api.times import parse_time
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import NEVER, PodTimings
from vacate.sim.cluster import World
from vacate.sim.history import shared_addresses
from vacate.testing import pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]


def phase(world: World, name: str) -> str | None:
    found = world.find(PODS, name, "default")
    return None if found is None else dig(found, "status", "phase")


def ready(world: World, name: str) -> bool:
    return name in [one["metadata"]["name"] for one in world.healthy_pods()]


async def run_pod(world: World, name: str, node: str = "node-1", **overrides: Any) -> Obj:
    made = await world.client.create(PODS, pod(name, node=node, **overrides), "default")
    await world.until(lambda: ready(world, name), what=f"{name} is ready")
    return made


def seconds(world: World) -> float:
    return world.sim.loop.time()


def test_nodes_register_themselves_and_hold_their_leases(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await world.until(lambda: len(world.objects(LEASES, "kube-node-lease")) == 3)
        node = world.find(NODES, "node-2")
        assert node is not None
        assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "zone-b"
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-2"
        assert {one["type"]: one["status"] for one in node["status"]["conditions"]}["Ready"] == "True"
        assert node["status"]["allocatable"]["pods"] == "110"
        assert node["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.")
        lease = world.find(LEASES, "node-2", "kube-node-lease")
        assert lease is not None
        assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]

    on_nodes(body, sim_seed)


@pytest.mark.thorough
def test_a_lease_is_renewed_in_time_by_one_write_each(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await world.settle()
        before = world.server.store.revision
        asked = requests(world)
        await world.sim.clock.sleep(3600)
        beats = world.server.store.revision - before
        assert 3 * 3600 / 10.4 - 3 <= beats <= 3 * 3600 / 10
        assert requests(world) - asked == beats
        lease = world.find(LEASES, "node-1", "kube-node-lease")
        assert lease is not None
        age = world.sim.clock.now() - parse_time(lease["spec"]["renewTime"])
        assert age.total_seconds() < 10.5

    on_nodes(body, sim_seed, measured=True)


def requests(world: World) -> float:
    """How many requests were answered so far, watches aside."""
    return sum(
        sample.value
        for metric in world.server.metrics.requests.collect()
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.labels["verb"] not in ("WATCH", "watch")
    )


def test_a_pod_starts_becomes_ready_and_stops_at_its_times(sim_seed: int) -> None:
    async def body(world: World) -> None:
        began = seconds(world)
        await run_pod(world, "web")
        assert seconds(world) - began == pytest.approx(7, abs=0.5)
        asked = seconds(world)
        await world.client.delete(PODS, "web", "default")
        await world.until(lambda: phase(world, "web") is None)
        assert seconds(world) - asked == pytest.approx(3, abs=0.5)

    on_nodes(body, sim_seed, timings=PodTimings(start=2, ready=5, stop=3))


def test_annotations_of_a_pod_come_before_the_defaults(sim_seed: int) -> None:
    async def body(world: World) -> None:
        began = seconds(world)
        slow = {"annotations": {"sim.vacate.dev/start-seconds": "60", "sim.vacate.dev/ready-seconds": "30"}}
        await run_pod(world, "slow", metadata=slow)
        assert seconds(world) - began == pytest.approx(90, abs=0.5)

    on_nodes(body, sim_seed)


def last_states(world: World, name: str) -> list[Obj]:
    return [orjson.loads(one.value) for one in world.server.log.records.values() if one.name == name]


def test_the_end_of_a_pod_is_written_before_it_is_removed(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web")
        await world.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=5))
        await world.until(lambda: phase(world, "web") is None)
        last = last_states(world, "web")[-1]
        ended = last["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (137, "Error")
        assert last["status"]["phase"] == "Failed"

    on_nodes(body, sim_seed, timings=PodTimings(stop=NEVER))


# The server turns a grace period that is over already into one second.
@pytest.mark.parametrize(("second", "gone"), [(300, 400), (10, 101)])
def test_a_second_shorter_grace_period_is_respected(second: int, gone: int, sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web")
        asked = seconds(world)
        await world.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=600))
        await world.sim.clock.sleep(100)
        await world.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=second))
        await world.until(lambda: phase(world, "web") is None)
        assert seconds(world) - asked == pytest.approx(gone, abs=1)

    on_nodes(body, sim_seed, timings=PodTimings(stop=NEVER))


def test_a_pod_removed_by_force_is_forgotten_and_its_successor_lives(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web")
        await world.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=0))
        made = await run_pod(world, "web")
        found = world.find(PODS, "web", "default")
        assert found is not None
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        await world.settle()
        assert ready(world, "web")

    on_nodes(body, sim_seed, latency=SLOW)


def test_finalizers_hold_a_stopped_pod_and_the_node_does_not_delete_it_again(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web", metadata={"finalizers": ["example.com/hold"]})
        await world.client.delete(PODS, "web", "default")
        await world.until(lambda: phase(world, "web") == "Succeeded")
        await world.settle()
        before = len(last_states(world, "web"))
        await world.sim.clock.sleep(600)
        assert len(last_states(world, "web")) == before
        await world.client.patch(PODS, "web", {"metadata": {"finalizers": None}}, "default")
        await world.until(lambda: phase(world, "web") is None)

    on_nodes(body, sim_seed)


@pytest.mark.parametrize(
    ("policy", "code", "end"),
    [("Never", 0, "Succeeded"), ("OnFailure", 0, "Succeeded"), ("Never", 2, "Failed")],
)
def test_pods_that_end_by_themselves(policy: str, code: int, end: str) -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("job", node="node-1", spec={"restartPolicy": policy}), "default")
        await world.until(lambda: phase(world, "job") == end)
        await world.client.delete(PODS, "job", "default")
        await world.until(lambda: phase(world, "job") is None, timeout=2)

    on_nodes(body, timings=PodTimings(run=30, exit_code=code))


def test_a_pod_that_fails_again_and_again_is_restarted_with_pauses() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("crash", node="node-1"), "default")
        await world.sim.clock.sleep(3600)
        found = world.find(PODS, "crash", "default")
        assert found is not None
        status = found["status"]["containerStatuses"][0]
        # 0, 10, 20, 40, 80, 160 and then 300 seconds between runs of 5 seconds.
        assert status["restartCount"] == 16
        reasons = {one["reason"] for one in world.objects(EVENTS, "default")}
        assert {"Started", "BackOff"} <= reasons

    on_nodes(body, timings=PodTimings(start=0, run=5, exit_code=1))


def test_pods_outlive_the_node_process_and_a_termination_begins_anew(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "stays")
        await run_pod(world, "goes")
        before = last_states(world, "stays")[-1]
        asked = seconds(world)
        await world.client.delete(PODS, "goes", "default", DeleteOptions(grace_period_seconds=60))
        await world.sim.clock.sleep(40)
        await world.restart(world.nodes, down=10)
        await world.until(lambda: phase(world, "goes") is None)
        assert seconds(world) - asked == pytest.approx(110, abs=3)
        assert last_states(world, "stays")[-1] == before

    on_nodes(body, sim_seed, timings=PodTimings(stop=NEVER))


def test_one_node_process_restarts_alone(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web", node="node-2")
        world.pool.stop("node-2")
        await world.client.delete(PODS, "web", "default")
        await world.sim.clock.sleep(300)
        assert phase(world, "web") == "Running"
        world.pool.start("node-2")
        await world.until(lambda: phase(world, "web") is None, timeout=5)

    on_nodes(body, sim_seed)


def test_containers_restart_after_a_crash_of_their_node(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web", node="node-2")
        world.pool.crash("node-2")
        await world.sim.clock.sleep(300)
        world.pool.start("node-2")
        await world.until(lambda: restarts(world, "web") == 1)
        await world.until(lambda: ready(world, "web"))
        await world.restart(world.nodes)
        await world.settle()
        assert restarts(world, "web") == 1

    on_nodes(body, sim_seed)


def restarts(world: World, name: str) -> int:
    found = world.find(PODS, name, "default")
    assert found is not None
    return int(found["status"]["containerStatuses"][0]["restartCount"])


def test_an_isolated_node_knows_nothing_until_it_is_back(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web", node="node-3")
        world.pool.isolate("node-3")
        await world.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=20))
        await world.sim.clock.sleep(600)
        assert phase(world, "web") == "Running"
        back = seconds(world)
        world.pool.rejoin("node-3")
        await world.until(lambda: phase(world, "web") is None)
        assert seconds(world) - back == pytest.approx(20, abs=1)

    on_nodes(body, sim_seed, timings=PodTimings(stop=NEVER))


def test_a_deleted_node_registers_again(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await world.settle()
        old = world.find(NODES, "node-1")
        assert old is not None
        await world.client.delete(NODES, "node-1")
        await world.until(lambda: world.find(NODES, "node-1"))
        new = world.find(NODES, "node-1")
        assert new is not None
        assert new["metadata"]["uid"] != old["metadata"]["uid"]

    on_nodes(body, sim_seed)


def test_a_node_that_someone_called_unready_says_that_it_is_well(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await world.settle()
        doubt = {
            "status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}
        }
        strategic = "application/strategic-merge-patch+json"
        await world.client.patch(NODES, "node-1", doubt, patch_type=strategic, subresource="status")
        await world.until(lambda: node_ready(world, "node-1"), timeout=5)

    on_nodes(body, sim_seed)


def node_ready(world: World, name: str) -> bool:
    conditions = dig(world.find(NODES, name), "status", "conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def test_addresses_are_never_shared(sim_seed: int) -> None:
    async def body(world: World) -> None:
        for number in range(30):
            made = pod(f"web-{number}", node=f"node-{number % 3 + 1}")
            await world.client.create(PODS, made, "default")
            if number % 4 == 3:
                await world.client.delete(PODS, f"web-{number - 2}", "default")
        await world.restart(world.nodes)
        await world.settle()
        assert not list(shared_addresses(world.server.log.records.values()))
        addresses = [one["status"]["podIP"] for one in world.healthy_pods()]
        assert len(set(addresses)) == len(addresses) == 23

    on_nodes(body, sim_seed)


def test_a_settled_pod_is_not_written_again(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web")
        await world.settle()
        writes = len(last_states(world, "web"))
        await world.client.patch(PODS, "web", {"metadata": {"labels": {"a": "b"}}}, "default")
        await world.restart(world.nodes)
        await world.settle()
        assert len(last_states(world, "web")) == writes + 1

    on_nodes(body, sim_seed)


def test_a_cut_link_heals_and_nothing_is_lost(sim_seed: int) -> None:
    async def body(world: World) -> None:
        await run_pod(world, "web")
        world.network.cut("nodes")
        await world.client.delete(PODS, "web", "default")
        await world.client.create(PODS, pod("next", node="node-1"), "default")
        await world.sim.clock.sleep(900)
        assert phase(world, "web") == "Running"
        world.network.mend("nodes")
        await world.until(lambda: phase(world, "web") is None and ready(world, "next"))

    on_nodes(body, sim_seed, node=NodeSettings())
