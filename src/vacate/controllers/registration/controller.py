"""The registration controller: annotates running pods of workloads that have opted in.

A registration counts from the moment at which a request is created, so opting in works for the pods of today;
a request that waits for a budget only is superseded by one that has the new interceptors.
Where a rule of the webhook has annotated a new pod already, nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from vacate.admission.pods.workloads import (
    EVICTION_PRIORITY,
    WORKLOADS,
    WorkloadKind,
    autoscaler_priority,
    is_opted_in,
    opt_in_error,
    registration_change,
)
from vacate.api.events import WARNING, EventNote, regarding
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, NAMESPACES, PODS, Kind
from vacate.api.types import HorizontalPodAutoscaler, Namespace, ObjectMeta, Pod
from vacate.api.workloads import OPT_IN
from vacate.cache.indexes import CONTROLLED, CONTROLLER, SCALING, HasMetadata, autoscalers_of
from vacate.cache.owners import changes_hands, owner_of
from vacate.cache.reader import Reader
from vacate.errors import NotFound
from vacate.kube.minreplicas import scales
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by new pods, and by whatever opts their workloads in or out."""
    registrar = RegistrationController(deps)
    informers = deps.informers
    pods = informers.informer(PODS, Pod)
    owners: list[Source[Any]] = []
    for workload in WORKLOADS:
        for kind, into in workload.owners.items():
            informer = informers.informer(kind, into)
            opts = partial(registrar.opt_in_changed, kind) if kind is workload.kind else changes_hands
            owners.append(Source(informer, partial(registrar.pods_below, workload, kind), when=opts))
    sources = (
        Source(pods, when=_owned_pod_changed),
        *owners,
        Source(
            informers.informer(HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler),
            registrar.pods_of_target,
            when=registrar.autoscaler_changed,
        ),
        Source(informers.informer(NAMESPACES, Namespace), registrar.pods_in, when=_opt_in_changed),
    )
    return Controller("registration", registrar, sources, deps, workers=2, refusals_on=pods)


def _owned_pod_changed(old: Pod | None, new: Pod | None) -> bool:
    if new is None or new.terminating or new.metadata.controller is None:
        return False
    return changes_hands(old, new) or old is None or old.metadata.annotations != new.metadata.annotations


def _opt_in_changed(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    return new is not None and (old is None or _opt_in(old) != _opt_in(new))


def _opt_in(obj: HasMetadata) -> tuple[str | None, str | None]:
    return obj.metadata.labels.get(OPT_IN), obj.metadata.annotations.get(OPT_IN)


def _registering(autoscaler: HorizontalPodAutoscaler) -> tuple[object, str | None]:
    return autoscaler.spec.scale_target_ref, autoscaler.metadata.annotations.get(EVICTION_PRIORITY)


class RegistrationController:
    """Brings one pod's registration in line with what its workload and namespace say."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._gates = deps.gates
        self._recorder = deps.recorder
        self._pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED).reader
        self._owners: dict[Kind, Reader[HasMetadata]] = {
            kind: deps.informers.informer(
                kind, into, indexes=None if kind is workload.kind else CONTROLLED
            ).reader
            for workload in WORKLOADS
            for kind, into in workload.owners.items()
        }
        self._autoscalers = deps.informers.informer(
            HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler, indexes=SCALING
        ).reader
        self._namespaces = deps.informers.informer(NAMESPACES, Namespace).reader
        self._caches: tuple[Reader[Any], ...] = (
            self._pods,
            *self._owners.values(),
            self._autoscalers,
            self._namespaces,
        )

    def pods_below(self, workload: WorkloadKind, kind: Kind, owner: HasMetadata) -> Iterable[Key]:
        """The pods of a workload, or of an owner between it and them."""
        if not self._synced():
            return ()
        owners, chain = [owner], [*workload.owners]
        for between in reversed(chain[: chain.index(kind)]):
            found = self._owners[between]
            owners = [one for above in owners for one in found.by_index(CONTROLLER, above.metadata.uid)]
        return [_key(pod) for one in owners for pod in self._pods.by_index(CONTROLLER, one.metadata.uid)]

    def pods_of_target(self, autoscaler: HorizontalPodAutoscaler) -> Iterable[Key]:
        """The pods of the Deployment that the autoscaler scales."""
        name, namespace = autoscaler.spec.scale_target_ref.name, autoscaler.metadata.namespace
        found = self._owners[DEPLOYMENTS].get(namespace, name) if scales(autoscaler, name) else None
        scaled = [one for one in WORKLOADS if one.scaled]
        return () if found is None else self.pods_below(scaled[0], DEPLOYMENTS, found)

    def opt_in_changed(self, kind: Kind, old: HasMetadata | None, new: HasMetadata | None) -> bool:
        """Whether a workload opts in or out. Says where its annotation cannot be read."""
        changed = _opt_in_changed(old, new)
        if new is not None and changed and (why := opt_in_error(new.metadata.annotations)):
            self._recorder.record(EventNote(regarding(kind, new), WARNING, "OptInIgnored", f"{why}."))
        return changed

    def autoscaler_changed(
        self, old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None
    ) -> bool:
        """Whether the registration of pods depends on the change. Says where a priority cannot be kept."""
        before, after = (None if one is None else _registering(one) for one in (old, new))
        if new is not None and before != after and (why := autoscaler_priority(new.metadata.annotations)[1]):
            about = regarding(HORIZONTALPODAUTOSCALERS, new)
            self._recorder.record(EventNote(about, WARNING, "EvictionPriorityRefused", f"{why}."))
        return before != after

    def pods_in(self, namespace: Namespace) -> Iterable[Key]:
        """The pods of one namespace that have a controller."""
        found = self._pods.list(namespace.metadata.name) if self._synced() else ()
        return [_key(pod) for pod in found if pod.metadata.controller]

    def _synced(self) -> bool:
        """While caches fill nothing is looked up in them: every pod is looked at when they are full, once."""
        return all(one.synced for one in self._caches)

    async def reconcile(self, key: Key) -> Outcome:
        """Register or unregister. A request that is blocked by a budget takes up who is registered then."""
        pod = self._pods.get(*key)
        if pod is None or pod.terminating or pod.terminal:
            return Done()
        change = self._change(pod)
        if change:
            patch = guarded(pod.metadata, {"metadata": {"annotations": change}})
            try:
                await self._client.patch(PODS, pod.metadata.name, patch, pod.metadata.namespace)
            except NotFound:
                return Done()
        return Done()

    def _change(self, pod: Pod) -> dict[str, str | None]:
        for workload in WORKLOADS:
            owner: HasMetadata | None = pod
            for kind in workload.owners:
                owner = None if owner is None else owner_of(owner.metadata, kind, self._owners[kind])
            if owner is not None:
                wanted = workload.registration(self._gates, self._autoscaler_of(owner.metadata))
                namespace = self._namespaces.get("", pod.metadata.namespace)
                labels = namespace.metadata.labels if namespace is not None else {}
                opted_in = is_opted_in(labels, owner.metadata.annotations)
                return registration_change(pod.metadata.annotations, wanted, opted_in=opted_in)
        return {}

    def _autoscaler_of(self, meta: ObjectMeta) -> Mapping[str, str] | None:
        """The annotations of the autoscaler of the Deployment of that name; None where there is none."""
        found = autoscalers_of(self._autoscalers, meta.namespace, meta.name)
        return found[0].metadata.annotations if found else None


def _key(pod: Pod) -> Key:
    return Key(pod.metadata.namespace, pod.metadata.name)
