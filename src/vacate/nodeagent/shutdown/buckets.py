"""PURE. The order in which pods end when their node shuts down, and where a shutdown under way stands.

A pod belongs to the bucket with the highest priority value that is not above its own; one below all of them
belongs to the lowest. Buckets end one after the other, from the lowest up, the pods of one at the same time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""From this value on a pod counts as critical, as in Kubernetes."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One entry of the configuration: pods from this priority value on have so many seconds to end."""

    priority: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ShutdownPod:
    """What the order needs to know of a pod."""

    uid: str
    namespace: str
    name: str
    priority: int
    grace_seconds: float
    interceptors: bool = False  # whether someone is registered to prepare its end
    responders_only: bool = False  # and has a turn by lifecycle.k8s.io only
    responder: str = ""  # one that the pod lists, by whose name its Eviction is found
    prepare_only: bool = False  # it is ended by another: the kubelet, after this agent is done

    @property
    def key(self) -> str:
        """How a person would name it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Group:
    """The pods of one bucket."""

    bucket: Bucket
    pods: tuple[ShutdownPod, ...] = ()

    def grace_of(self, pod: ShutdownPod) -> float:
        """The time allotted to the pod: the lesser of the bucket's and its own."""
        return min(self.bucket.seconds, pod.grace_seconds)

    def prepare_of(self, pod: ShutdownPod) -> float:
        """How long interceptors have: the bucket's time without the pod's own, and at least half of it."""
        if not pod.interceptors:
            return 0.0
        return self.bucket.seconds - min(pod.grace_seconds, self.bucket.seconds / 2)


def group_pods(buckets: Sequence[Bucket], pods: Iterable[ShutdownPod]) -> tuple[Group, ...]:
    """Every pod in its bucket, buckets in the order in which they end. Empty ones are there, too."""
    if not buckets:
        return ()
    ordered = sorted(buckets, key=lambda one: one.priority)
    values = [one.priority for one in ordered]
    members: list[list[ShutdownPod]] = [[] for _ in ordered]
    for pod in pods:
        members[max(bisect_right(values, pod.priority) - 1, 0)].append(pod)
    return tuple(
        Group(bucket, tuple(sorted(found, key=lambda one: (one.namespace, one.name, one.uid))))
        for bucket, found in zip(ordered, members, strict=True)
    )


def total_seconds(buckets: Iterable[Bucket]) -> float:
    """The longest that a shutdown can take."""
    return sum(one.seconds for one in buckets)


def fit(buckets: Sequence[Bucket], limit: float) -> tuple[Bucket, ...]:
    """The buckets, shortened in proportion where they do not fit into the time that there is.

    The machine goes down when the limit passes, whatever still runs. Were the times left as they are, the
    last bucket, the most important pods, would have none.
    """
    wanted = total_seconds(buckets)
    if wanted <= limit:
        return tuple(buckets)
    share = max(limit, 0.0) / wanted
    return tuple(replace(one, seconds=one.seconds * share) for one in buckets)


def spread(groups: Sequence[Group], seconds: float) -> tuple[Group, ...]:
    """The same groups with so much time in all: those with pods share it, the others have none."""
    filled = [one for one in groups if one.pods]
    wanted = total_seconds(one.bucket for one in filled)

    def share(group: Group) -> float:
        if not group.pods:
            return 0.0
        return seconds * group.bucket.seconds / wanted if wanted > 0 else seconds / len(filled)

    return tuple(replace(one, bucket=replace(one.bucket, seconds=share(one))) for one in groups)


@dataclass(frozen=True, slots=True)
class TerminatePod:
    """An order: this pod has so many seconds to end. Its interceptors have the first `prepare` of them."""

    pod: ShutdownPod
    seconds: float
    bucket: int  # its priority value
    prepare: float = 0.0


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Where it stands. `index` is the bucket under way; it is over when that is past the last one.

    Times are seconds on a clock that nobody sets back and that goes on while the agent restarts.
    """

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
