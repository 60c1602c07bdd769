"""What it costs to move Deployments before their pods are evicted: writes per moved pod, in virtual time.

python -m bench.moves            # 1,000 Deployments of 3 replicas on 100 nodes, drained node by node
python -m bench.moves --small    # 100 on 10 nodes

Vacate's controllers are a process of their own, and what they send is counted by verb and resource. At every
revision of the server each Deployment must have all of its replicas healthy. The limit is MAX_WRITES.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from bench.drain import Counted

from vacate.api.kinds import DEPLOYMENTS, NODEMAINTENANCES, PODS
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.embedded.nodes.settings import NodeSettings
from vacate.eviction.registration import resolve
from vacate.kube.surge import SURGE
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.history import is_healthy
from vacate.sim.run import Sim, run_sim
from vacate.testing import deployment
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

REPLICAS = 3
MAX_WRITES = 17.0
QUIET = NodeSettings(heartbeat_seconds=300.0)
_LIMIT = 10 * 86400.0


@dataclass(frozen=True, slots=True)
class Moves:
    """What the drains of all nodes, one after the other, cost."""

    pods: int  # that were moved
    calls: Mapping[str, int]  # of Vacate's controllers, Events apart, by verb and resource
    refused: Mapping[str, int]  # of these, most of them because another write came first
    virtual: float  # seconds
    cpu: float  # seconds, of the whole simulated cluster
    fewest: int  # healthy pods of any Deployment at any revision, after the first rollout
    left: list[str]  # Deployments that are not as the user made them

    @property
    def writes(self) -> float:
        """For each moved pod: requests, pods, Deployments and ReplicaSets."""
        written = {name: count for name, count in self.calls.items() if not name.startswith("GET")}
        return sum(count for name, count in written.items() if " node" not in name) / self.pods

    @property
    def node_writes(self) -> int:
        """To nodes and NodeMaintenances."""
        return sum(count for name, count in self.calls.items() if name.startswith("PATCH node"))


def moves(deployments: int, nodes: int, seed: int = 1) -> Moves:
    """Drain every node, and undo each drain before the next."""

    async def main(sim: Sim) -> Moves:
        calls: Counter[str] = Counter()
        refused: Counter[str] = Counter()

        def build(link: Transport, around: ComponentContext) -> Any:
            link = Counted(link, calls, refused)
            return component_manager(link, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

        async with World(sim, WorldSettings(nodes=nodes, node=QUIET, evictions=())) as world:
            await (world.add("manager", build, EVICTION_CONTROLLER)).start()
            await _fill(world, deployments)
            calls.clear()
            refused.clear()
            first = max(world.server.log.records, default=0)
            began, cpu, moved = sim.clock.monotonic(), time.process_time(), 0
            for number in range(nodes):
                moved += await _drain(world, f"node-{number + 1}")
            own = {name: count for name, count in calls.items() if not name.endswith(" events")}
            return Moves(
                moved, own, refused, sim.clock.monotonic() - began, time.process_time() - cpu,
                _fewest(world, first), _changed(world),
            )  # fmt: skip

    return run_sim(main, seed, limit=_LIMIT)


async def _fill(world: World, deployments: int) -> None:
    for number in range(deployments):
        made = deployment(f"d-{number}", replicas=REPLICAS, metadata={"annotations": {OPT_IN: "true"}})
        await world.client.create(DEPLOYMENTS, made, "default")
    await world.settle(timeout=_LIMIT)
    pods = world.objects(PODS)
    assert len(pods) == deployments * REPLICAS
    assert all(is_healthy(pod) and resolve(pod).interceptors for pod in pods)


async def _drain(world: World, node: str) -> int:
    """How many pods have gone."""
    before = [pod for pod in world.objects(PODS) if pod["spec"].get("nodeName") == node]
    made = {
        "apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": node}, "spec": {"nodes": [node]},
    }  # fmt: skip
    await world.client.create(NODEMAINTENANCES, made)
    await world.until(lambda: _phase(world, node) == "Drained", _LIMIT)
    await world.client.delete(NODEMAINTENANCES, node)
    await world.settle()
    return len(before)


def _phase(world: World, name: str) -> str:
    found: Obj = world.find(NODEMAINTENANCES, name) or {}
    return str(found.get("status", {}).get("phase", ""))


def _fewest(world: World, first: int) -> int:
    """Over all Deployments and all revisions after the first."""
    healthy: dict[str, set[str]] = defaultdict(set)
    fewest = REPLICAS
    for record in world.server.log.records.values():
        if record.resource != PODS.resource:
            continue
        pod = orjson.loads(record.value)
        of_deployment = healthy[pod["metadata"]["labels"]["app"]]
        if is_healthy(pod) and not record.deleted:
            of_deployment.add(record.name)
        else:
            of_deployment.discard(record.name)
        if record.revision > first:
            fewest = min(fewest, len(of_deployment))
    return fewest


def _changed(world: World) -> list[str]:
    return [
        one["metadata"]["name"]
        for one in world.objects(DEPLOYMENTS)
        if one["spec"]["replicas"] != REPLICAS or SURGE in one["metadata"].get("annotations", {})
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    deployments, nodes = (100, 10) if options.small else (1000, 100)
    found = moves(deployments, nodes)
    print(
        f"{deployments:,} Deployments of {REPLICAS} replicas on {nodes} nodes, drained one by one: "
        f"{found.pods:,} pods moved, {found.writes:.2f} writes for each "
        f"and {found.node_writes / nodes:.1f} for each node; "
        f"{found.virtual:,.0f} s of virtual time, {found.cpu / found.pods * 1e3:.1f} ms of CPU for each pod; "
        f"at least {found.fewest} healthy pods of every Deployment at every moment"
    )
    for name, count in sorted(found.calls.items()):
        print(f"  {name:<45} {count:>8,}  {count / found.pods:.2f}")
    assert not found.left, found.left
    assert found.fewest >= REPLICAS
    assert found.writes <= MAX_WRITES


if __name__ == "__main__":
    main()
