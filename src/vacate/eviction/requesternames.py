"""PURE. Names of requesters that are derived from other names, within what an API can hold."""

from __future__ import annotations

import hashlib
import re

DIGEST = 10
"""How many characters of a digest a name ends in."""


MAINTENANCE_SUFFIX = "nodemaintenance.vacate.dev"
"""How the names of requesters end that are NodeMaintenances."""

_MAX_KEY = 63
_DIGEST_AT_END = re.compile(rf"-[0-9a-f]{{{DIGEST}}}")


def fitted_requester(name: str, suffix: str, limit: int) -> str:
    """`NAME.SUFFIX`; where that is too long, NAME is cut and ends in a digest of the whole.

    The suffix says what kind of requester it is and stays. Two long names that begin alike stay apart.
    """
    whole = f"{name}.{suffix}"
    if len(whole) <= limit:
        return whole
    room = limit - len(suffix) - DIGEST - 2  # a dot and a hyphen
    return f"{name[:room].rstrip('-.')}-{digest(name)}.{suffix}"


def keyed(name: str) -> str:
    """`drain.example.com` as a key of its domain, `example.com/drain`, where an API wants that.

    A key that is too long is cut and ends in a digest of the whole.
    """
    key, _, domain = name.partition(".")
    if "/" in name or not domain:
        return name
    if len(key) > _MAX_KEY:
        key = f"{key[: _MAX_KEY - DIGEST - 1].rstrip('-')}-{digest(key)}"
    return f"{domain}/{key}"


def dotted(name: str) -> str:
    """The reverse."""
    domain, slash, key = name.partition("/")
    return f"{key}.{domain}" if slash else name


def digest(name: str) -> str:
    """What keeps names apart that were cut, or that are too long to be written out."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:DIGEST]


def own_name(requester: str, suffix: str) -> str:
    """What stands before the suffix, or below it as a domain; empty where the name is of another kind."""
    name = dotted(requester)
    return name.removesuffix(f".{suffix}") if name.endswith(f".{suffix}") else ""


def is_maintenance(requester: str) -> bool:
    """Whether the name of a requester is that of a maintenance."""
    return bool(own_name(requester, MAINTENANCE_SUFFIX))


def maintenance_of(requester: str, limit: int) -> str | None:
    """The maintenance with this name as a requester; None where the name was cut, or may have been."""
    name = own_name(requester, MAINTENANCE_SUFFIX) or requester
    # The cut removes trailing dots and hyphens too, so that a cut name can be shorter than the limit.
    near_limit = len(requester) > limit - DIGEST or len(requester.partition("/")[2]) > _MAX_KEY - DIGEST
    return None if near_limit and _DIGEST_AT_END.fullmatch(name[-DIGEST - 1 :]) else name
