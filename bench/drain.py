"""What a drain by NodeMaintenance costs: calls of Vacate's controllers for each evicted pod, in virtual time.

python -m bench.drain            # 50 pods of one node; then 10 nodes with 300 pods and 100 nodes with 3,000
python -m bench.drain --small    # without the largest

The limits: five calls in all and three writes for a pod, Events apart, twelve more writes for a node, no
lists at rest, and a cost for each pod that does not grow with the cluster.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from http import HTTPStatus
from typing import Any

from vacate.api.kinds import NODEMAINTENANCES, PODS
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

MAX_CALLS, MAX_WRITES, MAX_GROWTH = 5.0, 3.0, 1.25
MAX_FOR_A_NODE = 12
OF_PODS = ("evictionrequests", "pods")
REST_SECONDS = 600.0
WAVE = "10%"


class Counted:
    """A transport that counts what passes it, by verb and resource, and what of it was refused."""

    def __init__(
        self, transport: Transport, calls: Counter[str], refused: Counter[str] | None = None
    ) -> None:
        self._transport = transport
        self._calls = calls
        self._refused = Counter[str]() if refused is None else refused

    async def send(self, request: Request) -> Response:
        name = f"{request.method} {_resource(request.path)}"
        if "watch" not in request.query:
            self._calls[name] += 1
        response = await self._transport.send(request)
        if response.status >= HTTPStatus.BAD_REQUEST:
            self._refused[name] += 1
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


def _resource(path: str) -> str:
    """`/api/v1/namespaces/default/pods/x/eviction` as `pods/eviction`."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    return "/".join([rest[0], *rest[2:]])


MAX_MORE_CALLS = 1.1
"""Calls for each pod of the largest cluster against those of one ten times smaller."""


def drained(nodes: int, pods: int) -> tuple[float, float, float]:
    """Calls and writes for each pod, and seconds of CPU for each."""

    async def main(sim: Sim) -> tuple[float, float, float]:
        calls: Counter[str] = Counter()

        def build(link: Transport, around: ComponentContext) -> Any:
            link = Counted(link, calls)
            return component_manager(link, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

        async with World(sim, WorldSettings(nodes=nodes, evictions=())) as world:
            manager = world.add("manager", build, EVICTION_CONTROLLER)
            await manager.start()
            for number in range(pods):
                one = pod(f"p-{number}", spec={"nodeName": f"node-{number % nodes + 1}"})
                await world.client.create(PODS, one, "default")
            await world.until(lambda: len(world.healthy_pods()) == pods, 86400.0)
            calls.clear()
            began = time.process_time()
            await world.client.create(NODEMAINTENANCES, _maintenance(nodes))
            await world.until(lambda: _phase(world) == "Drained", 86400.0)
            cpu = time.process_time() - began
            own = Counter({name: count for name, count in calls.items() if not name.endswith(" events")})
            calls.clear()
            await sim.clock.sleep(REST_SECONDS)
            lists = [name for name in calls if name.startswith("GET")]
            assert not lists, f"at rest: {lists}"
        written = {name: count for name, count in own.items() if not name.startswith("GET")}
        writes = sum(count for name, count in written.items() if name.split()[1].split("/")[0] in OF_PODS)
        others = (sum(written.values()) - writes) / nodes
        print(
            f"{nodes} nodes, {pods} pods: {sum(own.values()) / pods:.2f} calls for each pod; "
            f"{writes / pods:.2f} writes for each pod and {others:.1f} for each node"
        )
        assert others <= MAX_FOR_A_NODE
        for name, count in sorted(own.items()):
            print(f"  {name:<45} {count:>7,}  {count / pods:.2f}")
        return sum(own.values()) / pods, writes / pods, cpu / pods

    return run_sim(main, 1, limit=10 * 86400.0)


def _maintenance(nodes: int) -> dict[str, Any]:
    return {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": "kernel"},
        "spec": {
            "nodes": [f"node-{number + 1}" for number in range(nodes)],
            "maxNodes": WAVE if nodes > 1 else 1,
            "pods": {"unmanagedPods": "Evict"},
        },
    }


def _phase(world: World) -> str:
    found = world.find(NODEMAINTENANCES, "kernel") or {}
    return str(found.get("status", {}).get("phase", ""))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="without the 100 nodes")
    options = parser.parse_args()
    calls, writes, _ = drained(1, 50)
    assert calls <= MAX_CALLS, calls
    assert writes <= MAX_WRITES, writes
    few, _, small = drained(10, 300)
    print(f"{small * 1e3:.1f} ms of CPU for each pod")
    if not options.small:
        many, _, large = drained(100, 3000)
        print(f"{many:.2f} calls for each pod, x {many / few:.2f} of ten times fewer")
        assert many <= MAX_MORE_CALLS * few
        print(f"{large * 1e3:.1f} ms of CPU for each pod, x {large / small:.2f} of ten times fewer")
        assert large <= MAX_GROWTH * small


if __name__ == "__main__":
    main()
