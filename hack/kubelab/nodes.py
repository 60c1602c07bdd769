"""Simulated nodes for any API server, as a process of their own.

python -m hack.kubelab.nodes KUBECONFIG [--count N]
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from pathlib import Path

from vacate.cli.common.run import run_until_signalled
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.embedded.nodes.nodeobjects import shapes
from vacate.embedded.nodes.pool import NodePool
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.entropy import system_entropy
from vacate.metrics import Metrics
from vacate.wiring.components import ComponentContext, component_dependencies


async def run_nodes(kubeconfig: Path, count: int, timings: PodTimings) -> None:
    """Be so many nodes until cancelled."""
    clock = SystemClock()
    transport = HttpTransport(load_cluster([kubeconfig]), clock)
    try:
        around = ComponentContext(clock, system_entropy(), Metrics())
        deps, recorder = component_dependencies(transport, "kubelet", around)
        pool = NodePool(deps, shapes(count), NodeSettings(timings=timings))
        await pool.manager(recorder).run()
    finally:
        await transport.aclose()
        await asyncio.sleep(0)  # aiohttp closes its connections in the next turn of the loop


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--pod-start", type=float, default=1.0)
    parser.add_argument("--pod-stop", type=float, default=1.0)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    timings = PodTimings(start=options.pod_start, stop=options.pod_stop)
    run_until_signalled(lambda: run_nodes(options.kubeconfig, options.count, timings))


if __name__ == "__main__":
    main()
