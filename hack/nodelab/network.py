"""The networks of the nodes. The first node has that of the control plane; none has a way out of it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from hack.kubelab.children import start_child
from hack.kubelab.flags import SERVICE_NETWORK
from hack.nodelab.chroot import run
from hack.nodelab.settings import FIRST, NODE_INTERFACE, Identity

# All of them belong to the network namespace.
_SETTINGS = {"net/ipv4/ip_forward": "1", "net/bridge/bridge-nf-call-iptables": "1"}
_OWN_INTERFACE = "eth0"
_SET = 'for one; do echo "${one#*=}" > "/proc/sys/${one%%=*}"; done'


def set_up_network() -> None:
    """Loopback, a bridge with the address of the first node, and a way for its own traffic to Services."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", NODE_INTERFACE, "type", "bridge")
    run("ip", "address", "add", f"{FIRST.address}/24", "dev", NODE_INTERFACE)
    run("ip", "link", "set", NODE_INTERFACE, "up")
    run("ip", "route", "add", SERVICE_NETWORK, "dev", NODE_INTERFACE)
    for name, value in _SETTINGS.items():
        Path("/proc/sys", name).write_text(value)


def link_to(node: Identity) -> str:
    """The end of the cable to a further node that is on this side."""
    return f"{NODE_INTERFACE}-{node.number}"


class NodeNetwork:
    """A network namespace for a further node, joined to the bridge; gone with this process."""

    def __init__(self, node: Identity) -> None:
        self._holder = start_child(
            ["unshare", "--net", "sh", "-ec", "echo; exec sleep infinity"], stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        if not self._holder.stdout.readline():
            raise OSError(f"no network namespace for {node.name}")
        self._join(node)

    def command(self, words: Sequence[str]) -> list[str]:
        """A command as it is run in the namespace."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", *words]

    @property
    def identity(self) -> str:
        """What /proc/PID/ns/net of all that runs in it leads to."""
        return str(Path(f"/proc/{self._holder.pid}/ns/net").readlink())

    @property
    def keeper(self) -> int:
        """The process that keeps the namespace."""
        return self._holder.pid

    def connect(self, node: Identity, others: Sequence[Identity]) -> None:
        """Routes to the pods of other nodes."""
        for other in others:
            if other != node:
                self._run("ip", "route", "add", other.pod_network, "via", other.address)

    def _join(self, node: Identity) -> None:
        ours = link_to(node)
        there = str(self._holder.pid)
        run("ip", "link", "add", ours, "type", "veth", "peer", "name", _OWN_INTERFACE, "netns", there)
        run("ip", "link", "set", ours, "master", NODE_INTERFACE, "up")
        run("ip", "route", "add", node.pod_network, "via", node.address)
        self._run("ip", "link", "set", "lo", "up")
        self._run("ip", "address", "add", f"{node.address}/24", "dev", _OWN_INTERFACE)
        self._run("ip", "link", "set", _OWN_INTERFACE, "up")
        self._run("ip", "route", "add", SERVICE_NETWORK, "dev", _OWN_INTERFACE)
        # Who writes them decides of which namespace they are.
        self._run("sh", "-ec", _SET, "sh", *(f"{name}={value}" for name, value in _SETTINGS.items()))

    def _run(self, *words: str) -> None:
        run(*self.command(words))
