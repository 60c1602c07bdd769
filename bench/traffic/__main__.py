"""Requests that fail while nodes are drained: with Vacate, and by plain eviction.

    python -m bench.traffic [--drains 10] [--workload single|budget|stateful] [--arm vacate|bridge|plain]

Starts two real nodes in the node laboratory (as root, see docs/how-to/real-node.md), installs Vacate, and
drains the node of each workload again and again while clients send requests through its Service.
"""

from __future__ import annotations

import argparse
import os
import sys

from bench.traffic.drains import Arm, Cluster, Measured
from bench.traffic.workloads import Pace, Workload
from hack.kubelab.release import KubeError
from hack.nodelab.inside import IMAGE
from hack.nodelab.session import session

NODES = 2


def show(measured: Measured) -> str:
    seen = measured.seen
    seconds = sorted(measured.seconds)
    failures = ", ".join(f"{count} {name}" for name, count in sorted(seen.failures.items()))
    return (
        f"| {measured.workload} | {measured.arm} | {measured.drains} | {seen.requests:,} | {seen.failed:,} | "
        f"{seen.outage:.1f} s | {seen.median_ms:.1f} / {seen.p99_ms:.0f} / {seen.max_ms:.0f} ms | "
        f"{seconds[0]:.0f} to {seconds[-1]:.0f} s | {failures}"
    )


def inside(options: argparse.Namespace) -> None:
    pace = Pace()
    cluster = Cluster(os.environ[IMAGE], pace)
    cluster.install()
    print(f"The application starts in {pace.start_seconds} s; its preStop sleeps {pace.pre_stop_seconds} s.")
    print("| workload | drained by | drains | requests | failed | longest time without an answer | "
          "latency: median / 99 % / most | each drain |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for workload in options.workload or Workload:
        for arm in options.arm or Arm:
            print(show(cluster.measure(workload, arm, options.drains)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drains", type=int, default=10)
    parser.add_argument("--workload", action="append", type=lambda name: Workload[name.upper()])
    parser.add_argument("--arm", action="append", type=lambda name: Arm[name.upper()])
    options = parser.parse_args()
    if IMAGE in os.environ:
        inside(options)
        return
    try:
        sys.exit(session([sys.executable, "-m", "bench.traffic", *sys.argv[1:]], None, NODES))
    except KubeError as error:
        sys.exit(f"node: {error}")


if __name__ == "__main__":
    main()
