"""The Deployment controller: reads the replica sets, makes one plan, carries it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from vacate.api.kinds import DEPLOYMENTS, PODS, REPLICASETS
from vacate.api.selectors.labels import selector_of
from vacate.api.types import Deployment, Pod, ReplicaSet
from vacate.api.types.apps import DeploymentStatus
from vacate.cache.indexes import CONTROLLED, CONTROLLER, orphans_of
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.claims import Claims
from vacate.embedded.controllers.deployment import events, progress
from vacate.embedded.controllers.deployment.replicasets import ReplicaSetWriter, failure_message
from vacate.embedded.controllers.deployment.revisions import REVISION, split
from vacate.embedded.controllers.deployment.rollout import Rollout, plan_rollout
from vacate.embedded.controllers.status import write_status
from vacate.errors import ApiError
from vacate.kube.ownership import Claim, claim
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by deployments, by replica sets, and by the last pods of a recreation."""
    pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED)
    replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet, indexes=CONTROLLED)
    deployments = deps.informers.informer(DEPLOYMENTS, Deployment)
    controller = DeploymentController(deps)
    sources: tuple[Source[Any], ...] = (
        Source(deployments),
        Source(replica_sets, keys=controller.owners),
        Source(pods, keys=controller.recreations, when=_gone),
    )
    return Controller("deployment", controller, sources, deps, workers=5, backoff=retry_backoff())


def _gone(old: Pod | None, new: Pod | None) -> bool:
    return new is None or (old is not None and new.terminal and not old.terminal)


class DeploymentController:
    """Brings the pods of a deployment to its template, step by step."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet).reader
        self._deployments = deps.informers.informer(DEPLOYMENTS, Deployment).reader
        self._expectations = Expectations(deps.clock)
        self._claims = Claims(deps.client, DEPLOYMENTS, REPLICASETS, self._expectations)
        self._writer = ReplicaSetWriter(deps, self._expectations)

    def owners(self, replica_set: ReplicaSet) -> Iterable[Key]:
        """The deployment of the replica set, or those that would adopt it."""
        meta = replica_set.metadata
        ref = meta.controller
        if ref is not None:
            return (Key(meta.namespace, ref.name),) if ref.kind == DEPLOYMENTS.kind else ()
        return [
            Key(one.metadata.namespace, one.metadata.name)
            for one in self._deployments.list(meta.namespace)
            if claim(one.metadata, selector_of(one.spec.selector), meta) is Claim.ADOPT
        ]

    def owners_of_pod(self, pod: Pod) -> Iterable[Key]:
        """The deployment of the pod's replica set."""
        ref = pod.metadata.controller
        if ref is None or ref.kind != REPLICASETS.kind:
            return ()
        replica_set = self._replica_sets.get(pod.metadata.namespace, ref.name)
        return self.owners(replica_set) if replica_set is not None else ()

    def recreations(self, pod: Pod) -> Iterable[Key]:
        """The deployment that waits for its old pods to be gone, if the pod's is one."""
        keys = self.owners_of_pod(pod)
        found = [(key, self._deployments.get(*key)) for key in keys]
        return [key for key, one in found if one is not None and one.spec.strategy.type == "Recreate"]

    async def reconcile(self, key: Key) -> Outcome:
        """Plan on what the cache shows, once it shows all of the last plan's effects."""
        deployment = self._deployments.get(*key)
        if deployment is None:
            self._expectations.forget(key)
            return Done()
        if not self._expectations.satisfied(key, self._replica_sets):
            return Later(self._expectations.expiry(key))
        selector = selector_of(deployment.spec.selector)
        if selector.everything:
            self._deps.recorder.record(events.selects_all(deployment))
            return Done()
        meta = deployment.metadata
        own = self._replica_sets.by_index(CONTROLLER, meta.uid)
        orphans = self._replica_sets.by_index(CONTROLLER, orphans_of(meta.namespace))
        claimed = await self._claims.claim(meta, selector, [*own, *orphans])
        now = self._deps.clock.now()
        rollout = plan_rollout(deployment, claimed, self._old_pods_alive(deployment, claimed), now)
        await self._carry_out(deployment, rollout)
        return Done() if rollout.recheck_at is None else Later(rollout.recheck_at)

    def _old_pods_alive(self, deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> bool:
        if deployment.spec.strategy.type != "Recreate":
            return False
        _, old = split(deployment, replica_sets)
        pods = (pod for one in old for pod in self._pods.by_index(CONTROLLER, one.metadata.uid))
        return any(not pod.terminal for pod in pods)

    async def _carry_out(self, deployment: Deployment, rollout: Rollout) -> None:
        if rollout.create is not None and not await self._create(deployment, rollout):
            return
        for change in rollout.changes:
            await self._writer.change(deployment, change)
        for old in rollout.forget:
            await self._writer.forget(old)
        if rollout.revision:
            deployment = await self._number(deployment, rollout.revision)
        await self._write_status(deployment, rollout.status)

    async def _create(self, deployment: Deployment, rollout: Rollout) -> bool:
        """Make the new replica set; on failure a condition says so, and the error is raised for a retry."""
        assert rollout.create is not None
        try:
            made = await self._writer.create(deployment, rollout.create)
        except ApiError as error:
            message = failure_message(rollout.create["metadata"]["name"], error)
            now = self._deps.clock.now()
            reason = progress.CREATE_FAILED
            status = progress.noted(deployment, deployment.status, reason, message, now)
            await self._write_status(deployment, status)
            raise
        if not made:
            collisions = (deployment.status.collision_count or 0) + 1
            status = msgspec.structs.replace(deployment.status, collision_count=collisions)
            await self._write_status(deployment, status)
        return made

    async def _number(self, deployment: Deployment, revision: str) -> Deployment:
        meta = deployment.metadata
        patch = guarded(meta, {"metadata": {"annotations": {REVISION: revision}}})
        written = await self._deps.client.patch(DEPLOYMENTS, meta.name, patch, meta.namespace)
        version = written["metadata"]["resourceVersion"]
        return msgspec.structs.replace(
            deployment, metadata=msgspec.structs.replace(meta, resource_version=version)
        )

    async def _write_status(self, deployment: Deployment, status: DeploymentStatus) -> None:
        meta = deployment.metadata
        await write_status(self._deps.client, DEPLOYMENTS, meta, deployment.status, status)
