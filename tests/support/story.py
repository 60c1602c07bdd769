"""A story of a whole cluster: `python -m support.story SEED` prints the digest of its trace.

A deployment with a budget, evictions, a crash of the server and of a node, a deletion of the namespace.
"""

from __future__ import annotations

import sys

from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.errors import TooManyRequests
from vacate.sim.cluster import World
from vacate.sim.run import Sim, run_sim
from vacate.testing import deployment, namespace, pdb


async def tell(world: World) -> None:
    await world.client.create(NAMESPACES, namespace("story"))
    await world.client.create(DEPLOYMENTS, deployment("web", namespace="story", replicas=6), "story")
    await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", namespace="story", min_available=4), "story")
    await world.until(lambda: len(world.healthy_pods("story")) == 6)
    await world.settle(20)
    for pod in world.objects(PODS, "story")[:4]:
        try:
            await world.client.evict(pod["metadata"]["name"], "story")
        except TooManyRequests:
            await world.sim.clock.sleep(5)
    await world.restart_server()
    await world.until(lambda: len(world.healthy_pods("story")) == 6)
    world.pool.crash("node-1")
    await world.sim.clock.sleep(30)
    world.pool.start("node-1")
    await world.settle(20)
    await world.client.delete(NAMESPACES, "story")
    await world.until(lambda: world.find(NAMESPACES, "story") is None)


def digest(seed: int) -> str:
    async def main(sim: Sim) -> str:
        async with World(sim) as world:
            await tell(world)
        return f"{sim.trace.count} {sim.trace.digest}"

    return run_sim(main, seed)


if __name__ == "__main__":
    print(digest(int(sys.argv[1])))
