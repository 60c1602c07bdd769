"""Run a command beside a real control plane, which goes away with it.

    python -m hack.kubelab.session [--without-controllers] [--lifecycle] [--logs FOLDER] -- COMMAND…

The command finds VACATE_CONFORMANCE_KUBECONFIG (the administrator's), VACATE_KUBE_ETCD (where etcd
listens) and KUBEBUILDER_ASSETS (the programs) in its environment. Its exit code is handed on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from hack.kubelab.children import end_child, start_child
from hack.kubelab.control_plane import ControlPlane, running
from hack.kubelab.obtain import ASSETS, obtain
from hack.kubelab.release import KubeError

KUBECONFIG = "VACATE_CONFORMANCE_KUBECONFIG"
ETCD = "VACATE_KUBE_ETCD"
_LET_GO_SECONDS = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--without-controllers", action="store_true", help="only what an API server needs")
    parser.add_argument("--lifecycle", action="store_true", help="serve lifecycle.k8s.io, from 1.37 on")
    parser.add_argument("--logs", type=Path, help="keep the logs of the programs in this folder")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    try:
        sys.exit(_session(options))
    except KubeError as error:
        sys.exit(f"kube: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _session(options: argparse.Namespace) -> int:
    programs = obtain()
    controllers, logs = not options.without_controllers, options.logs
    with tempfile.TemporaryDirectory(prefix="vacate-kube-") as folder:
        plane = None
        try:
            with running(
                programs, Path(folder), controllers=controllers, lifecycle=options.lifecycle
            ) as plane:
                code = _run(options.command, environment(plane, programs))
                if broken := plane.ended():
                    raise KubeError(f"{broken} has ended by itself:\n{plane.log_tail(broken)}")
                return code
        finally:
            if logs is not None:
                shutil.copytree(Path(folder) / "logs", logs, dirs_exist_ok=True)


def environment(plane: ControlPlane, programs: Path) -> dict[str, str]:
    """The environment variables by which a command finds the control plane."""
    return os.environ | {
        KUBECONFIG: str(plane.kubeconfig),
        ETCD: plane.etcd_address,
        ASSETS: str(programs),
    }


def _run(command: list[str], env: dict[str, str]) -> int:
    child: subprocess.Popen[bytes] = start_child(command, env=env, stdout=None, stderr=None)
    try:
        return child.wait()
    finally:
        end_child(child, _LET_GO_SECONDS)


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
