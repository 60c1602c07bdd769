"""How many pods the controllers behind a budget's pods want."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import DEPLOYMENTS, REPLICASETS, Kind
from vacate.api.types import Deployment, OwnerReference, Pod, ReplicaSet
from vacate.cache.reader import Reader
from vacate.client.client import Client
from vacate.embedded.controllers.disruption.budget import ControllerScale, ScaleOf, SyncFailure
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.errors import ApiError, NotFound
from vacate.kube.ownership import group_of, refers_to

Found = ControllerScale | SyncFailure | None


class Scales:
    """Deployments and replica sets from the cache, anything else through its scale subresource."""

    def __init__(
        self, client: Client, replica_sets: Reader[ReplicaSet], deployments: Reader[Deployment]
    ) -> None:
        self._client = client
        self._replica_sets = replica_sets
        self._deployments = deployments

    async def behind(self, pods: Sequence[Pod]) -> ScaleOf:
        """Look up every controller once; the answers can then be asked for without waiting."""
        answers: dict[str, Found] = {}
        for pod in pods:
            ref = pod.metadata.controller
            if ref is not None and ref.uid not in answers:
                answers[ref.uid] = await self._find(ref, pod.metadata.namespace)
        return lambda ref, _: answers[ref.uid]

    async def _find(self, ref: OwnerReference, namespace: str) -> Found:
        return self._cached(ref, namespace) or await self._ask(ref, namespace)

    def _cached(self, ref: OwnerReference, namespace: str) -> ControllerScale | None:
        replica_set = self._replica_sets.get(namespace, ref.name)
        if replica_set is None or not refers_to(ref, REPLICASETS, replica_set.metadata):
            return None
        owner = replica_set.metadata.controller
        if owner is None or owner.kind != DEPLOYMENTS.kind:
            return ControllerScale(replica_set.metadata.uid, replica_set.spec.replicas)
        deployment = self._deployments.get(namespace, owner.name)
        if deployment is None or deployment.metadata.uid != owner.uid:
            return None
        return ControllerScale(deployment.metadata.uid, deployment.spec.replicas)

    async def _ask(self, ref: OwnerReference, namespace: str) -> Found:
        kind = _kind_of(ref)
        if kind is None:
            return SyncFailure(f'no matches for kind "{ref.kind}" in version "{ref.api_version}"')
        if kind.subresource("scale") is None:
            return SyncFailure(f"{kind.resource} does not implement the scale subresource")
        try:
            scale = await self._client.get(kind, ref.name, namespace, subresource="scale")
        except NotFound:
            return None
        except ApiError as error:
            return SyncFailure(str(error))
        if scale["metadata"].get("uid") != ref.uid:
            return None
        return ControllerScale(ref.uid, scale.get("spec", {}).get("replicas", 0))


def _kind_of(ref: OwnerReference) -> Kind | None:
    group = group_of(ref.api_version)
    return next((one for one in SERVED_KINDS if one.kind == ref.kind and one.group == group), None)
