"""Which notes become new events, which only count up an old one, and which are too many. No I/O."""

from __future__ import annotations

import datetime as dt
import re
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from vacate.api.events import EventNote, Regarding
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.entropy import Entropy
from vacate.queue.limits import TokenBucket

REMEMBERED = 4096  # as many as client-go keeps
BURST = 25  # events about one object at once
REFILL = 1.0 / 300.0  # and then one in five minutes

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

V = TypeVar("V")


class LruMap(Generic[V]):
    """A map that forgets what was not used for longest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[Hashable, V] = OrderedDict()  # least recently used first, at most _size

    def get(self, key: Hashable) -> V | None:
        """The value, now the most recently used."""
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    def put(self, key: Hashable, value: V) -> V:
        """Keep the value, and forget the oldest if there are too many."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._size:
            self._held.popitem(last=False)
        return value


@dataclass(slots=True)
class CorrelatedEvent:
    """An event as it is to be, or is, on the server."""

    body: Obj  # with count and lastTimestamp of the newest repeat
    repeat: bool = False  # whether the server has it already

    @property
    def name(self) -> str:
        """The event's own name."""
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The event's namespace."""
        return str(self.body["metadata"]["namespace"])

    def change(self) -> Obj:
        """What a repeat changes."""
        return {"count": self.body["count"], "lastTimestamp": self.body["lastTimestamp"]}


class Correlator:
    """Remembers what was written, to count repeats and to hold back chatter."""

    def __init__(self, component: str, host: str, entropy: Entropy) -> None:
        self._component = component
        self._host = host
        self._entropy = entropy
        self._written: LruMap[CorrelatedEvent] = LruMap(REMEMBERED)  # by everything that makes notes equal
        self._buckets: LruMap[TokenBucket] = LruMap(REMEMBERED)  # by object and type
        self._last_stamp = 0  # no two events carry the same nanosecond in their name

    def observe(self, note: EventNote, now: dt.datetime, monotonic: float) -> CorrelatedEvent | None:
        """What to write for a note; None where the object has had too many."""
        if not self._allowed(note, monotonic):
            return None
        identity = (*_subject(note.regarding), note.type, note.reason, note.message)
        known = self._written.get(identity)
        if known is None:
            return self._written.put(identity, CorrelatedEvent(self._event(note, now)))
        known.body["count"] += 1
        known.body["lastTimestamp"] = format_time(now)
        return known

    def _allowed(self, note: EventNote, monotonic: float) -> bool:
        key = (*_subject(note.regarding), note.type)
        bucket = self._buckets.get(key) or self._buckets.put(key, TokenBucket(REFILL, BURST))
        return bucket.try_take(monotonic)

    def _event(self, note: EventNote, now: dt.datetime) -> Obj:
        stamp = format_time(now)
        source = {"component": self._component, "host": self._host}
        return {
            "metadata": {
                "name": self._name(note.regarding.name, now),
                "namespace": note.regarding.namespace or "default",
            },
            "involvedObject": _reference(note.regarding),
            "reason": note.reason,
            "message": note.message,
            "source": {key: value for key, value in source.items() if value},
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": note.type,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }

    def _name(self, subject: str, now: dt.datetime) -> str:
        micros = (now - _EPOCH) // dt.timedelta(microseconds=1)
        self._last_stamp = max(micros * 1000, self._last_stamp + 1)
        name = f"{subject}.{self._last_stamp:x}"
        return name if len(name) <= 253 and _NAME.fullmatch(name) else self._entropy.uid()


def _subject(about: Regarding) -> tuple[str, ...]:
    return (about.kind, about.namespace, about.name, about.uid, about.api_version)


def _reference(about: Regarding) -> Obj:
    fields = {
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "apiVersion": about.api_version,
        "resourceVersion": about.resource_version,
    }
    return {key: value for key, value in fields.items() if value}
