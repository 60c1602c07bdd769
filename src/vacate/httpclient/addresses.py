"""Which addresses a name may lead to. Names are owned by others: one can be pointed at a metadata service."""

from __future__ import annotations

import ipaddress

_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd20:ce::254", "168.63.129.16")))
"""Services of clouds about the machine that are not at link-local addresses."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_ordinary(text: str) -> bool:
    """Whether it is an address of another machine: neither this one, nor link-local, nor a group of many."""
    try:
        address = _unwrapped(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return False
    return not (
        address in _METADATA
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address in _THIS_NETWORK
        or address.is_reserved
    )


def _unwrapped(address: Address) -> Address:
    """The address of version 4 that one of version 6 stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
