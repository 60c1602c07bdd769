"""PURE. Addresses of pods: the node's, or for each a loopback address of its own.

All processes share the machine's network. With a loopback address of its own a pod can listen on the port of
its replicas, if it binds to that address; 127.0.0.0/8 is local as a whole, so nothing has to be set up.
"""

from __future__ import annotations

import hashlib
import ipaddress

_POOL = ipaddress.ip_network("127.64.0.0/10")


class AddressPool:
    """Gives each pod an address, the same one again after a restart of the agent."""

    def __init__(self, host: str, *, loopback: bool) -> None:
        self.host = host
        self._loopback = loopback
        self._taken: dict[str, str] = {}  # address to uid

    def take(self, uid: str, before: str = "") -> str:
        """The pod's address; what its status says is kept where it is free."""
        if not self._loopback:
            return self.host
        if _in_pool(before) and self._taken.setdefault(before, uid) == uid:
            return before
        # By the uid, so that agents of several nodes on one machine rarely meet.
        number = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big") % _POOL.num_addresses
        while self._taken.setdefault(address := str(_POOL[number]), uid) != uid:
            number = (number + 1) % _POOL.num_addresses
        return address

    def release(self, uid: str) -> None:
        """Give the address back."""
        self._taken = {address: one for address, one in self._taken.items() if one != uid}


def _in_pool(address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in _POOL
    except ValueError:
        return False
