"""What virtual time costs in real time: microseconds for each write, and a simulated day at rest.

python -m bench.simulation                      # 100 nodes, 3,000 pods, heartbeats every 300 s
python -m bench.simulation --nodes 10 --pods 300 --profile
"""

from __future__ import annotations

import argparse
import cProfile
import logging
import pstats
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vacate.api.kinds import DEPLOYMENTS, PODS
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.store.compaction import Retention
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.run import Sim, run_sim
from vacate.testing import deployment

DAY = 86400.0
REPLICAS = 100


@dataclass
class Lap:
    """One part of the run: what it cost and what it wrote."""

    name: str
    cpu: float = 0.0
    writes: int = 0
    virtual: float = 0.0

    def line(self) -> str:
        each = self.cpu / self.writes * 1e6 if self.writes else 0.0
        return (
            f"{self.name:<12} {self.virtual:>10,.0f} s virtual {self.cpu:>8.2f} s CPU "
            f"{self.writes:>8,} writes {each:>6,.0f} us/write"
        )


@contextmanager
def lap(world: World, name: str) -> Iterator[Lap]:
    result = Lap(name)
    revision, virtual = world.server.store.revision, world.sim.loop.time()
    began = time.process_time()
    yield result
    result.cpu = time.process_time() - began
    result.writes = world.server.store.revision - revision
    result.virtual = world.sim.loop.time() - virtual
    print(result.line(), flush=True)


async def fill(world: World, pods: int) -> None:
    for number in range(0, pods, REPLICAS):
        name = f"app-{number // REPLICAS}"
        replicas = min(REPLICAS, pods - number)
        await world.client.create(DEPLOYMENTS, deployment(name, replicas=replicas), "default")
    for _ in range(600):
        await world.sim.clock.sleep(5)
        if world.server.store.count(PODS.resource) == pods == len(world.healthy_pods()):
            return
    raise SystemExit(f"only {len(world.healthy_pods())} of {pods} pods became ready")


async def churn(world: World, share: int) -> None:
    """Delete every so-manieth pod, and wait until all are back."""
    pods = world.healthy_pods()
    for pod in pods[::share]:
        await world.client.delete(PODS, pod["metadata"]["name"], "default")
    await world.settle(20)
    assert len(world.healthy_pods()) == len(pods)


def settings(options: argparse.Namespace) -> WorldSettings:
    latency = (0.0005, 0.005) if options.latency else (0.0, 0.0)
    return WorldSettings(
        nodes=options.nodes,
        latency=latency,
        disk=latency,
        node=NodeSettings(heartbeat_seconds=options.heartbeat),
        retention=Retention(),
    )


def measure(options: argparse.Namespace) -> None:
    async def main(sim: Sim) -> None:
        async with World(sim, settings(options)) as world:
            with lap(world, "fill"):
                await fill(world, options.pods)
            with lap(world, "churn"):
                await churn(world, share=10)
            await world.settle(300)
            with lap(world, "day at rest"), profiled(options.profile):
                await sim.clock.sleep(options.days * DAY)
        print(f"trace        {sim.trace.count:,} entries, digest {sim.trace.digest}")

    run_sim(main, options.seed)


@contextmanager
def profiled(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--days", type=float, default=1.0)
    parser.add_argument("--heartbeat", type=float, default=300.0, help="seconds between heartbeats of a node")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--latency", action="store_true", help="half to five milliseconds on network and disk"
    )
    parser.add_argument("--profile", action="store_true", help="profile the day at rest")
    return parser.parse_args()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    measure(parse())
