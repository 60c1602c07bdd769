"""The history of a whole cluster: `python -m support.simulated.history SEED` prints the digest of its trace.

A deployment with a budget, evictions, a crash of the server and of a node, a deletion of the namespace.
"""

from __future__ import annotations

import sys

from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.errors import TooManyRequests
from vacate.sim.cluster import World
from vacate.sim.run import Sim, run_sim
from vacate.testing import deployment, namespace, pdb


async def play(world: World) -> None:
    await world.client.create(NAMESPACES, namespace("simulated"))
    await world.client.create(DEPLOYMENTS, deployment("web", namespace="simulated", replicas=6), "simulated")
    await world.client.create(
        PODDISRUPTIONBUDGETS, pdb("web", namespace="simulated", min_available=4), "simulated"
    )
    await world.until(lambda: len(world.healthy_pods("simulated")) == 6)
    await world.settle(20)
    for pod in world.objects(PODS, "simulated")[:4]:
        try:
            await world.client.evict(pod["metadata"]["name"], "simulated")
        except TooManyRequests:
            await world.sim.clock.sleep(5)
    await world.restart_server()
    await world.until(lambda: len(world.healthy_pods("simulated")) == 6)
    world.pool.crash("node-1")
    await world.sim.clock.sleep(30)
    world.pool.start("node-1")
    await world.settle(20)
    await world.client.delete(NAMESPACES, "simulated")
    await world.until(lambda: world.find(NAMESPACES, "simulated") is None)


def digest(seed: int) -> str:
    async def main(sim: Sim) -> str:
        async with World(sim) as world:
            await play(world)
        return f"{sim.trace.count} {sim.trace.digest}"

    return run_sim(main, seed)


if __name__ == "__main__":
    print(digest(int(sys.argv[1])))
