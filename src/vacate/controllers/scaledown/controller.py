"""Keeps deletion costs on the pods of workloads that have opted in and state topology spread constraints.

The costs have to be there before the count is lowered: a ReplicaSet controller chooses the pods at once. So
they are kept all the time, which takes a write for a pod that comes to a domain with others, and no other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from vacate.admission.pods.workloads import is_opted_in
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, NODES, PODS, REPLICASETS
from vacate.api.types import Deployment, Namespace, Node, Pod, ReplicaSet
from vacate.api.workloads import OPT_IN
from vacate.cache.indexes import CONTROLLED, CONTROLLER, NODE, PLACED
from vacate.cache.owners import changes_hands, deployment_of_replicaset
from vacate.errors import NotFound
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.patches import guarded
from vacate.kube.spreadcosts import SPREAD_COST, cost_changes
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by pods that come, are bound or go, labels of nodes, and opting in or out."""
    spreading = ScaleDownController(deps)
    informers = deps.informers
    replica_sets = informers.informer(REPLICASETS, ReplicaSet)
    sources = (
        Source(informers.informer(PODS, Pod), _replicaset_of, when=_concerns_spread),
        Source(replica_sets, when=changes_hands),
        Source(informers.informer(DEPLOYMENTS, Deployment), spreading.replicasets_of, when=_opt_in_changed),
        Source(informers.informer(NAMESPACES, Namespace), spreading.replicasets_in, when=_opt_in_changed),
        Source(informers.informer(NODES, Node), spreading.replicasets_on, when=_labels_changed),
    )
    return Controller("scaledown", spreading, sources, deps, workers=2, refusals_on=replica_sets)


def _replicaset_of(pod: Pod) -> Iterable[Key]:
    owner = pod.metadata.controller
    if owner is not None and owner.kind == REPLICASETS.kind:
        yield Key(pod.metadata.namespace, owner.name)


def _concerns_spread(old: Pod | None, new: Pod | None) -> bool:
    return _reads(old) != _reads(new)


def _reads(pod: Pod | None) -> object:
    """What the costs depend on; nothing for a pod without constraints and without a cost of ours."""
    if pod is None:
        return None
    annotations = pod.metadata.annotations
    if not pod.spec.topology_spread_constraints and SPREAD_COST not in annotations:
        return None
    return pod.spec.node_name, pod.terminal, pod.terminating, annotations, pod.metadata.controller


def _labels_changed(old: Node | None, new: Node | None) -> bool:
    """A node may be seen after its pods, and get the labels of its place even later."""
    return new is not None and (old is None or old.metadata.labels != new.metadata.labels)


def _opt_in_changed(old: Deployment | Namespace | None, new: Deployment | Namespace | None) -> bool:
    return new is not None and (old is None or _opt_in(old) != _opt_in(new))


def _opt_in(obj: Deployment | Namespace) -> tuple[str | None, str | None]:
    return obj.metadata.labels.get(OPT_IN), obj.metadata.annotations.get(OPT_IN)


class ScaleDownController:
    """Brings the costs of the pods of one ReplicaSet in line with where they are."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._pods = deps.informers.informer(PODS, Pod, indexes={**CONTROLLED, **PLACED}).reader
        self._replica_sets = deps.informers.informer(REPLICASETS, ReplicaSet, indexes=CONTROLLED).reader
        self._deployments = deps.informers.informer(DEPLOYMENTS, Deployment).reader
        self._namespaces = deps.informers.informer(NAMESPACES, Namespace).reader
        self._nodes = deps.informers.informer(NODES, Node).reader

    def replicasets_of(self, deployment: Deployment) -> Iterable[Key]:
        """Those of one Deployment."""
        for one in self._replica_sets.by_index(CONTROLLER, deployment.metadata.uid):
            yield Key(one.metadata.namespace, one.metadata.name)

    def replicasets_in(self, namespace: Namespace) -> Iterable[Key]:
        """Those of one namespace."""
        for one in self._replica_sets.list(namespace.metadata.name):
            yield Key(one.metadata.namespace, one.metadata.name)

    def replicasets_on(self, node: Node) -> Iterable[Key]:
        """Those with pods on one node whose spread is kept."""
        pods = self._pods.by_index(NODE, node.metadata.name)
        return dict.fromkeys(key for pod in pods if _reads(pod) for key in _replicaset_of(pod))

    async def reconcile(self, key: Key) -> Outcome:
        """Write what differs."""
        replica_set = self._replica_sets.get(key.namespace, key.name)
        if replica_set is None or replica_set.metadata.deletion_timestamp is not None:
            return Done()
        pods = list(self._pods.by_index(CONTROLLER, replica_set.metadata.uid))
        found = {one.spec.node_name: self._nodes.get("", one.spec.node_name) for one in pods}
        labels = {name: node.metadata.labels for name, node in found.items() if node is not None}
        for pod, cost in cost_changes(pods, labels, wanted=self._is_opted_in(replica_set)):
            change = guarded(
                pod.metadata, {"metadata": {"annotations": {DELETION_COST: cost, SPREAD_COST: cost}}}
            )
            with contextlib.suppress(NotFound):
                await self._client.patch(PODS, pod.metadata.name, change, pod.metadata.namespace)
        return Done()

    def _is_opted_in(self, replica_set: ReplicaSet) -> bool:
        deployment = deployment_of_replicaset(replica_set, self._deployments)
        namespace = self._namespaces.get("", replica_set.metadata.namespace)
        labels = namespace.metadata.labels if namespace is not None else {}
        return deployment is not None and is_opted_in(labels, deployment.metadata.annotations)
