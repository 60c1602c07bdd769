"""The network of the node: it has no way out of its namespace."""

from __future__ import annotations

from pathlib import Path

from hack.kubelab.flags import SERVICE_NETWORK
from hack.nodelab.chroot import run
from hack.nodelab.settings import NODE_ADDRESS, NODE_INTERFACE

# All of them belong to the network namespace.
_SETTINGS = {"net/ipv4/ip_forward": "1", "net/bridge/bridge-nf-call-iptables": "1"}


def set_up_network() -> None:
    """Loopback, an address for the node, and a way for its own traffic to Services."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", NODE_INTERFACE, "type", "bridge")
    run("ip", "address", "add", f"{NODE_ADDRESS}/24", "dev", NODE_INTERFACE)
    run("ip", "link", "set", NODE_INTERFACE, "up")
    run("ip", "route", "add", SERVICE_NETWORK, "dev", NODE_INTERFACE)
    for name, value in _SETTINGS.items():
        Path("/proc/sys", name).write_text(value)
