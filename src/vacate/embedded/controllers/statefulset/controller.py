"""The StatefulSet controller: reads the members, plans one step, carries it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from vacate.api.kinds import PODS, STATEFULSETS
from vacate.api.selectors.labels import selector_of
from vacate.api.types import Pod, StatefulSet
from vacate.cache.indexes import CONTROLLED, CONTROLLER, orphans_of
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.claims import Claims
from vacate.embedded.controllers.controllerrevisions.history import Collision, Recorded, RevisionHistory
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH
from vacate.embedded.controllers.statefulset.plan import plan_members
from vacate.embedded.controllers.statefulset.pods import PodWriter
from vacate.embedded.controllers.statefulset.status import stateful_set_status
from vacate.embedded.controllers.status import write_status
from vacate.kube.availability import next_check
from vacate.kube.ownership import Claim, claim
from vacate.kube.statefulsets import ordinal_of
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Deps) -> Controller:
    """The controller, woken by stateful sets and by the pods that are or could be theirs."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    controller = StatefulSetController(deps)
    sources = (
        Source(deps.informers.informer(STATEFULSETS, StatefulSet)),
        Source(pods, keys=controller.owners),
    )
    return Controller("statefulset", controller, sources, deps, workers=5, backoff=retry_backoff())


class StatefulSetController:
    """Brings each member to its place and to its template."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._stateful_sets = deps.informers.informer(STATEFULSETS, StatefulSet).reader
        self._expectations = Expectations(deps.clock)
        self._claims = Claims(deps.client, STATEFULSETS, PODS, self._expectations)
        self._history = RevisionHistory(deps, STATEFULSETS)
        self._writer = PodWriter(deps, self._expectations)

    def owners(self, pod: Pod) -> Iterable[Key]:
        """The stateful set of the pod, or those that would adopt it."""
        meta = pod.metadata
        ref = meta.controller
        if ref is not None:
            return (Key(meta.namespace, ref.name),) if ref.kind == STATEFULSETS.kind else ()
        return [
            Key(one.metadata.namespace, one.metadata.name)
            for one in self._stateful_sets.list(meta.namespace)
            if ordinal_of(one, pod) is not None
            and claim(one.metadata, selector_of(one.spec.selector), meta) is Claim.ADOPT
        ]

    async def reconcile(self, key: Key) -> Outcome:
        """Plan on what the cache shows, once it shows all of the last step's effects."""
        stateful_set = self._stateful_sets.get(*key)
        if stateful_set is None:
            self._expectations.forget(key)
            self._history.forget_owner(key)
            return Done()
        if not self._expectations.satisfied(key, self._pods):
            return Later(self._expectations.expiry(key))
        pods = await self._members(stateful_set)
        meta, spec, status = stateful_set.metadata, stateful_set.spec, stateful_set.status
        selector = selector_of(spec.selector)
        try:
            recorded = await self._history.record(meta, selector, spec.template, status.collision_count)
        except Collision:
            counted = msgspec.structs.replace(status, collision_count=(status.collision_count or 0) + 1)
            await write_status(self._deps.client, STATEFULSETS, meta, status, counted)
            return Done()
        return await self._step(stateful_set, pods, recorded)

    async def _members(self, stateful_set: StatefulSet) -> list[Pod]:
        meta = stateful_set.metadata
        own = self._pods.by_index(CONTROLLER, meta.uid)
        orphans = self._pods.by_index(CONTROLLER, orphans_of(meta.namespace))
        candidates = [pod for pod in (*own, *orphans) if ordinal_of(stateful_set, pod) is not None]
        return await self._claims.claim(meta, selector_of(stateful_set.spec.selector), candidates)

    async def _step(self, stateful_set: StatefulSet, pods: Sequence[Pod], recorded: Recorded) -> Outcome:
        now = self._deps.clock.now()
        meta, spec, old = stateful_set.metadata, stateful_set.spec, stateful_set.status
        update = recorded.update.metadata.name
        current = old.current_revision or update
        plan = plan_members(stateful_set, update, pods, now)
        error = await self._writer.carry_out(stateful_set, plan, recorded)
        status = stateful_set_status(stateful_set, current, update, pods, now)
        await write_status(self._deps.client, STATEFULSETS, meta, old, status)
        live = {current, update, *(pod.metadata.labels.get(REVISION_HASH, "") for pod in pods)}
        await self._history.drop_old(recorded.revisions, live, spec.revision_history_limit)
        if error is not None:
            raise error
        at = next_check(pods, spec.min_ready_seconds, now)
        return Done() if at is None else Later(at)
