"""Carries out what a rollout wants done to replica sets."""

from __future__ import annotations

from vacate.api.kinds import REPLICASETS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Deployment, ReplicaSet
from vacate.embedded.controllers.deployment import events
from vacate.embedded.controllers.deployment.revisions import comparable
from vacate.embedded.controllers.deployment.rollout import Change
from vacate.errors import AlreadyExists, ApiError, Conflict, NotFound
from vacate.kube.patches import guarded
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key

_NAMESPACE_TERMINATING = "NamespaceTerminating"


class ReplicaSetWriter:
    """Writes replica sets and remembers what the cache must show before the next plan."""

    def __init__(self, deps: Dependencies, expectations: Expectations) -> None:
        self._deps = deps
        self._expectations = expectations

    async def create(self, deployment: Deployment, body: Obj) -> bool:
        """Make the replica set of the present template; finding it there already is as good.

        False where another replica set has the name that the template's hash gives.
        """
        namespace, name = deployment.metadata.namespace, body["metadata"]["name"]
        try:
            made = await self._deps.client.create(REPLICASETS, body, namespace)
        except AlreadyExists:
            return await self._is_ours(deployment, name)
        except ApiError as error:
            if not error.has_cause(_NAMESPACE_TERMINATING):
                self._deps.recorder.record(events.create_failed(deployment, failure_message(name, error)))
            raise
        self._wrote(deployment, made)
        size = body["spec"]["replicas"]
        if size > 0:
            self._deps.recorder.record(events.scaled(deployment, name, 0, size))
        return True

    async def _is_ours(self, deployment: Deployment, name: str) -> bool:
        found = await self._deps.client.get(REPLICASETS, name, deployment.metadata.namespace, into=ReplicaSet)
        owner = found.metadata.controller
        same = comparable(found.spec.template) == comparable(deployment.spec.template)
        if owner is None or owner.uid != deployment.metadata.uid or not same:
            return False
        self._expectations.created(_key(deployment), found.metadata.resource_version)
        return True

    async def change(self, deployment: Deployment, change: Change) -> None:
        """Give a replica set its size, annotations and minReadySeconds."""
        meta = change.target.metadata
        patch: Obj = {}
        if change.annotations:
            patch["metadata"] = {"annotations": change.annotations}
        spec = {}
        if change.resized:
            spec["replicas"] = change.replicas
        if change.min_ready_seconds != change.target.spec.min_ready_seconds:
            spec["minReadySeconds"] = change.min_ready_seconds
        if spec:
            patch["spec"] = spec
        changed = await self._deps.client.patch(REPLICASETS, meta.name, guarded(meta, patch), meta.namespace)
        self._wrote(deployment, changed)
        if change.resized:
            before = change.target.spec.replicas
            self._deps.recorder.record(events.scaled(deployment, meta.name, before, change.replicas))

    async def forget(self, old: ReplicaSet) -> None:
        """Delete a replica set of the past, if it is still as empty as it was when this was decided."""
        meta = old.metadata
        try:
            await self._deps.client.delete(
                REPLICASETS,
                meta.name,
                meta.namespace,
                DeleteOptions(
                    uid=meta.uid, resource_version=meta.resource_version, propagation_policy="Background"
                ),
            )
        except (NotFound, Conflict):
            return

    def _wrote(self, deployment: Deployment, written: Obj) -> None:
        self._expectations.created(_key(deployment), written["metadata"]["resourceVersion"])


def _key(deployment: Deployment) -> Key:
    return Key(deployment.metadata.namespace, deployment.metadata.name)


def failure_message(name: str, error: Exception) -> str:
    """How a failed creation is reported in events and conditions."""
    return f'Failed to create new replica set "{name}": {error}'
