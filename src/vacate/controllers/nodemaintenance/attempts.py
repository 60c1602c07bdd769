"""What one process remembers of the evictions that it has requested for a maintenance."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import Blocker
from vacate.kube.workloads import Workload
from vacate.maintenance.blockers import from_refusal
from vacate.runtime.reconcile import MAX_RETRY_SECONDS

CACHE_LAG = dt.timedelta(seconds=MAX_RETRY_SECONDS)
"""A request that was made is taken as made for so long, though the cache does not show it."""

FIRST_PAUSE = 1.0
"""Seconds between two requests for one pod, when another client deletes the first or it is refused: doubled
each time, up to `MAX_RETRY_SECONDS`."""


@dataclass(slots=True)
class Attempt:
    """A request that was made for a pod: when, how often, and why it was refused."""

    at: dt.datetime
    count: int = 1
    refused: str = ""  # the server's message
    unclear: bool = False  # the answer may be another at once: it is reported only when it is given again
    request: EvictionRequest | None = None


class RememberedRefusals:
    """What holds the pods whose evictions were refused: it is worked out anew where anything of it changed.

    Most of them are as they were when their node was last looked at, which each change of a pod leads to.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[object, ...], Blocker]] = {}  # by the UID of the pod

    def blocker(
        self,
        pod: Pod,
        request: EvictionRequest,
        budgets: Sequence[PodDisruptionBudget],
        unscheduled: Sequence[Pod],
        workload: Workload | None,
    ) -> Blocker:
        """As `from_refusal`; objects of a cache are compared by identity first."""
        asked = (pod, request, tuple(budgets), tuple(unscheduled), workload)
        before = self._known.get(pod.metadata.uid)
        if before is not None and before[0] == asked:
            return before[1]
        made = from_refusal(pod, request, budgets, unscheduled, workload)
        self._known[pod.metadata.uid] = asked, made
        return made

    def keep(self, uids: set[str]) -> None:
        """Forget all other pods."""
        for uid in self._known.keys() - uids:
            del self._known[uid]


@dataclass(slots=True)
class WriteAttempts:
    """What this process remembers of one maintenance. Losing it costs a few requests, and nothing else."""

    by_pod: dict[str, Attempt] = field(default_factory=dict)
    # What was refused at the last try, with the server's message: pods by UID, nodes by name.
    deletions: dict[str, str] = field(default_factory=dict)
    evictions: dict[str, Attempt] = field(default_factory=dict)  # past a request that cannot be replaced
    withdrawals: dict[str, str] = field(default_factory=dict)  # by namespace/pod
    nodes: dict[tuple[str, str], str] = field(default_factory=dict)  # by kind of blocker and node
    forced: dict[str, list[str]] = field(default_factory=dict)  # by node: pods that no status has yet
    # Pods whose requests went past a budget or an interceptor, by UID.
    passed: dict[str, str] = field(default_factory=dict)  # namespace/name
    placed: dict[str, str] = field(default_factory=dict)  # the nodes of pods that have interceptors
    counted: set[str] = field(default_factory=set)  # those that are on record, or will be
    blockers: list[Blocker] | None = None  # all that were reported last; a status has only the first
    claimed: set[str] = field(default_factory=set)  # the nodes that carried the claim at the last look
    empty: set[str] = field(default_factory=set)  # nodes on which the API server has shown no pods left
    refusals: RememberedRefusals = field(default_factory=RememberedRefusals)

    def due(self, pod: Pod, now: dt.datetime) -> dt.datetime | None:
        """When the pod may be requested again; None where at once."""
        return _again(self.by_pod.get(pod.metadata.uid), now)

    def due_by_tier(self, pods: Iterable[Pod], now: dt.datetime) -> Iterator[list[Pod]]:
        """The pods that may be requested now, the lowest priority first; each list is tried before the next.

        Pods that cannot be requested are overtaken by others of their node. What refuses them may refuse all
        alike, and end at any moment: others are requested only where those were just refused again.
        """
        waiting: set[str] = set()  # nodes whose other pods are not requested now
        for _, tier in groupby(sorted(pods, key=_priority), key=_priority):
            members = [pod for pod in tier if pod.spec.node_name not in waiting]
            due = [pod for pod in members if self.due(pod, now) is None]
            refused = [pod for pod in due if self._is_refused(pod)]
            yield due
            accepted = [pod for pod in refused if not self._is_refused(pod)]
            waiting |= {pod.spec.node_name for pod in members if pod not in due or pod in accepted}

    def _is_refused(self, pod: Pod) -> bool:
        found = self.by_pod.get(pod.metadata.uid)
        return found is not None and bool(found.refused)

    def eviction_due(self, pod: Pod, now: dt.datetime) -> dt.datetime | None:
        """When the eviction API may be asked again, past a request; None where at once."""
        return _again(self.evictions.get(pod.metadata.uid), now)

    def made(self, pod: Pod, now: dt.datetime) -> EvictionRequest | None:
        """The request that was just made for the pod, which the cache may not show yet."""
        found = self.by_pod.get(pod.metadata.uid)
        return found.request if found is not None and abs(now - found.at) < CACHE_LAG else None

    def seen(self, pod: Pod, request: EvictionRequest) -> None:
        """The cache shows a request for the pod: from now on it is right, also when it shows none."""
        if request.spec.interceptors:
            self.placed[pod.metadata.uid] = pod.spec.node_name
        if (found := self.by_pod.get(pod.metadata.uid)) is not None:
            found.request = None

    def unseen_until(self) -> dt.datetime | None:
        """When the first request that the cache does not show is no longer taken as made."""
        return min((one.at + CACHE_LAG for one in self.by_pod.values() if one.request), default=None)

    def refused(self) -> dict[str, str]:
        """By the UID of the pod: why its last request was refused."""
        return {
            uid: one.refused
            for uid, one in self.by_pod.items()
            if one.refused and not (one.unclear and one.count < 2)
        }

    def force(self, pod: Pod) -> None:
        """A pod was removed past what protects it: to be reported."""
        meta = pod.metadata
        self.force_named(meta.uid, pod.spec.node_name, f"{meta.namespace}/{meta.name}")

    def force_named(self, uid: str, node: str, name: str) -> None:
        """The same of a pod that may be gone; each is reported once."""
        if uid not in self.counted:
            self.counted.add(uid)
            self.forced.setdefault(node, []).append(name)

    def keep(self, uids: set[str]) -> None:
        """Forget all other pods."""
        self.refusals.keep(uids)
        self.by_pod = {uid: one for uid, one in self.by_pod.items() if uid in uids}
        self.evictions = {uid: one for uid, one in self.evictions.items() if uid in uids}


def _priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def _again(found: Attempt | None, now: dt.datetime) -> dt.datetime | None:
    if found is None:
        return None
    pause = min(FIRST_PAUSE * 2.0 ** min(found.count - 1, 10), MAX_RETRY_SECONDS)
    due = found.at + dt.timedelta(seconds=pause)
    # A clock that was set back must not hold a drain.
    return due if now < due <= now + dt.timedelta(seconds=MAX_RETRY_SECONDS) else None
