"""Runs the embedded API server alone, without controllers and nodes, until it is killed.

A manager may run beside it.

    python -m bench.serve FOLDER

Prints the path of the kubeconfig once it listens.
"""

from __future__ import annotations

import sys
from pathlib import Path

from vacate.cli.common.run import run_until_signalled
from vacate.embedded.cluster.local import LocalCluster, LocalSettings


async def serve(folder: Path) -> None:
    cluster = LocalCluster(LocalSettings(folder, port=0, nodes=0, controllers=False, evictions=False))
    await cluster.start()
    print(cluster.folder.kubeconfig, flush=True)
    try:
        await cluster.run()
    finally:
        await cluster.stop()


if __name__ == "__main__":
    run_until_signalled(lambda: serve(Path(sys.argv[1])))
