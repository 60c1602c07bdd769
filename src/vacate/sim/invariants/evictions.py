"""Evictions by the controllers: of the right pod, at the right time, and once."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

import orjson

from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import dig
from vacate.api.types.core import Pod
from vacate.sim.auditlog import Heard
from vacate.sim.invariants.completion import is_cancelled
from vacate.sim.invariants.history import Place, RequestHistory, Version, moment
from vacate.sim.invariants.turns import may_pass
from vacate.wire.message import Request

_EVICTION = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/eviction")
_REQUEST = re.compile(rf"/apis/{EVICTIONREQUESTS.api_version}/namespaces/([^/]+)/evictionrequests/([^/]+)")
LONGEST_LOOK = 60.0
"""Seconds: what was read longer ago is no look before an eviction."""


def concerns_evictions(request: Request) -> bool:
    """What an audit must keep for these invariants: evictions, and reads of single requests."""
    return bool(
        (request.method == "POST" and _EVICTION.fullmatch(request.path))
        or (request.method == "GET" and _REQUEST.fullmatch(request.path))
    )


def eviction_breaches(
    heard: Iterable[Heard], history: RequestHistory, controllers: Container[str]
) -> Iterator[str]:
    """Evictions that a controller should not have asked for; those of others are theirs to answer for."""
    looks: dict[tuple[str, Place], Heard] = {}  # the last successful read of a request by each process
    for entry in heard:
        if entry.link not in controllers:
            continue
        if found := _REQUEST.fullmatch(entry.path):
            if entry.accepted:
                looks[entry.link, _place(found)] = entry
        elif found := _EVICTION.fullmatch(entry.path):
            for breach in _breaches(entry, found.group(1), looks, history):
                yield f"{entry.at:.3f} s, {entry.link} evicts {found.group(2)}: {breach}"


def uid_of(entry: Heard) -> str:
    """The uid that an eviction asks for; empty where it asks for any."""
    return str(dig(orjson.loads(entry.body), "deleteOptions", "preconditions", "uid") or "")


def _place(found: re.Match[str]) -> Place:
    return found.group(1), found.group(2)


def _breaches(
    entry: Heard, namespace: str, looks: dict[tuple[str, Place], Heard], history: RequestHistory
) -> Iterator[str]:
    uid = uid_of(entry)
    if not uid:
        yield "no uid was named, so it could be any pod of that name"
        return
    pod = history.pods.get(uid)
    if pod is None or _is_unevictable(pod):
        yield "the pod must not be evicted, or never was"
    place = (namespace, uid)
    versions = list(history.during(place, 0.0, entry.at))
    if not any(versions):
        yield "nobody ever asked for it"
    elif any(version and version.request.spec.interceptors for version in versions):
        yield from _look(entry, looks.get((entry.link, place)), history, place)


def _look(entry: Heard, look: Heard | None, history: RequestHistory, place: Place) -> Iterator[str]:
    """Where there are interceptors the request itself is read just before, and must have allowed it."""
    if look is None or entry.at - look.answered > LONGEST_LOOK:
        yield "the request was not read before"
        return
    seen = history.during(place, look.at, look.answered)
    if not any(may_evict(version, look.answered) for version in seen):
        yield f"the request, read at {look.answered:.3f} s, did not allow it"


def may_evict(version: Version | None, at: float) -> bool:
    """Whether a request in that state lets its pod be evicted: wanted, and all had their turn."""
    if version is None or version.request.complete:
        return False
    request = version.request
    if is_cancelled(request):
        return False
    if not request.spec.interceptors:
        return True
    last = request.status.active_interceptor_name == request.spec.interceptors[0].name
    return last and may_pass(request, moment(at))


def _is_unevictable(pod: Pod) -> bool:
    owner = pod.metadata.controller
    daemon = owner is not None and owner.kind == "DaemonSet"
    return daemon or "kubernetes.io/config.mirror" in pod.metadata.annotations
