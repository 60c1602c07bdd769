"""Run a command beside a cluster whose nodes really run containers; all of it goes away with it.

    python -m hack.nodelab.session [--nodes N] [--logs FOLDER] [-- COMMAND…]

The command runs in the namespaces of the cluster and finds KUBECONFIG (the administrator's),
VACATE_NODE_IMAGE (Vacate's image, which the nodes pull) and kubectl in its environment. Without a command
the cluster waits for Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from hack.kubelab.obtain import obtain
from hack.kubelab.programs import missing_programs
from hack.kubelab.release import NODE, KubeError
from hack.logindlab.elogind import PACKAGES as LOGIND
from hack.nodelab.image import REPOSITORY, vacate_archive
from hack.nodelab.imageregistry import PACKAGES as REGISTRY
from hack.nodelab.packages import root_of
from hack.nodelab.preconditions import TOOLS, check
from hack.nodelab.settings import MAX_NODES
from hack.nodelab.supervisor import PLACE

_CLEAR_SECONDS = 60.0


def session(command: list[str], logs: Path | None, nodes: int = 1) -> int:
    """The exit code of the command."""
    check()
    programs = _programs()
    archive = vacate_archive()
    wanted = {"tools": TOOLS, "elogind": LOGIND, "registry": REGISTRY}
    roots = [str(root_of(kind, names)) for kind, names in wanted.items()]
    inside = ["hack.nodelab.inside", PLACE, *roots, str(programs), str(archive)]
    python = [sys.executable, "-m"]
    supervisor = subprocess.Popen(
        [*python, "hack.nodelab.supervisor", *python, *inside, str(logs or ""), str(nodes), *command],
        stdin=subprocess.PIPE, start_new_session=True, cwd=REPOSITORY,
    )  # fmt: skip
    try:
        return supervisor.wait()
    finally:
        assert supervisor.stdin is not None
        supervisor.stdin.close()
        supervisor.wait(_CLEAR_SECONDS)


def _programs() -> Path:
    programs = obtain()
    if lacking := missing_programs(programs, NODE):
        raise KubeError(f"{programs} has no {', '.join(lacking)}")
    return programs


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--nodes", type=int, choices=range(1, MAX_NODES + 1), default=1, metavar="N",
        help=f"how many nodes, at most {MAX_NODES}; one by default",
    )  # fmt: skip
    parser.add_argument("--logs", type=Path, help="keep the logs of the programs in this folder")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    try:
        sys.exit(session(options.command, options.logs and options.logs.resolve(), options.nodes))
    except KubeError as error:
        sys.exit(f"node: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
