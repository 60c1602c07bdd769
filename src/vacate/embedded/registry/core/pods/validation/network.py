"""How a pod is called and whom it asks: DNS, host aliases, the host name."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from vacate.admission.rules import table
from vacate.api.fielderrors import ErrorType, FieldError, complaints, forbidden, invalid, required, too_long
from vacate.api.lenient import mapping, maps, sequence, text
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj

_NAMESERVERS, _SEARCHES, _SEARCH_CHARACTERS = 3, 32, 2048
_MAX_HOSTNAME = 64
_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_LABEL}(\.{_LABEL})*"
_SEARCH_FORMAT = re.compile(_SEARCH)
_SEARCH_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation"
    rf" is '{_SEARCH}')"
)
NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_LEADING_ZEROES = re.compile(r"(^|\.)0+(?=[0-9])")

RULES = table(
    "Pod",
    ("spec.dnsConfig", ErrorType.REQUIRED, "with dnsPolicy None"),
    ("spec.dnsConfig.nameservers", ErrorType.REQUIRED, "at least one with dnsPolicy None"),
    ("spec.dnsConfig.nameservers", ErrorType.INVALID, "at most 3"),
    ("spec.dnsConfig.nameservers[]", ErrorType.INVALID, "an IP address"),
    ("spec.dnsConfig.searches", ErrorType.INVALID, "at most 32, and at most 2048 characters"),
    ("spec.dnsConfig.searches[]", ErrorType.INVALID, "a DNS subdomain, underscores allowed"),
    ("spec.dnsConfig.options[]", ErrorType.REQUIRED, "has a name"),
    ("spec.hostAliases[].ip", ErrorType.INVALID, "an IP address"),
    ("spec.hostAliases[].ip#zeroes", ErrorType.INVALID, "without leading zeroes"),
    ("spec.hostAliases[].ip#mapped", ErrorType.INVALID, "not IPv4 in IPv6"),
    ("spec.hostAliases[].hostnames[]", ErrorType.INVALID, "a DNS subdomain"),
    ("spec.hostnameOverride", ErrorType.FORBIDDEN, "not with setHostnameAsFQDN or hostNetwork"),
    ("spec.hostnameOverride", ErrorType.TOO_LONG, "at most 64 characters"),
    ("spec.hostnameOverride", ErrorType.INVALID, "a DNS subdomain"),
)


def dns_errors(spec: Obj, path: str) -> list[FieldError]:
    """The configuration of the pod's resolver."""
    config, where = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if config is None and spec.get("dnsPolicy") != "None":
        return []
    servers = sequence(mapping(config).get("nameservers"))
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(where, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{where}.nameservers", detail)]
    found: list[FieldError] = []
    if len(servers) > _NAMESERVERS:
        detail = f"must not have more than {_NAMESERVERS} nameservers"
        found.append(invalid(f"{where}.nameservers", servers, detail))
    for index, server in enumerate(servers):
        found += address_errors(text(server), f"{where}.nameservers[{index}]")
    found += _search_errors(mapping(config).get("searches"), f"{where}.searches")
    return found + [
        required(f"{where}.options[{index}]", "must not be empty")
        for index, option in enumerate(maps(mapping(config).get("options")))
        if not option.get("name")
    ]


def _search_errors(listed: Any, path: str) -> list[FieldError]:
    searches = [text(item) for item in sequence(listed)]
    found: list[FieldError] = []
    if len(searches) > _SEARCHES:
        found.append(invalid(path, searches, f"must not have more than {_SEARCHES} search paths"))
    if len(" ".join(searches).encode(errors="surrogatepass")) > _SEARCH_CHARACTERS:
        detail = (
            f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        )
        found.append(invalid(path, searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            bare = search.removesuffix(".")
            found += complaints(f"{path}[{index}]", bare, _search_complaints(bare))
    return found


def _search_complaints(search: str) -> list[str]:
    found = ["must be no more than 253 characters"] if len(search) > 253 else []
    return found if _SEARCH_FORMAT.fullmatch(search) else [*found, _SEARCH_TEXT]


def is_address(address: str) -> bool:
    """Whether it is an IP address in any form that old objects may have."""
    return _parsed(address) is not None


def address_errors(address: str, path: str) -> list[FieldError]:
    """An IP address in its usual form."""
    found = _parsed(address)
    if found is None:
        return [invalid(path, address, NO_ADDRESS)]
    if ":" not in address and _LEADING_ZEROES.search(address):
        return [invalid(path, address, "must not have leading 0s")]
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return [invalid(path, address, "must not be an IPv4-mapped IPv6 address")]
    return []


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "%" in address:
        return None
    try:
        return ipaddress.ip_address(_LEADING_ZEROES.sub(r"\1", address) if ":" not in address else address)
    except ValueError:
        return None


def alias_errors(aliases: Any, path: str) -> list[FieldError]:
    """Entries for the pod's hosts file."""
    found: list[FieldError] = []
    for index, alias in enumerate(maps(aliases)):
        found += address_errors(text(alias.get("ip")), f"{path}[{index}].ip")
        for number, name in enumerate(sequence(alias.get("hostnames"))):
            where = f"{path}[{index}].hostnames[{number}]"
            found += complaints(where, name, dns1123_subdomain(text(name)))
    return found


def hostname_override_errors(spec: Obj, path: str) -> list[FieldError]:
    """A host name in place of the pod's own."""
    name = spec.get("hostnameOverride")
    if name is None:
        return []
    where = f"{path}.hostnameOverride"
    found = [
        forbidden(where, f"may not be specified when {key} is true")
        for key in ("setHostnameAsFQDN", "hostNetwork")
        if spec.get(key)
    ]
    if len(text(name).encode(errors="surrogatepass")) > _MAX_HOSTNAME:
        found.append(too_long(where, _MAX_HOSTNAME))
    return found + complaints(where, name, dns1123_subdomain(text(name)))
