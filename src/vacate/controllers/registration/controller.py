"""The registration controller: annotates running pods of workloads that have opted in.

A registration counts from the moment at which a request is created, so opting in works for the pods of today;
a request that waits for a budget only is superseded by one that has the new interceptors.
Where a rule of the webhook has annotated a new pod already, nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vacate.admission.pods.workloads import (
    EVICTION_PRIORITY,
    autoscaler_priority,
    is_opted_in,
    opt_in_error,
    registration,
    registration_change,
    stateful_registration,
)
from vacate.api.events import WARNING, EventNote, regarding
from vacate.api.kinds import (
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    NAMESPACES,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vacate.api.types import (
    Deployment,
    HorizontalPodAutoscaler,
    Namespace,
    ObjectMeta,
    Pod,
    ReplicaSet,
    StatefulSet,
)
from vacate.api.workloads import OPT_IN
from vacate.cache.indexes import CONTROLLED, CONTROLLER, SCALING, autoscalers_of
from vacate.cache.owners import changes_hands, deployment_of, statefulset_of
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
    sources = (
        Source(pods, when=_owned_pod_changed),
        Source(
            informers.informer(DEPLOYMENTS, Deployment), registrar.pods_of, when=registrar.deployment_changed
        ),
        Source(
            informers.informer(STATEFULSETS, StatefulSet), registrar.pods_of_set, when=registrar.set_changed
        ),
        Source(
            informers.informer(HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler),
            registrar.pods_of_target,
            when=registrar.autoscaler_changed,
        ),
        Source(informers.informer(REPLICASETS, ReplicaSet), registrar.pods_of_replicaset, when=changes_hands),
        Source(informers.informer(NAMESPACES, Namespace), registrar.pods_in, when=_opt_in_changed),
    )
    return Controller("registration", registrar, sources, deps, workers=2, refusals_on=pods)


def _owned_pod_changed(old: Pod | None, new: Pod | None) -> bool:
    if new is None or new.terminating or new.metadata.controller is None:
        return False
    return changes_hands(old, new) or old is None or old.metadata.annotations != new.metadata.annotations


_Opting = Deployment | StatefulSet | Namespace


def _opt_in_changed(old: _Opting | None, new: _Opting | None) -> bool:
    return new is not None and (old is None or _opt_in(old) != _opt_in(new))


def _opt_in(obj: _Opting) -> tuple[str | None, str | None]:
    return obj.metadata.labels.get(OPT_IN), obj.metadata.annotations.get(OPT_IN)


def _registering(autoscaler: HorizontalPodAutoscaler) -> tuple[object, str | None]:
    return autoscaler.spec.scale_target_ref, autoscaler.metadata.annotations.get(EVICTION_PRIORITY)


class RegistrationController:
    """Brings one pod's registration in line with what its workload and namespace say."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._gates = deps.gates
        self._recorder = deps.recorder
        self._wanted_of_sets = stateful_registration(deps.gates)
        self._pods = deps.informers.informer(PODS, Pod, indexes=CONTROLLED).reader
        self._replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet, indexes=CONTROLLED).reader
        self._deployments = deps.informers.informer(DEPLOYMENTS, Deployment).reader
        self._stateful_sets = deps.informers.informer(STATEFULSETS, StatefulSet).reader
        self._autoscalers = deps.informers.informer(
            HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler, indexes=SCALING
        ).reader
        self._namespaces = deps.informers.informer(NAMESPACES, Namespace).reader
        self._caches = (
            self._pods,
            self._replica_sets,
            self._deployments,
            self._stateful_sets,
            self._autoscalers,
            self._namespaces,
        )

    def pods_of(self, deployment: Deployment) -> Iterable[Key]:
        """The pods of one Deployment."""
        for replica_set in self._replica_sets.by_index(CONTROLLER, deployment.metadata.uid):
            yield from self._controlled_by(replica_set.metadata)

    def pods_of_target(self, autoscaler: HorizontalPodAutoscaler) -> Iterable[Key]:
        """The pods of the Deployment that the autoscaler scales."""
        name, namespace = autoscaler.spec.scale_target_ref.name, autoscaler.metadata.namespace
        found = self._deployments.get(namespace, name) if scales(autoscaler, name) else None
        return () if found is None else self.pods_of(found)

    def deployment_changed(self, old: Deployment | None, new: Deployment | None) -> bool:
        """Whether the Deployment opts in or out. Says where its annotation cannot be read."""
        return self._workload_changed(DEPLOYMENTS, old, new)

    def set_changed(self, old: StatefulSet | None, new: StatefulSet | None) -> bool:
        """The same of a StatefulSet."""
        return self._workload_changed(STATEFULSETS, old, new)

    def _workload_changed(
        self, kind: Kind, old: Deployment | StatefulSet | None, new: Deployment | StatefulSet | None
    ) -> bool:
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

    def pods_of_set(self, stateful_set: StatefulSet) -> Iterable[Key]:
        """The pods of one StatefulSet."""
        return self._controlled_by(stateful_set.metadata)

    def pods_of_replicaset(self, replica_set: ReplicaSet) -> Iterable[Key]:
        """The pods of one ReplicaSet."""
        return self._controlled_by(replica_set.metadata)

    def _controlled_by(self, meta: ObjectMeta) -> Iterable[Key]:
        return [_key(pod) for pod in self._pods.by_index(CONTROLLER, meta.uid)] if self._synced() else ()

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
        owner: Deployment | StatefulSet | None
        owner = found = deployment_of(pod, self._replica_sets, self._deployments)
        wanted = {} if found is None else registration(self._gates, self._autoscaler_of(found))
        if owner is None:
            wanted, owner = self._wanted_of_sets, statefulset_of(pod, self._stateful_sets)
        if owner is None:
            return {}
        namespace = self._namespaces.get("", pod.metadata.namespace)
        labels = namespace.metadata.labels if namespace is not None else {}
        opted_in = is_opted_in(labels, owner.metadata.annotations)
        return registration_change(pod.metadata.annotations, wanted, opted_in=opted_in)

    def _autoscaler_of(self, deployment: Deployment) -> Mapping[str, str] | None:
        """The annotations of the autoscaler of the Deployment; None where there is none."""
        meta = deployment.metadata
        found = autoscalers_of(self._autoscalers, meta.namespace, meta.name)
        return found[0].metadata.annotations if found else None


def _key(pod: Pod) -> Key:
    return Key(pod.metadata.namespace, pod.metadata.name)
