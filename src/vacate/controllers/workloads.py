"""The workloads of pods as the caches have them, for what would help a pod that its budget holds."""

from __future__ import annotations

from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod
from vacate.cache.indexes import SCALING, autoscalers_of
from vacate.kube.workloads import Workload
from vacate.runtime.dependencies import Dependencies
from vacate.views.replacing import deployment_name

_GATE = "DeploymentInterceptor"


class Workloads:
    """Reads Deployments and autoscalers that the interceptors of Deployments watch in any case."""

    def __init__(self, deps: Dependencies) -> None:
        self._watched = deps.gates.enabled(_GATE)
        if self._watched:
            informers = deps.informers
            self._deployments = informers.informer(DEPLOYMENTS, Deployment).reader
            self._autoscalers = informers.informer(
                HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler, indexes=SCALING
            ).reader

    def of(self, pod: Pod) -> Workload | None:
        """The Deployment of a pod and what scales it; None for pods of others, and where it is not known."""
        name, namespace = deployment_name(pod), pod.metadata.namespace
        deployment = self._deployments.get(namespace, name) if name and self._watched else None
        if deployment is None:
            return None
        return Workload(deployment, autoscalers_of(self._autoscalers, namespace, name))
