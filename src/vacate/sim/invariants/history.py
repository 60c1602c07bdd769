"""The history of a server as steps of the requests of one API, each beside its pod at that revision."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.codec import codec_for
from vacate.embedded.store.log import Record
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.sim.run import EPOCH

Place = tuple[str, str]
"""Namespace, and UID of the pod."""

History = Iterable[tuple[float, Record]]
"""Records and the virtual seconds at which they reached the disk."""

_UID = 36
_PODS = codec_for(Pod)


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a request: as values, and as it was stored."""

    request: EvictionRequest
    raw: Obj

    @property
    def status(self) -> Obj:
        """The stored status."""
        found: Obj = self.raw.get("status") or {}
        return found


@dataclass(frozen=True, slots=True)
class Step:
    """One write of a request."""

    revision: int
    at: float  # virtual seconds
    place: Place
    before: Version | None  # None where it was created
    after: Version | None  # None where it was removed
    pod: Pod | None  # the request's pod, by uid, as of this revision

    @property
    def now(self) -> dt.datetime:
        """The true time of the write: no process' clock shows it, all are near it."""
        return moment(self.at)

    def __str__(self) -> str:
        return f"revision {self.revision}, {self.at:.3f} s, request {self.place[0]}/{self.place[1]}"


def moment(seconds: float) -> dt.datetime:
    """Virtual seconds as the true time."""
    return EPOCH + dt.timedelta(seconds=seconds)


class RequestHistory:
    """All steps in order, by request, and every pod that ever was, by uid."""

    def __init__(self, history: History, dialect: Dialect = EVICTION_REQUEST) -> None:
        self.dialect = dialect
        self._codec = codec_for(dialect.wire)
        self.pods: dict[str, Pod] = {}  # the last state of each
        # When each pod was gone or, where that is as good, had come to its end.
        self.ended: dict[str, float] = {}
        self.until = 0.0  # the time of the last record
        self._alive: dict[Place, Pod] = {}  # as of the record that is being read
        self._latest: dict[Place, Version] = {}  # likewise
        self._steps: dict[Place, list[Step]] = {}
        self.steps: list[Step] = []
        for at, record in history:
            self._read(at, record)

    def of(self, place: Place) -> list[tuple[float, Version | None]]:
        """The states of a request, and since when each."""
        return [(step.at, step.after) for step in self._steps.get(place, [])]

    def during(self, place: Place, begin: float, end: float) -> Iterator[Version | None]:
        """Every state that the request had in the span, the one before it too; None where it did not exist.

        Writes at the very beginning count as either: nobody can tell who was first.
        """
        steps = self._steps.get(place, [])
        first = bisect_left(steps, begin, key=_time)
        yield steps[first - 1].after if first else None
        for step in steps[first : bisect_right(steps, end, key=_time)]:
            yield step.after

    @property
    def places(self) -> list[Place]:
        """Of every request that ever was."""
        return list(self._steps)

    def _read(self, at: float, record: Record) -> None:
        self.until = at
        place = (record.namespace, record.name)
        if record.resource == PODS.resource:
            self._read_pod(at, place, record)
        elif record.resource == self.dialect.kind.resource:
            # Of either API the name begins with the UID of the pod.
            self._read_request(at, (record.namespace, record.name[:_UID]), record)

    def _read_pod(self, at: float, place: Place, record: Record) -> None:
        pod = _PODS.decode(record.value)
        if record.deleted or (pod.terminal and self.dialect is EVICTION_REQUEST):
            self.ended.setdefault(pod.metadata.uid, at)
        if record.deleted:
            self._alive.pop(place, None)
            return
        self._alive[place] = self.pods[pod.metadata.uid] = pod

    def _read_request(self, at: float, place: Place, record: Record) -> None:
        before = self._latest.pop(place, None)
        after = None
        if not record.deleted:
            after = Version(self.dialect.read(self._codec.decode(record.value)), orjson.loads(record.value))
            self._latest[place] = after
        step = Step(record.revision, at, place, before, after, self._pod_of(before or after))
        self.steps.append(step)
        self._steps.setdefault(place, []).append(step)

    def _pod_of(self, version: Version | None) -> Pod | None:
        if version is None:
            return None
        request = version.request
        found = self._alive.get((request.metadata.namespace, request.pod_name))
        return found if found is not None and found.metadata.uid == request.pod_uid else None


def _time(step: Step) -> float:
    return step.at
