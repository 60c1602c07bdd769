"""The ranges of addresses that a node's pods have, under two names: podCIDR and podCIDRs."""

from __future__ import annotations

import ipaddress

from vacate.api.fielderrors import FieldError, invalid
from vacate.api.lenient import sequence, text
from vacate.api.objects import Obj

_NO_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_BEYOND = "must not have bits set beyond the prefix length"
_FAMILIES = 2


def settle_ranges(spec: Obj) -> None:
    """Make both names say the same; where they do not, the old one counts."""
    first, ranges = text(spec.get("podCIDR")), sequence(spec.get("podCIDRs"))
    if first and (not ranges or ranges[0] != first):
        spec["podCIDRs"] = [first]
    elif ranges:
        spec["podCIDR"] = ranges[0]


def range_errors(spec: Obj) -> list[FieldError]:
    """Each must be a range, and they must be of different families."""
    ranges = [text(one) for one in sequence(spec.get("podCIDRs"))]
    found = [
        invalid(f"spec.podCIDRs[{index}]", one, complaint)
        for index, one in enumerate(ranges)
        if (complaint := _complaint(one))
    ]
    families = {"" if _parsed(one) is None else ":" in one for one in ranges}
    if len(ranges) > 1 and (len(families) < _FAMILIES or len(ranges) > _FAMILIES):
        found.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))
    return found


def _complaint(text: str) -> str:
    """What is wrong with a range, or nothing."""
    parsed = _parsed(text)
    if parsed is None:
        return _NO_RANGE
    address, _, prefix = text.partition("/")
    if prefix != str(int(prefix)) or (":" not in address and str(parsed.ip) != address):
        return "must not have leading 0s in IP or prefix length"
    if isinstance(parsed, ipaddress.IPv6Interface) and parsed.ip.ipv4_mapped:
        return "must not have an IPv4-mapped IPv6 address"
    return "" if parsed.ip == parsed.network.network_address else _BEYOND


def _parsed(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """What was meant, leading zeroes or not; None for what is no range at all."""
    address, slash, prefix = text.partition("/")
    if not slash or not (prefix.isascii() and prefix.isdigit()):
        return None
    if ":" not in address:
        address = ".".join(part.lstrip("0") or part[-1:] for part in address.split("."))
    try:
        return ipaddress.ip_interface(f"{address}/{int(prefix)}")
    except ValueError:
        return None
