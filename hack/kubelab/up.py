"""A real control plane with simulated nodes, for a person: `up` starts it and returns, `down` removes it.

    python -m hack.kubelab.up [up|down] [--dir FOLDER] [--nodes N]

A supervisor runs in the background and has all programs as children; it holds the folder's lock.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from hack.kubelab.children import end_child, start_child
from hack.kubelab.control_plane import STOP_SECONDS, ControlPlane, running
from hack.kubelab.lock import Lock
from hack.kubelab.obtain import cache_folder, obtain
from hack.kubelab.release import KubeError

_READY = "ready"
_POLL_SECONDS = 0.2
_STOP_SECONDS = 6 * STOP_SECONDS
_LOG_LINES = 60


def up(folder: Path, nodes: int) -> Path:
    """Start a cluster in the folder and return once it is ready; its kubeconfig."""
    lock = Lock(folder / "lock")
    if holder := lock.holder():
        raise KubeError(
            f"{folder}: a cluster runs here already (process {holder}); `make kube-down` removes it"
        )
    programs = obtain()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    log = folder / "supervisor.log"
    command = [sys.executable, "-m", "hack.kubelab.up", "serve", "--dir", str(folder), "--nodes", str(nodes)]
    environment = os.environ | {"KUBEBUILDER_ASSETS": str(programs)}
    with log.open("wb") as out:
        supervisor = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=environment
        )
    while not (folder / _READY).exists():
        if supervisor.poll() is not None:
            lines = log.read_text(errors="replace").splitlines()
            raise KubeError("the cluster did not start:\n" + "\n".join(lines[-_LOG_LINES:]))
        time.sleep(_POLL_SECONDS)
    return folder / "kubeconfig"


def down(folder: Path) -> bool:
    """End the cluster of the folder and remove it; whether there was anything."""
    lock = Lock(folder / "lock")
    if holder := lock.holder():
        os.kill(holder, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        while lock.holder():
            if time.monotonic() > end:
                raise KubeError(f"{folder}: process {holder} does not end")
            time.sleep(_POLL_SECONDS)
    existed = folder.exists()
    shutil.rmtree(folder, ignore_errors=True)
    return existed


def serve(folder: Path, nodes: int) -> None:
    """Be the supervisor: run until it is stopped, or until a program ends by itself."""
    with Lock(folder / "lock").held(), running(obtain(), folder) as plane:
        child = start_nodes(plane, nodes)
        try:
            while not (broken := plane.ended() or ("the nodes" if child.poll() is not None else "")):
                if not (folder / _READY).exists() and len(plane.ready_nodes()) == nodes:
                    (folder / _READY).touch()
                time.sleep(_POLL_SECONDS)
        finally:
            end_child(child, STOP_SECONDS)
        raise KubeError(f"{broken} ended by itself; see {plane.layout.logs}")


def start_nodes(plane: ControlPlane, count: int, *options: str) -> subprocess.Popen[bytes]:
    """Simulated nodes beside a control plane."""
    command = [sys.executable, "-m", "hack.kubelab.nodes", str(plane.kubeconfig), "--count", str(count)]
    with (plane.layout.logs / "nodes.log").open("ab") as log:
        return start_child([*command, *options], stdout=log)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["up", "down", "serve"], nargs="?", default="up")
    parser.add_argument("--dir", type=Path, default=cache_folder() / "cluster")
    parser.add_argument("--nodes", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    try:
        _act(options.action, options.dir.expanduser().resolve(), options.nodes)
    except KubeError as error:
        sys.exit(f"kube: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _act(action: str, folder: Path, nodes: int) -> None:
    if action == "serve":
        serve(folder, nodes)
    elif action == "down":
        print(f"{folder} is removed" if down(folder) else "there was no cluster")
    else:
        kubeconfig = up(folder, nodes)
        print(f"A real control plane with {nodes} simulated nodes is running:\n")
        print(f"  export KUBECONFIG={kubeconfig}\n  kubectl get nodes\n")
        print("`make kube-down` removes it.")


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
