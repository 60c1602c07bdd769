"""Which pods an autoscaler has chosen to be scaled down, and whose turn it is in their eviction requests.

The proposal has the workload controllers wait for each other: the Deployment is scaled down in the turn of
the autoscaler, its ReplicaSets in that of the Deployment, and pods are deleted in that of the ReplicaSet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vacate.admission.pods.workloads import AUTOSCALER_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.interceptors.surge.downscale import is_downscale
from vacate.runtime.controller import Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.reconcile import Key
from vacate.sdk.turnstate import is_wanted, needs_preparation


class ChosenPods:
    """Reads; writes nothing. Where eviction requests are not served, no pod is chosen."""

    def __init__(self, deps: Deps) -> None:
        served = deps.gates.enabled(EVICTIONREQUESTS.gate)
        self._requests = deps.informers.informer(EVICTIONREQUESTS, EvictionRequest) if served else None
        self._pods = deps.informers.informer(PODS, Pod).reader

    def sources(self, keys: Callable[[Pod], Iterable[Key]]) -> tuple[Source[Any], ...]:
        """What wakes a controller when the turn of a chosen pod changes; `keys` are found by the pod."""

        def of_request(request: EvictionRequest) -> Iterable[Key]:
            ref = request.spec.target.pod_ref
            pod = self._pods.get(request.metadata.namespace, ref.name) if ref else None
            return keys(pod) if pod is not None and is_downscale(request) else ()

        return (Source(self._requests, of_request),) if self._requests is not None else ()

    def request_of(self, pod: Pod) -> EvictionRequest | None:
        """The open request by which the pod was chosen; None where it was not."""
        meta = pod.metadata
        found = self._requests.reader.get(meta.namespace, meta.uid) if self._requests is not None else None
        if found is None or found.complete or not is_downscale(found) or not is_wanted(found):
            return None
        return found if needs_preparation(found, pod) else None

    def split(self, pods: Sequence[Pod]) -> tuple[list[Pod], list[Pod], list[Pod]]:
        """The pods that may be deleted now, those whose turn is yet to come, and those not chosen."""
        due, held, others = list[Pod](), list[Pod](), list[Pod]()
        for pod in pods:
            request = self.request_of(pod)
            place = others if request is None else held if awaits(request, REPLICASET_INTERCEPTOR) else due
            place.append(pod)
        return due, held, others

    def await_autoscaler(self, pods: Iterable[Pod]) -> bool:
        """Whether the turn of the autoscaler is not over for one of the pods."""
        found = map(self.request_of, pods)
        return any(one is not None and not is_past(one, AUTOSCALER_INTERCEPTOR) for one in found)


def awaits(request: EvictionRequest, interceptor: str) -> bool:
    """Whether the interceptor is still to have a turn. The last listed runs first."""
    names, active = [one.name for one in request.spec.interceptors], request.status.active_interceptor_name
    if interceptor not in names:
        return False
    return active not in names or names.index(active) > names.index(interceptor)


def is_past(request: EvictionRequest, interceptor: str) -> bool:
    """Whether the interceptor has had its turn, or has none."""
    if awaits(request, interceptor):
        return False
    status = request.status
    return status.active_interceptor_name != interceptor or status.active_interceptor_completed
