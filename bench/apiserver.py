"""How much the embedded API server serves over HTTPS, on 16 connections, with controllers off.

    python -m bench.apiserver [OBJECTS] [--kubeconfig OTHER]

With the kubeconfig of another API server the same load runs on both, and the ratio is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from bench import load

TITLES = {
    "creates": "creates/s",
    "gets": "gets/s",
    "evictions": "evictions/s",
    "fanout": f"events/s to {load.WATCHERS} watchers",
    "cpu_us_create": "server CPU us per create",
    "cpu_us_get": "server CPU us per get",
    "cpu_us_evict": "server CPU us per eviction",
    "bytes_per_object": "server memory bytes per object",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("objects", type=int, nargs="?", default=3000)
    parser.add_argument("--kubeconfig", type=Path, help="another API server to compare with")
    arguments = parser.parse_args()
    with embedded() as (kubeconfig, pid):
        ours = asdict(asyncio.run(load.run(kubeconfig, arguments.objects, pid)))
    theirs = None
    if arguments.kubeconfig:
        theirs = asdict(asyncio.run(load.run(arguments.kubeconfig, arguments.objects)))
    for name, title in TITLES.items():
        line = f"{title:34} {ours[name]:10,.0f}"
        if theirs and theirs[name]:
            line += f" {theirs[name]:10,.0f}   x {ours[name] / theirs[name]:.2f}"
        print(line)


@contextmanager
def embedded() -> Iterator[tuple[Path, int]]:
    """An embedded server as a process of its own, in a folder that goes away with it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.serve", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            yield Path(server.stdout.readline().strip()), server.pid
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
