"""Which pods a scale-down is to remove, and whose turn it is in their eviction requests.

The proposal has the workload controllers wait for each other. Where an autoscaler has chosen the pods, the
Deployment is scaled down in its turn, and the ReplicaSets in that of the Deployment; a surge is taken back in
the turn of the Deployment or autoscaler. In either case pods are deleted in the turn of the ReplicaSet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.eviction.dialects.registry import served_dialects
from vacate.interceptors.surge.downscale import is_downscale
from vacate.kube.surge import LOWEST_COST, is_marked
from vacate.runtime.controller import Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.reconcile import Key
from vacate.sdk.turnstate import is_wanted, needs_preparation


class ChosenPods:
    """Reads; writes nothing. Where no evictions are requested, no pod is chosen."""

    def __init__(self, deps: Deps) -> None:
        self._awaits_turns = deps.replicasets_await_turns
        self._requests = {one: deps.informers.requests(one) for one in served_dialects(deps.gates)}
        self._pods = deps.informers.informer(PODS, Pod).reader

    def sources(self, keys: Callable[[Pod], Iterable[Key]]) -> tuple[Source[Any], ...]:
        """What wakes a controller when the turn of a chosen pod changes; `keys` are found by the pod."""

        def of_request(request: EvictionRequest) -> Iterable[Key]:
            ref = request.spec.target.pod_ref
            pod = self._pods.get(request.metadata.namespace, ref.name) if ref else None
            return keys(pod) if pod is not None and self._concerns(request, pod) else ()

        return tuple(Source(one, of_request) for one in self._requests.values())

    def request_of(self, pod: Pod) -> EvictionRequest | None:
        """The open request by which the pod was chosen; None where it was not."""
        return next((one for one in self._open_requests(pod) if is_downscale(one)), None)

    def _open_requests(self, pod: Pod) -> list[EvictionRequest]:
        """Those by which a scale-down may remove the pod, and only in its turn."""
        meta, found = pod.metadata, []
        for dialect, informer in self._requests.items():
            one = informer.reader.get(meta.namespace, dialect.request_name(meta.name, meta.uid))
            if one is None or one.complete or not is_wanted(one) or not needs_preparation(one, pod):
                continue
            if self._concerns(one, pod):
                found.append(one)
        return found

    def _concerns(self, request: EvictionRequest, pod: Pod) -> bool:
        """Whether an autoscaler has chosen the pod, or a surge was taken back for it before its turn."""
        return is_downscale(request) or (self._awaits_turns and is_marked(pod, LOWEST_COST))

    def split(self, pods: Sequence[Pod]) -> tuple[list[Pod], list[Pod], list[Pod]]:
        """The pods that may be deleted now, those whose turn is yet to come, and those not chosen."""
        due, held, others = list[Pod](), list[Pod](), list[Pod]()
        for pod in pods:
            requests = self._open_requests(pod)
            waits = all(awaits(one, REPLICASET_INTERCEPTOR) for one in requests)
            (others if not requests else held if waits else due).append(pod)
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
