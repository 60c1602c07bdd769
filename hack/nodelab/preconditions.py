"""What a node with containers needs of the machine."""

from __future__ import annotations

import os
import shutil
import sys

from hack.kubelab.release import KubeError

TOOLS = (
    "containerd", "runc", "containernetworking-plugins",
    "nftables", "conntrack", "iproute2", "mount", "util-linux", "procps",
    "busybox-static", "buildah",
)  # fmt: skip
"""The packages of the node and of the builder of images."""

_PROGRAMS = ("unshare", "mount", "chroot", "ip", "apt-get", "dpkg-deb", "tar")


def missing() -> str:
    """What is missing here, or nothing."""
    if sys.platform != "linux":
        return "a node with containers needs Linux"
    if os.geteuid() != 0:
        return "a node with containers needs root"
    absent = [name for name in _PROGRAMS if not shutil.which(name)]
    if absent:
        return f"a node with containers needs {', '.join(absent)} (Debian or a relative of it)"
    return ""


def check() -> None:
    """KubeError with what is missing."""
    if lacks := missing():
        raise KubeError(lacks)
