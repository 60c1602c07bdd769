"""What the caches and the server say about a Deployment whose pods are under eviction request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, PODS, REPLICASETS
from vacate.api.options import ListOptions
from vacate.api.times import EARLIEST
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod, ReplicaSet, condition
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    REPLACING,
    REPLICASET_INTERCEPTOR,
    TEMPLATE_HASH,
)
from vacate.cache.indexes import CONTROLLED, CONTROLLER, SCALING, autoscalers_of
from vacate.cache.owners import deployment_of
from vacate.eviction.dialects.registry import served_dialects
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.interceptors.surge.downscale import is_downscale
from vacate.interceptors.surge.plan import Turn
from vacate.kube.minreplicas import floor_record_of, scales
from vacate.kube.surge import MARKED
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.podrequests import request_for
from vacate.runtime.reconcile import Key
from vacate.sdk.turnstate import is_wanted, needs_preparation


class SurgeView:
    """Reads; writes nothing. What it finds of one Deployment costs the same however many others there are."""

    def __init__(self, deps: Dependencies) -> None:
        informers = deps.informers
        self._client = deps.client
        self.pods = informers.informer(PODS, Pod, indexes=CONTROLLED)
        self.replica_sets = informers.informer(REPLICASETS, ReplicaSet, indexes=CONTROLLED)
        self.deployments = informers.informer(DEPLOYMENTS, Deployment)
        self.autoscalers = informers.informer(
            HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler, indexes=SCALING
        )
        self.requests = {one: informers.requests(one) for one in served_dialects(deps.gates)}

    def deployment_of(self, pod: Pod) -> Deployment | None:
        """The Deployment that the pod belongs to."""
        return deployment_of(pod, self.replica_sets.reader, self.deployments.reader)

    def key_of_pod(self, pod: Pod) -> Iterable[Key]:
        """The Deployment to look at when a pod changes that is under request, or marked to go first."""
        meta = pod.metadata
        found = [
            request_for(dialect, informer.reader, meta.namespace, meta.name, meta.uid)
            for dialect, informer in self.requests.items()
        ]
        ours = any(one is not None and _lists_us(one) for one in found)
        return self._key(pod) if ours or MARKED in meta.annotations else ()

    def key_of_request(self, request: EvictionRequest) -> Iterable[Key]:
        """The Deployment of the pod that the request is about."""
        pod = self.pods.reader.get(request.metadata.namespace, request.pod_name)
        return self._key(pod) if pod is not None and _lists_us(request) else ()

    def key_of_replicaset(self, replica_set: ReplicaSet) -> Iterable[Key]:
        """The Deployment of the ReplicaSet, which may not be in the cache yet."""
        meta = replica_set.metadata
        owner = meta.controller
        return (Key(meta.namespace, owner.name),) if owner and owner.kind == DEPLOYMENTS.kind else ()

    def key_of_autoscaler(self, autoscaler: HorizontalPodAutoscaler) -> Iterable[Key]:
        """The Deployment that the autoscaler scales."""
        name = autoscaler.spec.scale_target_ref.name
        return (Key(autoscaler.metadata.namespace, name),) if scales(autoscaler, name) else ()

    def autoscalers_of(self, deployment: Deployment) -> list[HorizontalPodAutoscaler]:
        """Those that scale the Deployment: one, unless the user has made a mistake."""
        return self.autoscalers_of_key(Key(deployment.metadata.namespace, deployment.metadata.name))

    def autoscalers_of_key(self, key: Key) -> list[HorizontalPodAutoscaler]:
        """The same by the name of the Deployment, which may not be in the cache yet."""
        return autoscalers_of(self.autoscalers.reader, key.namespace, key.name)

    def is_floor_raised(self, deployment: Deployment) -> bool:
        """Whether an autoscaler of the Deployment carries a record: then marks are not to be taken back."""
        return any(floor_record_of(one) is not None for one in self.autoscalers_of(deployment))

    def _key(self, pod: Pod) -> Iterable[Key]:
        """The pod's Deployment, by its ReplicaSet, or by the names while caches fill in any order."""
        meta = pod.metadata
        found = self.deployment_of(pod)
        if found is not None:
            return (Key(meta.namespace, found.metadata.name),)
        owner, template = meta.controller, meta.labels.get(TEMPLATE_HASH, "")
        if owner is None or owner.kind != REPLICASETS.kind or not template:
            return ()
        return (Key(meta.namespace, owner.name.removesuffix(f"-{template}")),)

    def requested(self, deployment: Deployment) -> dict[str, Turn]:
        """The pods that are to be moved, by UID, oldest request first, and whose turn it is.

        Those whose replacement is left to an autoscaler are not among them.
        """
        found = [one for one in self.open_requests(deployment) if is_to_be_moved(one)]
        if self.autoscalers_of(deployment):
            found = [one for one in found if not lists_autoscaler(one)]
        return {one.pod_uid: turn_of(one) for one in found}

    def open_requests(self, deployment: Deployment) -> list[EvictionRequest]:
        """The requests for pods of the Deployment that are neither over nor terminating, the oldest first."""
        found = []
        for pod in self.cached_pods(deployment):
            meta = pod.metadata
            for dialect, informer in self.requests.items():
                request = request_for(dialect, informer.reader, meta.namespace, meta.name, meta.uid)
                if request is not None and _is_open(request, pod):
                    found.append(request)
        found.sort(key=_age)
        return found

    def chosen(self, deployment: Deployment) -> dict[str, Pod]:
        """The pods that an autoscaler has chosen to be scaled down, by UID, as the cache has them."""
        names = {one.pod_uid for one in self.open_requests(deployment) if is_downscale(one)}
        found = self.cached_pods(deployment) if names else ()
        return {pod.metadata.uid: pod for pod in found if pod.metadata.uid in names}

    def owned(self, deployment: Deployment) -> list[ReplicaSet]:
        """The ReplicaSets of the Deployment."""
        return self.replica_sets.reader.by_index(CONTROLLER, deployment.metadata.uid)

    def marked(self, deployment: Deployment) -> bool:
        """Whether pods of the Deployment are marked to go first, as far as the cache knows."""
        return any(MARKED in pod.metadata.annotations for pod in self.cached_pods(deployment))

    def cached_pods(self, deployment: Deployment) -> Iterable[Pod]:
        """The pods of the Deployment, as far as the cache knows."""
        for replica_set in self.owned(deployment):
            yield from self.pods.reader.by_index(CONTROLLER, replica_set.metadata.uid)

    async def live_pods(self, deployment: Deployment) -> list[Pod]:
        """The pods of the Deployment as the server has them: caches keep less of pods than is needed here."""
        owners = {one.metadata.uid for one in self.owned(deployment)}
        labels = ",".join(f"{key}={value}" for key, value in deployment.spec.selector.match_labels.items())
        listing = await self._client.list(
            PODS, deployment.metadata.namespace, ListOptions(label_selector=labels), into=Pod
        )
        return [pod for pod in listing.items if _controller(pod) in owners]


