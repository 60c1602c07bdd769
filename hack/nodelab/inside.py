"""The first process of the namespaces: it makes the cluster, and everything in it ends with it.

python -m hack.nodelab.inside PLACE TOOLS LOGIND REGISTRY PROGRAMS ARCHIVE LOGS NODES [COMMAND…]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from hack.kubelab.children import start_child
from hack.kubelab.control_plane import ControlPlane
from hack.kubelab.obtain import ASSETS
from hack.kubelab.release import KubeError
from hack.logindlab.elogind import Elogind
from hack.nodelab.cgroups import mount_groups
from hack.nodelab.chroot import Chroot, mount
from hack.nodelab.imageregistry import serve_image
from hack.nodelab.network import NodeNetwork, set_up_network
from hack.nodelab.node import Node
from hack.nodelab.power import OFF, POWER, done, wished
from hack.nodelab.settings import NODE_ADDRESS, Identity
from hack.nodelab.small_images import write_small_images
from hack.nodelab.supervisor import PROCESS

KUBECONFIG = "VACATE_NODE_KUBECONFIG"
IMAGE = "VACATE_NODE_IMAGE"
AUDIT = "VACATE_NODE_AUDIT"
BUS = "VACATE_NODE_BUS"
"""Names the folder of the bus on which the node has a logind, and where `off` is when it would go down."""
_DELAY_SECONDS = 120
_POLL_SECONDS = 0.2
_LOST_AFTER = 20
"""Seconds without a report after which a node is lost, instead of 50: it reports every two."""


def be_first() -> None:
    """Go on in a child, and bury all that dies in the namespaces until that one does."""
    worker = os.fork()
    while worker:
        dead, status = os.wait()
        if dead == worker:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def work(
    place: Path, tools: Path, logind: Path, registry: Path, programs: Path, archive: Path, logs: str,
    count: int, command: list[str],
) -> int:  # fmt: skip
    """Start the cluster, run the command in it, and hand its exit code on."""
    mount("-t", "sysfs", "sysfs", "/sys")
    mount_groups()
    set_up_network()
    first, *further = (Identity(number + 1) for number in range(count))
    chroot = Chroot(place)
    chroot.populate(tools)
    bus = place / "bus"
    login = _start_logind(place, logind, bus)
    hosts = [node.address for node in further]
    plane = ControlPlane(
        programs, place / "plane", audit=True, address=NODE_ADDRESS, hosts=hosts, lost_after=_LOST_AFTER
    )
    try:
        plane.start()
        nodes = [Node(first, chroot, programs, plane, bus=bus)]
        for one in further:
            network = NodeNetwork(one)
            network.connect(one, [first, *further])
            own = _further_chroot(place / one.name, tools, network)
            nodes.append(Node(one, own, programs, plane, network=network))
        images = _images(plane.layout.root / "images", tools)
        log = plane.layout.logs / "registry.log"
        image = serve_image(registry, place / "registry", archive, log)
        for node in nodes:
            node.start(images)
        for node in nodes:
            node.wait_ready()
        power = place / "power"
        power.mkdir()
        there = _environment(plane, programs, image) | {BUS: str(bus), POWER: str(power)}
        return _attend(plane, nodes, login, power, command, there)
    finally:
        if logs and plane.layout.logs.exists():
            shutil.copytree(plane.layout.logs, logs, dirs_exist_ok=True)


def _further_chroot(place: Path, tools: Path, network: NodeNetwork) -> Chroot:
    place.mkdir()
    chroot = Chroot(place)
    chroot.populate(tools, network.command)
    return chroot


def _start_logind(place: Path, packages: Path, bus: Path) -> Elogind:
    """Of the machine that the node is: its own processes see it, and it sees them."""
    chroot = place / "logind"
    bus.mkdir()
    chroot.mkdir()
    made = Elogind(chroot, packages, bus, _DELAY_SECONDS)
    made.start()
    return made


def _images(folder: Path, tools: Path) -> list[Path]:
    """Where the nodes see them; Vacate's image they pull."""
    folder.mkdir()
    return write_small_images(tools, folder)


def _attend(
    plane: ControlPlane, nodes: list[Node], login: Elogind, power: Path, command: list[str],
    environment: dict[str, str],
) -> int:  # fmt: skip
    """Run the command, or wait for ever; KubeError where a program of the cluster ends meanwhile."""
    child: subprocess.Popen[bytes] | None = None
    if command:
        child = start_child(command, env=environment, stdout=None, stderr=None)
    else:
        _explain(environment, len(nodes))
    while child is None or child.poll() is None:
        if broken := plane.ended():
            raise KubeError(f"{broken} has ended by itself:\n{plane.log_tail(broken)}")
        for node in nodes:
            if wanted := wished(power, node.identity.name):
                node.switch_off() if wanted == OFF else node.switch_on()
                done(power, node.identity.name, wanted)
            if broken := node.ended():
                raise KubeError(f"{broken} has ended by itself:\n{node.log_tail(broken)}")
        login.restart_ended()
        time.sleep(_POLL_SECONDS)
    return child.returncode


def _environment(plane: ControlPlane, programs: Path, image: str) -> dict[str, str]:
    path = f"{programs}:{os.environ.get('PATH', '')}"
    there = {
        KUBECONFIG: str(plane.kubeconfig),
        "KUBECONFIG": str(plane.kubeconfig),
        AUDIT: str(plane.layout.audit_log),
    }
    return os.environ | there | {ASSETS: str(programs), IMAGE: image, "PATH": path}


def _explain(environment: dict[str, str], count: int) -> None:
    variables = f"KUBECONFIG={environment[KUBECONFIG]} PATH={environment[ASSETS]}:$PATH"
    what = "one node that runs" if count == 1 else f"{count} nodes that run"
    print(f"A cluster with {what} containers is ready. For a shell in it, from another terminal:\n")
    print(f"  nsenter --all --target $(pgrep -P {os.environ[PROCESS]}) env {variables} bash\n")
    print("Ctrl-C removes it.", flush=True)


def main() -> None:
    be_first()
    place, tools, logind, registry, programs, archive = map(Path, sys.argv[1:7])
    logs, count, *command = sys.argv[7:]
    try:
        sys.exit(work(place, tools, logind, registry, programs, archive, logs, int(count), command))
    except KubeError as error:
        sys.exit(f"node: {error}")


if __name__ == "__main__":
    main()
