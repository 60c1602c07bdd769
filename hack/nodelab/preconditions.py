"""What a node with containers needs of the machine.

python -m hack.nodelab.preconditions        prints what is missing here, or nothing
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from hack.kubelab.release import KubeError
from hack.nodelab.cgroups import hierarchies
from hack.nodelab.chroot import enter

TOOLS = (
    "containerd", "runc", "containernetworking-plugins",
    "nftables", "conntrack", "iproute2", "mount", "util-linux", "procps",
    "busybox-static",
)  # fmt: skip
"""The packages of the node."""

_PROGRAMS = ("unshare", "nsenter", "mount", "pivot_root", "chroot", "ip", "apt-get", "dpkg-deb", "tar")


def missing() -> str:
    """What is missing here, or nothing."""
    if sys.platform != "linux":
        return "a node with containers needs Linux"
    if os.geteuid() != 0:
        return "a node with containers needs root"
    absent = [name for name in _PROGRAMS if not shutil.which(name)]
    if absent:
        return f"a node with containers needs {', '.join(absent)} (Debian or a relative of it)"
    if subprocess.run([*enter(network=True), "true"], capture_output=True, check=False).returncode:
        return "a node with containers needs the right to make namespaces, which root does not have here"
    if not all(os.access(tree.place, os.W_OK) for tree in hierarchies()) or not hierarchies():
        return "a node with containers needs control groups below /sys/fs/cgroup that can be written"
    return ""


def check() -> None:
    """KubeError with what is missing."""
    if lacks := missing():
        raise KubeError(lacks)


if __name__ == "__main__":
    print(missing())
