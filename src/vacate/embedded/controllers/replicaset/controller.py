"""The ReplicaSet controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vacate.api.integers import parse_integer
from vacate.api.kinds import PODS, REPLICASETS
from vacate.api.selectors.labels import selector_of
from vacate.api.terminationreason import DECOMMISSIONED, UPDATE
from vacate.api.types import Pod, ReplicaSet
from vacate.cache.indexes import CONTROLLED, CONTROLLER, orphans_of
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.claims import Claims
from vacate.embedded.controllers.podcontrol import PodControl
from vacate.embedded.controllers.replicaset.replicas import (
    Failure,
    failure_of,
    missing_replicas,
    pod_from_template,
    replica_set_status,
)
from vacate.embedded.controllers.status import write_status
from vacate.errors import VacateError
from vacate.kube.availability import next_check
from vacate.kube.deletionorder import is_active, surplus
from vacate.kube.ownership import Claim, claim
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by replica sets and by the pods that are or could be theirs."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet, indexes=CONTROLLED)
    controller = ReplicaSetController(deps)
    sources: tuple[Source[Any], ...] = (
        Source(replica_sets),
        Source(pods, keys=owner_key),
        Source(pods, keys=controller.possible_owners, when=_orphan_changed),
    )
    return Controller("replicaset", controller, sources, deps, workers=5, backoff=retry_backoff())


def owner_key(pod: Pod) -> Iterable[Key]:
    """The replica set that manages the pod."""
    ref = pod.metadata.controller
    return (Key(pod.metadata.namespace, ref.name),) if ref and ref.kind == REPLICASETS.kind else ()


def _orphan_changed(old: Pod | None, new: Pod | None) -> bool:
    if new is None or new.metadata.controller is not None:
        return False
    if old is None:
        return True
    before, after = old.metadata, new.metadata
    return before.labels != after.labels or before.owner_references != after.owner_references


class ReplicaSetController:
    """Brings the number of pods to the wanted one and reports how many there are."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet).reader
        self._expectations = Expectations(deps.clock)
        self._claims = Claims(deps.client, REPLICASETS, PODS, self._expectations)
        self._writer = PodControl(deps, self._expectations, REPLICASETS)

    def possible_owners(self, pod: Pod) -> Iterable[Key]:
        """The replica sets that would adopt the pod."""
        if pod.metadata.controller is not None:
            return ()
        return [
            Key(one.metadata.namespace, one.metadata.name)
            for one in self._replica_sets.list(pod.metadata.namespace)
            if claim(one.metadata, selector_of(one.spec.selector), pod.metadata) is Claim.ADOPT
        ]

    async def reconcile(self, key: Key) -> Outcome:
        """Claim pods, make up the difference, write the status."""
        replica_set = self._replica_sets.get(*key)
        if replica_set is None:
            self._expectations.forget(key)
            return Done()
        settled = self._expectations.satisfied(key, self._pods)
        meta = replica_set.metadata
        own = self._pods.by_index(CONTROLLER, meta.uid)
        selector = selector_of(replica_set.spec.selector)
        orphans = self._pods.by_index(CONTROLLER, orphans_of(meta.namespace))
        active = await self._claims.claim(meta, selector, filter(is_active, [*own, *orphans]))
        leaving = [pod for pod in own if pod.terminating and not pod.terminal]
        terminating = sum(selector.matches(pod.metadata.labels) for pod in leaving)
        error = None
        if settled and meta.deletion_timestamp is None:
            error = await self._make_up(replica_set, active)
        failure = None if error is None else failure_of(replica_set, len(active), str(error))
        await self._write_status(replica_set, active, terminating, failure)
        if error is not None:
            raise error
        return self._outcome(key, replica_set, active, settled)

    def _outcome(self, key: Key, replica_set: ReplicaSet, active: Sequence[Pod], settled: bool) -> Outcome:
        moments = [next_check(active, replica_set.spec.min_ready_seconds, self._deps.clock.now())]
        if not settled:
            moments.append(self._expectations.expiry(key))
        return Later(min(found)) if (found := [at for at in moments if at is not None]) else Done()

    async def _make_up(self, replica_set: ReplicaSet, active: Sequence[Pod]) -> VacateError | None:
        missing = missing_replicas(replica_set, len(active))
        if missing > 0:
            return await self._writer.make(replica_set, missing, lambda: pod_from_template(replica_set))
        if missing < 0:
            going = surplus(active, self._related(replica_set), -missing, self._deps.clock.now())
            reason = scale_down_reason(replica_set, self._siblings(replica_set))
            return await self._writer.delete(replica_set, going, reason)
        return None

    def _related(self, replica_set: ReplicaSet) -> list[Pod]:
        """The pods of all replica sets with the same owner."""
        siblings = self._siblings(replica_set)
        return [pod for one in siblings for pod in self._pods.by_index(CONTROLLER, one.metadata.uid)]

    def _siblings(self, replica_set: ReplicaSet) -> Sequence[ReplicaSet]:
        """All replica sets with the same owner, such as the older ones of a deployment."""
        owner = replica_set.metadata.controller
        return [] if owner is None else list(self._replica_sets.by_index(CONTROLLER, owner.uid))

    async def _write_status(
        self, replica_set: ReplicaSet, active: Sequence[Pod], terminating: int, failure: Failure | None
    ) -> None:
        status = replica_set_status(replica_set, active, terminating, failure, self._deps.clock.now())
        meta = replica_set.metadata
        await write_status(self._deps.client, REPLICASETS, meta, replica_set.status, status)


# As a deployment notes them on its replica sets.
_REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"


def scale_down_reason(replica_set: ReplicaSet, siblings: Sequence[ReplicaSet]) -> str:
    """The termination reason of the pods that go.

    An older replica set of a deployment shrinks for the newer one. So does the newest where it is emptied
    although pods are wanted: that is how a deployment with the strategy Recreate begins.
    """
    desired = _number(replica_set, _DESIRED)
    if replica_set.metadata.controller is None or not desired:
        return DECOMMISSIONED
    newest = max((_number(one, _REVISION) for one in siblings), default=0)
    if _number(replica_set, _REVISION) < newest or replica_set.spec.replicas == 0:
        return UPDATE
    return DECOMMISSIONED


def _number(replica_set: ReplicaSet, annotation: str) -> int:
    text = replica_set.metadata.annotations.get(annotation, "")
    return parse_integer(text) or 0 if text.isdigit() else 0
