"""What users type: pods, requesters, namespaces, sizes and spans of time, checked before anything is sent."""

from __future__ import annotations

import datetime as dt
import getpass
import math
import re
from collections.abc import Callable

import click

from vacate.api.durations import seconds_of
from vacate.api.names import dns1123_label, dns1123_subdomain, label_key
from vacate.api.quantity import parse_quantity
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.requesternames import fitted_requester

POD_PREFIXES = ("pod", "pods", "po")
"""What may stand before the slash and the name of a pod."""

_MAX_SECONDS = 30 * 86400.0
_VERY_LONG = re.compile(r"([0-9]+(\.[0-9]+)?[hms])+|[0-9]+(\.[0-9]+)?")  # of more digits than are read
CLI_SUFFIX = "cli.vacate.dev"


def pod_name(text: str) -> str:
    """A pod, as NAME or pod/NAME."""
    name = next((text.removeprefix(f"{one}/") for one in POD_PREFIXES if text.startswith(f"{one}/")), text)
    if "/" in name:
        raise click.BadParameter(f"{shown(text)} is not a pod; write NAME or pod/NAME")
    return _checked(name, dns1123_subdomain)


def node_name(text: str) -> str:
    """A node, as NAME or node/NAME."""
    return subdomain(text.removeprefix("node/").removeprefix("nodes/").removeprefix("no/"))


DRAIN_PREFIXES = ("nodemaintenances", "nodemaintenance", "nm", "drain")
"""What may stand before the slash and the name of a drain."""


def is_drain(text: str) -> bool:
    """Whether a drain is named with its type, as it is printed here and by kubectl."""
    prefix, slash, _ = text.partition("/")
    return bool(slash) and prefix.partition(".")[0] in DRAIN_PREFIXES


def drain_name(text: str) -> str:
    """A drain, as NAME or nodemaintenance/NAME, as it is printed; also drain/NAME."""
    return subdomain(text.partition("/")[2] if is_drain(text) else text)


def volume_name(text: str) -> str:
    """A PersistentVolume, as NAME or pv/NAME."""
    prefixes = ("persistentvolumes/", "persistentvolume/", "pv/")
    return subdomain(next((text.removeprefix(one) for one in prefixes if text.startswith(one)), text))


def subdomain(text: str) -> str:
    """A DNS subdomain, such as the name of a requester."""
    return _checked(text, dns1123_subdomain)


def participant_name(text: str) -> str:
    """The name of a requester, an interceptor or a responder: a DNS subdomain, or a key of one."""
    return _checked(text, label_key if "/" in text else dns1123_subdomain)


def namespace_name(text: str) -> str:
    """A namespace."""
    return _checked(text, dns1123_label)


def label_name(text: str) -> str:
    """The key of a label, such as topology.kubernetes.io/zone; empty where there is none."""
    if text and label_key(text):
        raise click.BadParameter(
            f"{shown(text)} is not the key of a label; write letters, digits, '-', '_' and '.', with an "
            "optional DNS name and '/' before them, such as topology.kubernetes.io/zone"
        )
    return text


_MAX_NODES = re.compile(r"([1-9][0-9]{0,2}|1000)|([1-9][0-9]?|100)%")


def node_count(text: str) -> int | str:
    """A number of nodes, or a percentage of them."""
    if not _MAX_NODES.fullmatch(text):
        raise click.BadParameter(f"{text!r} is neither a number from 1 to 1000 nor a percentage such as 25%")
    return text if text.endswith("%") else int(text)


def span_between(shortest: float = 0.0, longest: float = _MAX_SECONDS) -> Callable[[str], dt.timedelta]:
    """A span of time within bounds: 90s, 30m, 1h30m, or seconds as a number."""

    def read(text: str) -> dt.timedelta:
        seconds = seconds_of(text.strip())
        if seconds is None and _VERY_LONG.fullmatch(text.strip()):
            seconds = math.inf
        if seconds is None:
            raise click.BadParameter(f"{shown(text)} is not a span of time; write 90s, 30m or 1h30m")
        if not shortest <= seconds <= longest:
            bounds = f"{_exact(shortest)} and {_exact(longest)}"
            raise click.BadParameter(f"{shown(text)} is not between {bounds}")
        return dt.timedelta(seconds=seconds)

    return read


def size_between(smallest: str, largest: str) -> Callable[[str], int]:
    """A number of bytes within bounds, as a quantity of Kubernetes: 512Mi, 2Gi."""
    lowest, highest = parse_quantity(smallest), parse_quantity(largest)

    def read(text: str) -> int:
        try:
            size = parse_quantity(text.strip())
        except ValueError:
            raise click.BadParameter(f"{shown(text)} is not a size; write 512Mi or 2Gi") from None
        if not lowest <= size <= highest:
            raise click.BadParameter(f"{shown(text)} is not between {smallest} and {largest}")
        return size.value()

    return read


def own_requester_name(user: str | None = None, limit: int = EVICTION_REQUEST.max_requester) -> str:
    """`USER.cli.vacate.dev`, with whatever a DNS name cannot hold made a dash."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", (_user() if user is None else user).lower()).strip("-")
    return fitted_requester(cleaned[:63].rstrip("-") or "someone", CLI_SUFFIX, limit)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no variable says it, and the machine does not know either
        return ""


def _exact(seconds: float) -> str:
    """A bound in the largest unit in which it is a whole number, as it can be typed."""
    for unit, sign in ((3600, "h"), (60, "m")):
        if seconds and seconds % unit == 0:
            return f"{seconds // unit:.0f}{sign}"
    return f"{seconds:g}s"


def _checked(text: str, rule: Callable[[str], list[str]]) -> str:
    if not text:
        raise click.BadParameter("it must not be empty")
    if field_errors := rule(text):
        raise click.BadParameter(f"{shown(text)}: {field_errors[0]}")
    return text


def shown(text: str) -> str:
    """What was typed, quoted, and cut where it is long."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
