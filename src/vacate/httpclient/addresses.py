"""Which addresses may be connected to. Others choose names and URLs: one can lead to a metadata service.

Private networks are ordinary: that is where management controllers and services of the cluster are.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Sequence

from vacate.errors import ConfigError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",
            # Services of clouds about the machine that are not at link-local addresses.
            "192.0.0.0/24",
            "100.100.100.200/32",
            "168.63.129.16/32",
            "fd00:ec2::/32",
            "fd20:ce::254/128",
            "fd00:42::42/128",
            "fd00:a9fe:a9fe::1/128",
        ),
    )
)
REFUSED = "is not one of another machine: it is loopback, link-local or of a metadata service"


def read_networks(texts: Iterable[str], source: str) -> tuple[Network, ...]:
    """Addresses and networks that a person lists; ConfigError names the one that is none."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text))
        except ValueError:
            raise ConfigError(
                f"{source}: {text[:80]!r} is not an address or a network, such as 127.0.0.1 or 10.2.0.0/16"
            ) from None
    return tuple(found)


def is_ordinary(text: str, listed: Sequence[Network] = ()) -> bool:
    """Whether it is an address of another machine: neither this one, nor link-local, nor a group of many.

    Those that are listed are as good.
    """
    try:
        address = _unwrapped(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return False
    if any(address in network for network in listed):
        return True
    return not (
        any(address in network for network in _SPECIAL)
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    )


async def unusual_address(host: str, listed: Sequence[Network] = ()) -> str:
    """The first address of a host that may not be connected to; empty where there is none.

    OSError where the host has no address.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return next((str(one[4][0]) for one in found if not is_ordinary(str(one[4][0]), listed)), "")


def literal(host: str) -> tuple[Network, ...]:
    """The address that stands for the host itself; nothing where it is a name."""
    try:
        return (ipaddress.ip_network(_unwrapped(ipaddress.ip_address(host.partition("%")[0]))),)
    except ValueError:
        return ()


def _unwrapped(address: Address) -> Address:
    """The address of version 4 that one of version 6 stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
