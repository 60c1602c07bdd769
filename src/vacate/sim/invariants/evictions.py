"""Evictions by the controllers: of the right pod, at the right time, and once."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

import orjson

from vacate.api.objects import dig
from vacate.api.types.core import Pod
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import DIALECTS
from vacate.sim.auditlog import RecordedRequest
from vacate.sim.invariants.completion import is_cancelled
from vacate.sim.invariants.history import Place, RequestHistory, Version, moment
from vacate.sim.invariants.turns import may_pass
from vacate.wire.message import Request

_EVICTION = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/eviction")
_READS = {
    dialect: re.compile(rf"/apis/{kind.api_version}/namespaces/([^/]+)/{kind.plural}/([^/]{{1,36}})[^/]*")
    for kind, dialect in DIALECTS.items()
}
Look = tuple[str, Dialect, Place]
MAX_READ_AGE = 60.0
"""Seconds: what was read longer ago is no look before an eviction."""


def concerns_evictions(request: Request) -> bool:
    """What an audit must keep for these invariants: evictions, and reads of single requests."""
    return bool(
        (request.method == "POST" and _EVICTION.fullmatch(request.path))
        or (request.method == "GET" and any(one.fullmatch(request.path) for one in _READS.values()))
    )


def eviction_breaches(
    heard: Iterable[RecordedRequest], histories: Sequence[RequestHistory], controllers: Container[str]
) -> Iterator[str]:
    """Evictions that a controller should not have asked for; those of others are theirs to answer for.

    It is enough that the requests of one API let the pod be evicted.
    """
    looks: dict[Look, RecordedRequest] = {}  # the last successful read of a request by each process
    for entry in heard:
        if entry.link not in controllers:
            continue
        if found := _EVICTION.fullmatch(entry.path):
            wrong = [list(_breaches(entry, found.group(1), looks, one)) for one in histories]
            for breach in min(wrong, key=len):
                yield f"{entry.at:.3f} s, {entry.link} evicts {found.group(2)}: {breach}"
        elif entry.accepted:
            for dialect, path in _READS.items():
                if found := path.fullmatch(entry.path):
                    looks[entry.link, dialect, _place(found)] = entry


def uid_of(entry: RecordedRequest) -> str:
    """The uid that an eviction asks for; empty where it asks for any."""
    return str(dig(orjson.loads(entry.body), "deleteOptions", "preconditions", "uid") or "")


def _place(found: re.Match[str]) -> Place:
    return found.group(1), found.group(2)


def _breaches(
    entry: RecordedRequest, namespace: str, looks: dict[Look, RecordedRequest], history: RequestHistory
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
        yield "no requester ever requested it"
    elif any(version and version.request.spec.interceptors for version in versions):
        yield from _look(entry, looks.get((entry.link, history.dialect, place)), history, place)


def _look(
    entry: RecordedRequest, look: RecordedRequest | None, history: RequestHistory, place: Place
) -> Iterator[str]:
    """Where there are interceptors the request itself is read just before, and must have allowed it."""
    if look is None or entry.at - look.answered > MAX_READ_AGE:
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
