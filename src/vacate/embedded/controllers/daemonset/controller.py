"""The DaemonSet controller: compares nodes with pods, plans one step, carries it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from vacate.api.kinds import DAEMONSETS, NODES, PODS
from vacate.api.selectors.labels import selector_of
from vacate.api.types import DaemonSet, Node, Pod
from vacate.api.types.apps import DaemonSetStatus
from vacate.cache.indexes import CONTROLLED, CONTROLLER, orphans_of
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.claims import Claims
from vacate.embedded.controllers.controllerrevisions.history import Collision, Recorded, RevisionHistory
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH, hash_of
from vacate.embedded.controllers.daemonset.plan import counts, plan_pods, pods_by_node
from vacate.embedded.controllers.daemonset.pods import PodWriter
from vacate.embedded.controllers.status import write_status
from vacate.kube.availability import next_check
from vacate.kube.ownership import Claim, claim
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Deps) -> Controller:
    """The controller, woken by daemon sets, by their pods, and by nodes that come, go or change."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    controller = DaemonSetController(deps)
    sources = (
        Source(deps.informers.informer(DAEMONSETS, DaemonSet)),
        Source(pods, keys=controller.owners),
        Source(deps.informers.informer(NODES, Node), keys=controller.all_keys, when=_node_changed),
    )
    return Controller("daemonset", controller, sources, deps, workers=2, backoff=retry_backoff())


def _node_changed(old: Node | None, new: Node | None) -> bool:
    """Heartbeats come often and change nothing that matters here."""
    if old is None or new is None:
        return True
    return old.metadata.labels != new.metadata.labels or old.spec != new.spec


class DaemonSetController:
    """Brings a pod to every node that takes one."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._nodes = deps.informers.informer(NODES, Node).reader
        self._daemon_sets = deps.informers.informer(DAEMONSETS, DaemonSet).reader
        self._expectations = Expectations(deps.clock)
        self._claims = Claims(deps.client, DAEMONSETS, PODS, self._expectations)
        self._history = RevisionHistory(deps, DAEMONSETS)
        self._writer = PodWriter(deps, self._expectations)

    def all_keys(self, _: Node) -> Iterable[Key]:
        """Every daemon set: any of them may want the node."""
        return [Key(one.metadata.namespace, one.metadata.name) for one in self._daemon_sets.list()]

    def owners(self, pod: Pod) -> Iterable[Key]:
        """The daemon set of the pod, or those that would adopt it."""
        meta = pod.metadata
        ref = meta.controller
        if ref is not None:
            return (Key(meta.namespace, ref.name),) if ref.kind == DAEMONSETS.kind else ()
        return [
            Key(one.metadata.namespace, one.metadata.name)
            for one in self._daemon_sets.list(meta.namespace)
            if claim(one.metadata, selector_of(one.spec.selector), meta) is Claim.ADOPT
        ]

    async def reconcile(self, key: Key) -> Outcome:
        """Plan on what the cache shows, once it shows all of the last step's effects."""
        daemon_set = self._daemon_sets.get(*key)
        if daemon_set is None:
            self._expectations.forget(key)
            self._history.forget_owner(key)
            return Done()
        if not self._expectations.satisfied(key, self._pods):
            return Later(self._expectations.expiry(key))
        meta, spec, status = daemon_set.metadata, daemon_set.spec, daemon_set.status
        selector = selector_of(spec.selector)
        own = self._pods.by_index(CONTROLLER, meta.uid)
        orphans = self._pods.by_index(CONTROLLER, orphans_of(meta.namespace))
        pods = await self._claims.claim(meta, selector, [*own, *orphans])
        try:
            recorded = await self._history.record(meta, selector, spec.template, status.collision_count)
        except Collision:
            counted = msgspec.structs.replace(status, collision_count=(status.collision_count or 0) + 1)
            await write_status(self._deps.client, DAEMONSETS, meta, status, counted)
            return Done()
        return await self._step(daemon_set, pods, recorded)

    async def _step(self, daemon_set: DaemonSet, pods: Sequence[Pod], recorded: Recorded) -> Outcome:
        now = self._deps.clock.now()
        meta, spec = daemon_set.metadata, daemon_set.spec
        update = hash_of(recorded.update)
        where = pods_by_node(daemon_set, self._nodes.list(), pods)
        plan = plan_pods(daemon_set, where, update, now)
        error = await self._writer.carry_out(daemon_set, plan, recorded.update)
        status = DaemonSetStatus(
            observed_generation=meta.generation,
            collision_count=daemon_set.status.collision_count,
            conditions=list(daemon_set.status.conditions),
            **counts(where, update, spec.min_ready_seconds, now),
        )
        await write_status(self._deps.client, DAEMONSETS, meta, daemon_set.status, status)
        used = {update, *(pod.metadata.labels.get(REVISION_HASH, "") for pod in pods)}
        live = {one.metadata.name for one in recorded.revisions if hash_of(one) in used}
        await self._history.drop_old(recorded.revisions, live, spec.revision_history_limit)
        if error is not None:
            raise error
        at = next_check(pods, spec.min_ready_seconds, now)
        return Done() if at is None else Later(at)
