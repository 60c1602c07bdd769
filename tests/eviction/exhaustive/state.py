"""A request and its pod, reduced to what decisions depend on, with times in classes.

A state is turned into real objects for every step, so that the engine, the patches and the admission rules
are the real ones. What they write is read back into the classes. The budget and what the controller remembers
are in no state: each step of the controller is tried with every budget and every memory.
"""

from __future__ import annotations

import datetime as dt
from enum import Enum
from typing import NamedTuple

from vacate.api.objects import Obj
from vacate.api.times import format_exact_time, parse_time
from vacate.api.types.evictionrequest import ADMITTED_STAMP

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
DEADLINE = dt.timedelta(seconds=600)
UID = "11111111-1111-1111-1111-111111111111"
NAMES = ("c.example.com", "b.example.com", "a.example.com")  # as listed: the last has the first turn
REQUESTERS = ("x.example.com", "y.example.com")
MAX_REFUSALS = 1  # how many there were decides how long to wait, and nothing else


class Beat(Enum):
    """How old the heartbeat is."""

    NONE = None
    FRESH = dt.timedelta(0)
    STALE = -2 * DEADLINE
    FUTURE = dt.timedelta(days=3650)

    def written(self) -> str | None:
        """The class as a time."""
        return None if self.value is None else format_exact_time(NOW + self.value)


class PodIs(Enum):
    """What has become of the pod."""

    RUNNING = "running"
    TERMINATING = "terminating"
    ENDED = "ended"
    GONE = "gone"


class State(NamedTuple):
    """Everything that a decision can depend on."""

    interceptors: int
    requesters: frozenset[str] = frozenset(REQUESTERS[:1])
    active: str | None = None
    completed: bool = False
    beat: Beat = Beat.NONE
    forbids: bool = False
    deleted: bool = False
    refusals: int = 0
    stage: str = ""
    ended: str = ""  # the reason of Complete
    pod: PodIs = PodIs.RUNNING

    @property
    def names(self) -> tuple[str, ...]:
        """The interceptors as the request lists them."""
        return NAMES[len(NAMES) - self.interceptors :]

    def request(self) -> Obj:
        """The request as a server would have it."""
        meta: Obj = {
            "name": UID,
            "namespace": "shop",
            "uid": "r",
            "resourceVersion": "7",
            "creationTimestamp": format_exact_time(NOW - 4 * DEADLINE),
            "annotations": {ADMITTED_STAMP: "true"},
        }
        if self.deleted:
            meta |= {"deletionTimestamp": format_exact_time(NOW), "finalizers": ["example.com/stays"]}
        spec: Obj = {
            "type": "Soft",
            "target": {"podRef": {"name": "web", "uid": UID}},
            "requesters": [{"name": name} for name in sorted(self.requesters)],
            "interceptors": [{"name": name} for name in self.names],
            "heartbeatDeadlineSeconds": int(DEADLINE.total_seconds()),
        }
        return {"metadata": meta, "spec": spec, "status": self._status()}

    def _status(self) -> Obj:
        status: Obj = {
            "message": "",
            "evictionRequestCancellationPolicy": "Forbid" if self.forbids else "Allow",
            "conditions": [],
        }
        if self.active:
            status["activeInterceptorName"] = self.active
            status["activeInterceptorCompleted"] = self.completed
        if self.beat is not Beat.NONE:
            status["heartbeatTime"] = self.beat.written()
        if self.refusals:
            status["podEvictionStatus"] = {"failedAPIEvictionCounter": self.refusals}
        if self.stage:
            status["conditions"].append(condition("Progressing", self.stage))
        if self.ended:
            status["conditions"].append(condition("Complete", self.ended))
        return status

    def read(self, obj: Obj) -> State:
        """The state whose request this is."""
        status, spec = obj["status"], obj["spec"]
        reasons = {one["type"]: one["reason"] for one in status.get("conditions") or ()}
        counter = status.get("podEvictionStatus", {}).get("failedAPIEvictionCounter", 0)
        return self._replace(
            requesters=frozenset(one["name"] for one in spec.get("requesters") or ()),
            active=status.get("activeInterceptorName"),
            completed=bool(status.get("activeInterceptorCompleted")),
            beat=_beat_of(status.get("heartbeatTime")),
            forbids=status.get("evictionRequestCancellationPolicy") == "Forbid",
            deleted="deletionTimestamp" in obj["metadata"],
            refusals=min(counter, MAX_REFUSALS),
            stage=reasons.get("Progressing", ""),
            ended=reasons.get("Complete", ""),
        )

    def pod_object(self) -> Obj | None:
        """The pod as a server would have it."""
        if self.pod is PodIs.GONE:
            return None
        meta: Obj = {"name": "web", "namespace": "shop", "uid": UID}
        if self.pod is PodIs.TERMINATING:
            meta["deletionTimestamp"] = format_exact_time(NOW)
        phase = "Succeeded" if self.pod is PodIs.ENDED else "Running"
        return {"metadata": meta, "spec": {"nodeName": "node-1"}, "status": {"phase": phase}}

    @property
    def admission(self) -> State:
        """What an admission rule can see: of the pod, whether it is there and has not ended."""
        alive = self.pod in (PodIs.RUNNING, PodIs.TERMINATING)
        return self._replace(pod=PodIs.RUNNING if alive else PodIs.GONE)

    def later(self) -> State:
        """The same after more than a deadline in which nobody has done anything."""
        beat = Beat.STALE if self.beat is Beat.FRESH else self.beat
        return self._replace(beat=beat)


def condition(sort: str, reason: str) -> Obj:
    """A condition of the controller's."""
    when = format_exact_time(NOW - DEADLINE)
    return {"type": sort, "status": "True", "reason": reason, "message": "", "lastTransitionTime": when}


def _beat_of(text: str | None) -> Beat:
    if text is None:
        return Beat.NONE
    away = parse_time(text) - NOW
    if away > dt.timedelta(minutes=1):
        return Beat.FUTURE
    return Beat.STALE if away < -DEADLINE else Beat.FRESH
