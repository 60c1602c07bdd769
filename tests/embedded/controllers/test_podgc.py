"""Pod GC: which pods go without their node, and above all which do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.simulated.workloads import condition_of, created, in_world, node_of, running, writes
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Node, Pod
from vacate.api.types.core import NodeSpec, NodeStatus, Taint
from vacate.api.types.meta import Condition
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.embedded.controllers.podgc.controller import PodGarbageCollector, surplus
from vacate.runtime.dependencies import Dependencies
from vacate.sim.cluster import World
from vacate.testing import pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


def on(world: World, node: str) -> list[str]:
    return [one["metadata"]["name"] for one in world.objects(PODS) if node_of(one) == node]


async def _lose(world: World, node: str = "node-1") -> str:
    """A node that is cut off and holds one pod, which has begun to terminate."""
    await running(world, replicas=3)
    world.pool.isolate(node)
    (lost,) = on(world, node)
    await world.client.delete(PODS, lost, "default")
    return lost


def test_pods_of_a_deleted_node_go_after_a_quarantine_and_say_why() -> None:
    async def body(world: World) -> None:
        lost = await _lose(world)
        await world.sim.clock.sleep(600)
        assert lost in on(world, "node-1")  # no one has declared the node gone for good
        await world.client.delete(NODES, "node-1")
        await world.sim.clock.sleep(35)
        assert lost in on(world, "node-1")
        seen: list[Obj] = []
        await world.until(lambda: _gone(world, lost, seen), timeout=20)
        assert condition_of(seen[-1], "DisruptionTarget", "reason") == "DeletionByPodGC"
        assert seen[-1]["status"]["phase"] == "Failed"

    in_world(body)


def _gone(world: World, name: str, seen: list[Obj]) -> bool:
    found = world.find(PODS, name, "default")
    if found is not None:
        seen.append(found)
    return found is None


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async def body(world: World) -> None:
        await running(world, replicas=3)
        kept = on(world, "node-1")
        world.pool.isolate("node-1")
        await world.client.delete(NODES, "node-1")
        await world.sim.clock.sleep(30)
        world.pool.rejoin("node-1")
        await world.sim.clock.sleep(300)
        assert on(world, "node-1") == kept

    in_world(body)


def test_a_node_that_only_the_cache_misses_keeps_its_pods() -> None:
    """The live look: the node was created again, and its arrival is on its way."""

    async def body(world: World) -> None:
        await running(world, replicas=3)
        kept = on(world, "node-1")
        world.pool.isolate("node-1")
        await world.client.delete(NODES, "node-1")
        await world.sim.clock.sleep(39.9)
        await world.client.create(NODES, {"metadata": {"name": "node-1"}})
        await world.sim.clock.sleep(5)
        assert on(world, "node-1") == kept

    in_world(body)


class OldNodes:
    """The cache of nodes, which has stopped at the last change that it received."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def get(self, namespace: str, name: str) -> Node | None:
        found: Node | None = self._cache.get(namespace, name)
        return STOPPED.get(name, found)


STOPPED: dict[str, Node | None] = {}


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Node | None]]:
    """What pod GC's cache of nodes has, by the name of the node."""
    begin = PodGarbageCollector.__init__

    def with_old_nodes(self: PodGarbageCollector, deps: Dependencies, threshold: int) -> None:
        begin(self, deps, threshold)
        self._nodes = OldNodes(self._nodes)  # type: ignore[assignment]

    monkeypatch.setattr(PodGarbageCollector, "__init__", with_old_nodes)
    yield STOPPED
    STOPPED.clear()


def test_a_node_that_a_cache_misses_for_ever_keeps_its_pods(stopped: dict[str, Node | None]) -> None:
    async def body(world: World) -> None:
        await running(world, replicas=3)
        kept = on(world, "node-1")
        stopped["node-1"] = None
        for name in kept:  # each change wakes pod GC
            await world.client.patch(PODS, name, {"metadata": {"labels": {"woken": "yes"}}}, "default")
        await world.restart(world.controllers)
        await world.sim.clock.sleep(600)
        assert on(world, "node-1") == kept

    in_world(body)


def test_a_node_that_only_the_cache_has_out_of_service_ends_its_pods_itself(
    stopped: dict[str, Node | None],
) -> None:
    async def body(world: World) -> None:
        conditions = [Condition(type="Ready", status="Unknown")]
        taints = [Taint(key=OUT_OF_SERVICE["key"], effect="NoExecute")]
        stopped["node-1"] = Node(spec=NodeSpec(taints=taints), status=NodeStatus(conditions=conditions))
        slow = pod(
            "slow",
            metadata={"annotations": {"sim.vacate.dev/stop-seconds": "25"}},
            spec={"nodeName": "node-1"},
        )
        await world.client.create(PODS, slow, "default")
        await world.until(lambda: _phase(world, "slow") == "Running", 120, "the pod runs")
        await world.client.delete(PODS, "slow", "default", DeleteOptions(grace_period_seconds=30))
        await world.sim.clock.sleep(20)
        assert _phase(world, "slow") == "Running"
        await world.until(lambda: world.find(PODS, "slow", "default") is None, timeout=30)

    in_world(body)


