"""PURE. A shutdown under way: which bucket it is in, how long that lasts, and which pods to end now.

Times are seconds on a clock that nobody sets back and that goes on while the agent restarts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from vacate.nodeagent.shutdown.buckets import Group, ShutdownPod


@dataclass(frozen=True, slots=True)
class TerminatePod:
    """An order: this pod has so many seconds to end. Its interceptors have the first `prepare` of them."""

    pod: ShutdownPod
    seconds: float
    bucket: int  # its priority value
    prepare: float = 0.0


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Where it stands. `index` is the bucket under way; it is over when that is past the last one."""

    groups: tuple[Group, ...]
    started: float
    index: int = -1
    entered: float = 0.0  # when the bucket under way began
    deadline: float = 0.0  # when it is over at the latest
    unwatched: float = 0.0  # seconds before it started in which logind may have waited already

    @property
    def over(self) -> bool:
        """Whether every bucket had its turn."""
        return self.index >= len(self.groups)

    @property
    def group(self) -> Group | None:
        """The bucket under way."""
        return self.groups[self.index] if 0 <= self.index < len(self.groups) else None

    @property
    def pods(self) -> tuple[ShutdownPod, ...]:
        """Every pod that the shutdown ends."""
        return tuple(pod for group in self.groups for pod in group.pods)


def advance(shutdown: Shutdown, now: float, gone: Collection[str]) -> tuple[Shutdown, list[TerminatePod]]:
    """Go on as far as the time and the pods that are gone allow; say whom to end now.

    A bucket without pods, or whose pods are all gone, costs no time. None is passed over: also one that
    comes too late has its pods ended, with no time left to them.
    """
    orders: list[TerminatePod] = []
    while not shutdown.over and _is_over(shutdown, now, gone):
        shutdown = _enter(shutdown, now)
        orders += _orders(shutdown, shutdown.index, now, gone)
    return shutdown, orders


def resume(shutdown: Shutdown, now: float, gone: Collection[str]) -> list[TerminatePod]:
    """The orders that were given already, for an agent that has restarted: with the time that is left."""
    return [one for index in range(shutdown.index + 1) for one in _orders(shutdown, index, now, gone)]


def _is_over(shutdown: Shutdown, now: float, gone: Collection[str]) -> bool:
    group = shutdown.group
    return group is None or now >= shutdown.deadline or all(pod.uid in gone for pod in group.pods)


def _enter(shutdown: Shutdown, now: float) -> Shutdown:
    """The next bucket. It has its own time, and never so much that those after it would come too late."""
    index = shutdown.index + 1
    if index >= len(shutdown.groups):
        return replace(shutdown, index=index, entered=now, deadline=now)
    upto = sum(one.bucket.seconds for one in shutdown.groups[: index + 1])
    seconds = shutdown.groups[index].bucket.seconds
    deadline = max(min(now + seconds, shutdown.started + upto), now)
    return replace(shutdown, index=index, entered=now, deadline=deadline)


def _orders(shutdown: Shutdown, index: int, now: float, gone: Collection[str]) -> list[TerminatePod]:
    if index >= len(shutdown.groups):
        return []
    group = shutdown.groups[index]
    made = []
    for pod in group.pods:
        if pod.uid in gone:
            continue
        if index < shutdown.index:  # its time is over
            made.append(TerminatePod(pod, 0.0, group.bucket.priority))
            continue
        start = shutdown.entered + group.prepare_of(pod)
        until = min(start + group.grace_of(pod), shutdown.deadline)
        if pod.interceptors:
            start, until = min(start, shutdown.deadline), shutdown.deadline
        left = max(until - now, 0.0)
        prepare = min(max(start - now, 0.0), left)
        made.append(TerminatePod(pod, left, group.bucket.priority, prepare))
    return made
