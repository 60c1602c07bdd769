"""What the caches and the server say about a StatefulSet whose members are under eviction request."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.kinds import PODS, STATEFULSETS
from vacate.api.options import ListOptions
from vacate.api.types import Pod, StatefulSet
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import STATEFULSET_INTERCEPTOR
from vacate.cache.indexes import CONTROLLED, CONTROLLER
from vacate.cache.owners import statefulset_of
from vacate.eviction.dialects.registry import served_dialects
from vacate.interceptors.statefulset.decision import Members
from vacate.kube.statefulsets import ordinal_of, unhealthy_ordinals
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.podrequests import request_for
from vacate.sdk.turnstate import is_wanted, needs_preparation

READ_INTERVAL_SECONDS = 1.5
"""Seconds for which the members that wait share one read of their pods."""


@dataclass(frozen=True, slots=True)
class _Read:
    at: float
    handed_over: frozenset[int]  # when the question was asked
    unhealthy: frozenset[int]


class StatefulSetView:
    """Reads; writes nothing."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED).reader
        self._stateful_sets = deps.informers.informer(STATEFULSETS, StatefulSet).reader
        self.requests = {one: deps.informers.requests(one) for one in served_dialects(deps.gates)}
        self._reads: dict[str, _Read] = {}
        self._granted: dict[str, str] = {}  # UIDs of pods that were handed over, with those of their sets

    def stateful_set_of(self, pod: Pod) -> StatefulSet | None:
        """The StatefulSet that the pod belongs to."""
        return statefulset_of(pod, self._stateful_sets)

    def member(self, request: EvictionRequest) -> Pod | None:
        """The pod that the request is about, if it is there, and is not about to go."""
        pod = self._pods.get(request.metadata.namespace, request.pod_name)
        return pod if needs_preparation(request, pod) else None

    def queue(self, stateful_set: StatefulSet) -> Members:
        """Who waits and who was handed over, by the caches and by what this process has just decided.

        The cache may not show yet that a turn is over; without the second the next member would go too.
        """
        handed_over: set[int] = set()
        waiting: set[int] = set()
        for pod in self._members(stateful_set):
            ordinal, uid = ordinal_of(stateful_set, pod), pod.metadata.uid
            requests = self._open_requests(pod)
            if ordinal is None or not requests:
                self._granted.pop(uid, None)
                continue
            if any(map(is_over, requests)):
                self._granted.pop(uid, None)
                handed_over.add(ordinal)
            elif uid in self._granted:
                handed_over.add(ordinal)
            elif any(one.status.active_interceptor_name == STATEFULSET_INTERCEPTOR for one in requests):
                waiting.add(ordinal)
        self._forget(stateful_set)
        return Members(handed_over, waiting, None)

    async def members(self, stateful_set: StatefulSet) -> Members:
        """The same with the health of all members as the server has it: caches keep less of pods.

        Who was handed over when the question was asked counts as down, whatever the answer shows of its pod.
        """
        read = self._reads.get(stateful_set.metadata.uid)
        if read is None or self._clock.monotonic() - read.at >= READ_INTERVAL_SECONDS:
            read = self._reads[stateful_set.metadata.uid] = await self._read(stateful_set)
        now = self.queue(stateful_set)
        handed_over = {*read.handed_over, *now.handed_over}
        return Members(handed_over, set(now.waiting) - handed_over, read.unhealthy)

    async def _read(self, stateful_set: StatefulSet) -> _Read:
        before, at = self.queue(stateful_set), self._clock.monotonic()
        labels = stateful_set.spec.selector.match_labels
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        listing = await self._client.list(
            PODS, stateful_set.metadata.namespace, ListOptions(label_selector=selector), into=Pod
        )
        owned = [pod for pod in listing.items if _controller(pod) == stateful_set.metadata.uid]
        unhealthy = unhealthy_ordinals(stateful_set, owned, self._clock.now())
        return _Read(at, frozenset(before.handed_over), frozenset(unhealthy))

    def grant(self, stateful_set: StatefulSet, pod: Pod) -> None:
        """Remember that the pod was handed over; what was read before that says too much."""
        self._granted[pod.metadata.uid] = stateful_set.metadata.uid
        self._reads.pop(stateful_set.metadata.uid, None)

    def _open_requests(self, pod: Pod) -> list[EvictionRequest]:
        """Those that go on, by whichever API."""
        meta = pod.metadata
        found = [
            request_for(dialect, informer.reader, meta.namespace, meta.name, meta.uid)
            for dialect, informer in self.requests.items()
        ]
        return [one for one in found if one is not None and not one.complete and is_wanted(one)]

    def _members(self, stateful_set: StatefulSet) -> list[Pod]:
        return self._pods.by_index(CONTROLLER, stateful_set.metadata.uid)

    def _forget(self, stateful_set: StatefulSet) -> None:
        here = {pod.metadata.uid for pod in self._members(stateful_set)}
        gone = [
            uid
            for uid, owner in self._granted.items()
            if owner == stateful_set.metadata.uid and uid not in here
        ]
        for uid in gone:
            del self._granted[uid]


def is_over(request: EvictionRequest) -> bool:
    """Whether this interceptor's turn on the request is over: the list is walked from its end."""
    names = [one.name for one in request.spec.interceptors]
    active = request.status.active_interceptor_name
    if not active or active not in names or STATEFULSET_INTERCEPTOR not in names:
        return False
    if active == STATEFULSET_INTERCEPTOR:
        return request.status.active_interceptor_completed
    return names.index(active) < names.index(STATEFULSET_INTERCEPTOR)


def _controller(pod: Pod) -> str:
    return pod.metadata.controller.uid if pod.metadata.controller else ""