def _phase(world: World, name: str) -> str:
    found = world.find(PODS, name, "default")
    return "" if found is None else str(found["status"]["phase"])


def test_a_silent_node_keeps_its_pods_until_it_is_out_of_service() -> None:
    async def body(world: World) -> None:
        lost = await _lose(world)
        await world.sim.clock.sleep(1800)
        assert lost in on(world, "node-1")
        await world.client.patch(NODES, "node-1", {"spec": {"taints": [OUT_OF_SERVICE]}})
        await world.until(lambda: world.find(PODS, lost, "default") is None, timeout=10)

    in_world(body)


def test_a_node_that_still_speaks_is_believed_more_than_the_taint() -> None:
    async def body(world: World) -> None:
        await world.client.create(
            PODS,
            pod(
                "slow",
                metadata={"annotations": {"sim.vacate.dev/stop-seconds": "25"}},
                spec={"tolerations": [{"operator": "Exists"}]},
            ),
            "default",
        )
        await world.until(lambda: len(world.healthy_pods()) == 1)
        await world.client.delete(PODS, "slow", "default")
        await world.client.patch(NODES, "node-1", {"spec": {"taints": [OUT_OF_SERVICE]}})
        await world.sim.clock.sleep(20)
        assert created(world, PODS, "slow")["status"]["phase"] == "Running"
        await world.until(lambda: world.find(PODS, "slow", "default") is None, timeout=20)

    in_world(body, nodes=1)


@pytest.mark.parametrize("before", ["patch", "delete"])
def test_a_pod_that_has_taken_the_name_of_an_orphaned_one_stays(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else removes the orphan in the moment in which pod GC does, and it is made again elsewhere."""
    send, successors = getattr(Client, before), list[str]()

    async def body(world: World) -> None:
        lost = await _lose(world)

        async def send_when_replaced(self: Client, *args: Any, **options: Any) -> Any:
            given = [one for one in (*args, *options.values()) if isinstance(one, DeleteOptions)]
            removes = any(one.grace_period_seconds == 0 for one in given) or "Failed" in str(args)
            if removes and args[1] == lost and not successors:
                successors.append("")
                uid = created(world, PODS, lost)["metadata"]["uid"]
                confirmed = {"metadata": {"annotations": {CONFIRMATION: uid}}}
                await world.client.patch(PODS, lost, confirmed, "default")
                await world.client.delete(PODS, lost, "default", DeleteOptions(grace_period_seconds=0))
                made = await world.client.create(PODS, pod(lost, spec={"nodeName": "node-2"}), "default")
                successors[0] = made["metadata"]["uid"]
            return await send(self, *args, **options)

        await world.client.delete(NODES, "node-1")
        monkeypatch.setattr(Client, before, send_when_replaced)
        await world.until(lambda: successors not in ([], [""]), timeout=60)
        await world.sim.clock.sleep(60)
        found = created(world, PODS, lost)
        assert [found["metadata"]["uid"]] == successors
        assert "deletionTimestamp" not in found["metadata"]
        assert found["status"]["phase"] == "Running"

    in_world(body)


def test_a_terminating_pod_without_a_node_goes() -> None:
    async def body(world: World) -> None:
        held = pod("held", metadata={"finalizers": ["example.com/f"]}, spec={"nodeSelector": {"no": "where"}})
        await world.client.create(PODS, held, "default")
        await world.client.delete(PODS, "held", "default")
        await world.until(lambda: created(world, PODS, "held")["status"]["phase"] == "Failed", timeout=5)
        before = writes(world)
        await world.sim.clock.sleep(300)
        assert writes(world) - before < 60  # a finalizer holds it: no rush of attempts, only heartbeats
        await world.client.patch(PODS, "held", {"metadata": {"finalizers": None}}, "default")
        await world.until(lambda: world.find(PODS, "held", "default") is None, timeout=30)

    in_world(body, nodes=1)


def _ended(name: str, created_at: str, reason: str = "") -> Pod:
    return codec_for(Pod).convert(
        {
            "metadata": {"name": name, "namespace": "d", "creationTimestamp": created_at},
            "status": {"phase": "Failed", "reason": reason},
        }
    )


def test_of_ended_pods_the_evicted_go_first_and_then_the_oldest() -> None:
    pods = [
        _ended("new", "2026-03-01T12:00:00Z"),
        _ended("old", "2026-03-01T10:00:00Z"),
        _ended("evicted", "2026-03-01T13:00:00Z", "Evicted"),
    ]
    assert [one.metadata.name for one in surplus(pods, 1)] == ["evicted", "old"]
    assert surplus(pods, 3) == surplus([], 0) == []
