"""What the controllers of DaemonSets and StatefulSets have in common."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from vacate.api.kinds import PODS, Kind
from vacate.api.selectors.labels import selector_of
from vacate.api.types import DaemonSet, Pod, StatefulSet
from vacate.api.types.apps import DaemonSetStatus, StatefulSetStatus
from vacate.cache.indexes import CONTROLLER, orphans_of
from vacate.cache.reader import Reader
from vacate.embedded.controllers.claims import Claims
from vacate.embedded.controllers.controllerrevisions.history import Collision, Recorded, RevisionHistory
from vacate.embedded.controllers.status import write_status
from vacate.errors import VacateError
from vacate.kube.availability import next_check
from vacate.kube.ownership import Claim, claim
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Done, Key, Later, Outcome

W = TypeVar("W", DaemonSet, StatefulSet)
Step = tuple[DaemonSetStatus | StatefulSetStatus, set[str], VacateError | None]
"""The status after a step, the names of the revisions that are used, and what went wrong."""


class RevisionedController(Generic[W]):
    """Claims pods, records the template, and takes one step at a time."""

    def __init__(self, deps: Dependencies, kind: Kind, into: type[W]) -> None:
        self._deps = deps
        self._kind = kind
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._workloads: Reader[W] = deps.informers.informer(kind, into).reader
        self._expectations = Expectations(deps.clock)
        self._claims = Claims(deps.client, kind, PODS, self._expectations)
        self._history = RevisionHistory(deps, kind)

    def may_own(self, workload: W, pod: Pod) -> bool:
        """Whether the pod can be one of the workload's, as far as that does not follow from labels."""
        return True

    async def step(self, workload: W, pods: Sequence[Pod], recorded: Recorded, now: dt.datetime) -> Step:
        """Make and delete pods."""
        raise NotImplementedError

    def owners(self, pod: Pod) -> Iterable[Key]:
        """The workload of the pod, or those that would adopt it."""
        meta = pod.metadata
        ref = meta.controller
        if ref is not None:
            return (Key(meta.namespace, ref.name),) if ref.kind == self._kind.kind else ()
        return [
            Key(one.metadata.namespace, one.metadata.name)
            for one in self._workloads.list(meta.namespace)
            if self.may_own(one, pod)
            and claim(one.metadata, selector_of(one.spec.selector), meta) is Claim.ADOPT
        ]

    async def reconcile(self, key: Key) -> Outcome:
        """Plan on what the cache shows, once it shows all of the last step's effects."""
        workload = self._workloads.get(*key)
        if workload is None:
            self._expectations.forget(key)
            self._history.forget_owner(key)
            return Done()
        if not self._expectations.satisfied(key, self._pods):
            return Later(self._expectations.expiry(key))
        meta, spec, status = workload.metadata, workload.spec, workload.status
        selector = selector_of(spec.selector)
        keys = (meta.uid, orphans_of(meta.namespace))
        found: list[Pod] = [pod for one in keys for pod in self._pods.by_index(CONTROLLER, one)]
        candidates = [pod for pod in found if self.may_own(workload, pod)]
        pods = await self._claims.claim(meta, selector, candidates)
        try:
            recorded = await self._history.record(meta, selector, spec.template, status.collision_count)
        except Collision:
            counted = msgspec.structs.replace(status, collision_count=(status.collision_count or 0) + 1)
            await write_status(self._deps.client, self._kind, meta, status, counted)
            return Done()
        now = self._deps.clock.now()
        new, live, error = await self.step(workload, pods, recorded, now)
        await write_status(self._deps.client, self._kind, meta, status, new)
        await self._history.drop_old(recorded.revisions, live, spec.revision_history_limit)
        if error is not None:
            raise error
        at = next_check(pods, spec.min_ready_seconds, now)
        return Done() if at is None else Later(at)
