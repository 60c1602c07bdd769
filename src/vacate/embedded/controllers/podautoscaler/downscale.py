"""An autoscaler that is the first interceptor of its pods chooses by eviction requests which of them go.

The steps are those of the proposal's "HPA Downscaling example": requests for the pods that are too many,
then, in the autoscaler's turn, the lower count.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.admission.pods.workloads import autoscaler_priority
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, PODS, REPLICASETS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod, ReplicaSet
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR
from vacate.cache.indexes import CONTROLLED, CONTROLLER
from vacate.cache.owners import deployment_of
from vacate.embedded.controllers.chosenpods import ChosenPods, awaits
from vacate.errors import AlreadyExists, NotFound
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.registration import CONTROLLER_PRIORITY, PREFIXES
from vacate.kube.deletionorder import is_active, surplus
from vacate.runtime.dependencies import Deps

_REGISTERED = f"{PREFIXES[0]}/priority_{AUTOSCALER_INTERCEPTOR}"
_REASON = "fewer replicas are wanted"


class Downscaling:
    """Creates and withdraws the requests, and says when the count may be lowered."""

    def __init__(self, deps: Deps) -> None:
        informers = deps.informers
        self._deps = deps
        self._pods = informers.informer(PODS, Pod, indexes=CONTROLLED).reader
        self._replica_sets = informers.informer(REPLICASETS, ReplicaSet, indexes=CONTROLLED).reader
        self._deployments = informers.informer(DEPLOYMENTS, Deployment).reader
        self.chosen = ChosenPods(deps)

    def pods_of(self, autoscaler: HorizontalPodAutoscaler) -> list[Pod]:
        """The active pods of the Deployment, where the autoscaler is the first interceptor of all of them."""
        ref, namespace = autoscaler.spec.scale_target_ref, autoscaler.metadata.namespace
        if ref.kind != DEPLOYMENTS.kind or autoscaler_priority(autoscaler.metadata.annotations)[0] <= (
            CONTROLLER_PRIORITY
        ):
            return []
        deployment = self._deployments.get(namespace, ref.name)
        sets = self._replica_sets.by_index(CONTROLLER, deployment.metadata.uid) if deployment else []
        found = [pod for one in sets for pod in self._pods.by_index(CONTROLLER, one.metadata.uid)]
        active = [pod for pod in found if is_active(pod)]
        return active if all(_REGISTERED in pod.metadata.annotations for pod in active) else []

    def deployment_of(self, pod: Pod) -> Deployment | None:
        """The Deployment that the pod belongs to."""
        return deployment_of(pod, self._replica_sets, self._deployments)

    async def count(self, autoscaler: HorizontalPodAutoscaler, current: int, wanted: int) -> int:
        """The count to set now: the present one while pods are yet to be chosen or have no turn yet."""
        pods = self.pods_of(autoscaler)
        chosen = [pod for pod in pods if self.chosen.request_of(pod) is not None]
        if not chosen and wanted >= current:
            return wanted
        missing = len(pods) - wanted - len(chosen)
        if pods and missing > 0:
            others = [pod for pod in pods if pod not in chosen]
            await self._request(surplus(others, pods, missing, self._deps.clock.now()))
            return max(current, wanted)
        if missing < 0:
            await self._withdraw(chosen[:-missing])
        waiting = [one for one in map(self.chosen.request_of, chosen) if one is not None]
        begun = not any(awaits(one, AUTOSCALER_INTERCEPTOR) for one in waiting)
        return wanted if begun or wanted >= current else current

    async def _request(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            made = EVICTION_REQUEST.new_request(pod, AUTOSCALER_INTERCEPTOR, _REASON, None)
            try:
                await self._deps.client.create(EVICTIONREQUESTS, made, pod.metadata.namespace)
            except AlreadyExists:
                continue  # it goes for another reason, and its informer will show that

    async def _withdraw(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            request, meta = self.chosen.request_of(pod), pod.metadata
            if request is None or request.forbids_cancellation:
                continue
            names = [one.name for one in request.spec.requesters if one.name != AUTOSCALER_INTERCEPTOR]
            patch = EVICTION_REQUEST.requesters_patch(request, names)
            try:
                await self._deps.client.patch(EVICTIONREQUESTS, request.metadata.name, patch, meta.namespace)
            except NotFound:
                continue