def _is_open(request: EvictionRequest, pod: Pod) -> bool:
    """Whether the request is one for us, and its pod is still to go."""
    if request.complete or not is_wanted(request) or not needs_preparation(request, pod):
        return False
    return _lists_us(request)


def is_to_be_moved(request: EvictionRequest) -> bool:
    """Whether the Deployment interceptor is to have the pod of an open request replaced, or has."""
    if is_downscale(request):
        return False
    declined = condition(request.status.conditions, declined_type(DEPLOYMENT_INTERCEPTOR))
    return declined is None or declined.status != "True"


def turn_of(request: EvictionRequest) -> Turn:
    """Whose turn it is, as the request says."""
    if request.status.active_interceptor_completed:
        return Turn.OTHER
    match request.status.active_interceptor_name:
        case name if name == DEPLOYMENT_INTERCEPTOR:
            return Turn.DEPLOYMENT
        case name if name == AUTOSCALER_INTERCEPTOR:
            return Turn.AUTOSCALER
        case name if name == REPLICASET_INTERCEPTOR:
            return Turn.REPLICASET
        case _:
            return Turn.OTHER


def is_handed_over(request: EvictionRequest) -> bool:
    """Whether the Deployment interceptor has had its turn: it is complete, or another's behind it."""
    names, active = [one.name for one in request.spec.interceptors], request.status.active_interceptor_name
    if active == DEPLOYMENT_INTERCEPTOR:
        return request.status.active_interceptor_completed
    if active not in names or DEPLOYMENT_INTERCEPTOR not in names:
        return False
    return names.index(active) < names.index(DEPLOYMENT_INTERCEPTOR)


def lists_autoscaler(request: EvictionRequest) -> bool:
    """Whether the autoscaler's interceptor has or had a turn in the request."""
    return any(one.name == AUTOSCALER_INTERCEPTOR for one in request.spec.interceptors)


def _lists_us(request: EvictionRequest) -> bool:
    """Whether the request is one for these interceptors at all: most of a cluster's are not."""
    return any(one.name in REPLACING for one in request.spec.interceptors)


def _controller(pod: Pod) -> str:
    return pod.metadata.controller.uid if pod.metadata.controller else ""


def _age(request: EvictionRequest) -> tuple[dt.datetime, str]:
    return request.metadata.creation_timestamp or EARLIEST, request.metadata.name
