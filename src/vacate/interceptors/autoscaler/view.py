"""What the caches say about an autoscaler whose Deployment's pods are under eviction request."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod, ReplicaSet, condition
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.interceptors.surge.downscale import is_downscale
from vacate.interceptors.surge.plan import Turn
from vacate.interceptors.surge.view import SurgeView, lists_autoscaler, turn_of
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Key


class AutoscalerView:
    """Reads; writes nothing. Caches fill in any order, so every kind leads to the autoscaler by names."""

    def __init__(self, deps: Dependencies) -> None:
        self.surge = SurgeView(deps)

    def target_of(self, autoscaler: HorizontalPodAutoscaler) -> Deployment | None:
        """The Deployment that the autoscaler scales."""
        keys = self.surge.key_of_autoscaler(autoscaler)
        return next((self.surge.deployments.reader.get(*key) for key in keys), None)

    def is_alone(self, autoscaler: HorizontalPodAutoscaler, deployment: Deployment) -> bool:
        """Whether no other one scales the same Deployment."""
        found = self.surge.autoscalers_of(deployment)
        return [one.metadata.uid for one in found] == [autoscaler.metadata.uid]

    def requested(self, deployment: Deployment) -> dict[str, Turn]:
        """The pods that are to be moved by way of the autoscaler, by UID, the oldest request first."""
        found = self.surge.open_requests(deployment)
        return {one.pod_uid: turn_of(one) for one in found if is_for_autoscaler(one)}

    def keys_of_request(self, request: EvictionRequest) -> Iterable[Key]:
        """The autoscalers of the pod's Deployment."""
        return self._keys(self.surge.key_of_request(request)) if lists_autoscaler(request) else ()

    def keys_of_pod(self, pod: Pod) -> Iterable[Key]:
        """The same of a pod that is under request."""
        return self._keys(self.surge.key_of_pod(pod))

    def keys_of_replicaset(self, replica_set: ReplicaSet) -> Iterable[Key]:
        """The same of a ReplicaSet."""
        return self._keys(self.surge.key_of_replicaset(replica_set))

    def keys_of_deployment(self, deployment: Deployment) -> Iterable[Key]:
        """The same of a Deployment."""
        return self._keys([Key(deployment.metadata.namespace, deployment.metadata.name)])

    def _keys(self, deployments: Iterable[Key]) -> Iterable[Key]:
        for key in deployments:
            for one in self.surge.autoscalers_of_key(key):
                yield Key(key.namespace, one.metadata.name)


def is_for_autoscaler(request: EvictionRequest) -> bool:
    """Whether the interceptor is to have the pod of an open request replaced, or has."""
    if is_downscale(request):
        return False
    declined = condition(request.status.conditions, declined_type(AUTOSCALER_INTERCEPTOR))
    return lists_autoscaler(request) and (declined is None or declined.status != "True")
