"""How long pods take to start, to become ready and to stop, from what the pods of a snapshot show. Pure."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import Any

from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.api.untyped import controller_of
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.nodes.timings import NEVER, PodTimings
from vacate.maintenance.blockers import TERMINATION_OVERDUE

_LASTING = 200 * 365 * 86400.0  # Jobs too: how long their pods run cannot be seen
_UNKNOWN = (10.0, 5.0)  # seconds until containers run, and then until they are ready, where no pod shows it
_LONGEST = 3600.0  # what took longer waited for something else, such as an image that was not there
_QUICK_STOP = 1.0
_DEFAULT_GRACE = 30.0
_OVERDUE = TERMINATION_OVERDUE.total_seconds()


class Pace(Enum):
    """Where in the range a run assumes each time."""

    FAST = "fast"
    SLOW = "slow"
    DRAWN = "drawn"  # anywhere, for each pod by itself


@dataclass(frozen=True, slots=True)
class Range:
    """Seconds, at the best and at the worst."""

    least: float
    most: float

    def at(self, share: float) -> float:
        """What lies that far from the best, which is 0, to the worst, which is 1."""
        return self.least + share * (self.most - self.least)


@dataclass(frozen=True, slots=True)
class Observed:
    """What the pods of a snapshot show, by the uid of their controller."""

    start: Mapping[str, Range]
    ready: Mapping[str, Range]
    pods: int  # that show it
    any_start: Range
    any_ready: Range
    unready: frozenset[str]  # the uids of pods that run and are not ready: they stay so
    stops: Mapping[str, float]  # by the uid of a controller, or of a pod without: seconds of `preStop` sleep
    ending: Mapping[str, float] = field(default_factory=dict)  # by the uid of a pod: of its grace period left
    fixed_start: float | None = None  # in place of what is observed: until a pod is ready
    fixed_stop: float | None = None

    def timings_of(self, pod: SimulatedPod, share: Callable[[], float]) -> PodTimings:
        """The times of one pod in a run, which says for each how far from the best it is."""
        owner = pod.metadata.controller
        key = owner.uid if owner is not None else pod.metadata.uid
        start, ready = (
            self.start.get(key, self.any_start).at(share()),
            self.ready.get(key, self.any_ready).at(share()),
        )
        if self.fixed_start is not None:
            start, ready = self.fixed_start, 0.0
        grace = pod.spec.termination_grace_period_seconds
        slowest = _DEFAULT_GRACE if grace is None else float(grace)
        quick = min(max(self.stops.get(key, 0.0), _QUICK_STOP), slowest)
        if self.fixed_stop is not None:
            quick = slowest = min(self.fixed_stop, slowest)
        left = self.ending.get(pod.metadata.uid)
        if left is not None:  # how long it has been stopping already counts
            slowest = max(min(left, slowest), _QUICK_STOP)
            quick = min(quick, slowest)
        return PodTimings(
            start=start,
            ready=NEVER if pod.metadata.uid in self.unready else ready,
            stop=NEVER if left is not None and left < -_OVERDUE else Range(quick, slowest).at(share()),
            run=_LASTING,
        )

    def longest(self) -> float:
        """No pod takes longer to start and become ready."""
        if self.fixed_start is not None:
            return self.fixed_start
        ranges = ((*self.start.values(), self.any_start), (*self.ready.values(), self.any_ready))
        return sum(max(one.most for one in some) for some in ranges)


def observe(pods: Sequence[Obj], taken: dt.datetime | None = None) -> Observed:
    """Read the times of pods that run since their start, by their controllers, as they are at a moment."""
    starts, readies = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    unready, stops, ending, shown = set[str](), dict[str, float](), dict[str, float](), 0
    for pod in pods:
        key = _controller_uid(pod)
        stops[key] = max((_sleep(one) for one in dig(pod, "spec", "containers") or ()), default=0.0)
        if taken is not None and (left := seconds_left(pod, taken)) is not None:
            ending[str(dig(pod, "metadata", "uid"))] = left
        conditions = {one.get("type"): one for one in dig(pod, "status", "conditions") or ()}
        is_ready = dig(conditions, "Ready", "status") == "True"
        if dig(pod, "status", "phase") == "Running" and not is_ready:
            unready.add(str(dig(pod, "metadata", "uid")))
        times = _times(pod, conditions) if is_ready else None
        if times is not None:
            shown += 1
            starts[key].append(times[0])
            readies[key].append(times[1])
    everything = [_range(chain.from_iterable(found.values())) for found in (starts, readies)]
    any_start, any_ready = (
        found or Range(known, 3 * known) for found, known in zip(everything, _UNKNOWN, strict=True)
    )
    return Observed(
        _ranges(starts), _ranges(readies), shown, any_start, any_ready, frozenset(unready), stops, ending
    )


def seconds_left(pod: Obj, now: dt.datetime) -> float | None:
    """What a terminating pod has left of its grace period, which is less than nothing where it is overdue."""
    try:
        return (parse_time(pod["metadata"]["deletionTimestamp"]) - now).total_seconds()
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def is_overdue(pod: Obj, now: dt.datetime) -> bool:
    """Whether a pod should have ended long ago: what keeps it is not known, and goes on."""
    left = seconds_left(pod, now)
    return left is not None and left < -_OVERDUE


def _controller_uid(pod: Obj) -> str:
    return str(controller_of(pod).get("uid") or dig(pod, "metadata", "uid"))


def _sleep(container: Any) -> float:
    seconds = dig(container, "lifecycle", "preStop", "sleep", "seconds")
    return float(seconds) if isinstance(seconds, int) and 0 <= seconds < _LONGEST else 0.0


def _times(pod: Obj, conditions: Mapping[Any, Obj]) -> tuple[float, float] | None:
    """Seconds from its node to running containers, and from there until it was ready; None where unknown."""
    statuses = dig(pod, "status", "containerStatuses") or ()
    if not statuses or any(one.get("restartCount") for one in statuses):
        return None
    try:
        began = max(parse_time(one["state"]["running"]["startedAt"]) for one in statuses)
        placed = parse_time(conditions["PodScheduled"]["lastTransitionTime"])
        ready = parse_time(conditions["Ready"]["lastTransitionTime"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    start, rest = (began - placed).total_seconds(), (ready - began).total_seconds()
    return (max(start, 0.0), max(rest, 0.0)) if start <= _LONGEST and rest <= _LONGEST else None


def _range(seconds: Iterable[float]) -> Range | None:
    """Without the fastest and the slowest tenth: a single outlier says nothing about the next pod."""
    found = sorted(seconds)
    return Range(found[len(found) // 10], found[len(found) * 9 // 10]) if found else None


def _ranges(by_owner: Mapping[str, Sequence[float]]) -> dict[str, Range]:
    return {key: found for key, seconds in by_owner.items() if (found := _range(seconds)) is not None}
