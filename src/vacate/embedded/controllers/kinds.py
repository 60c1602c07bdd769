"""As what each stored kind is cached, for controllers that follow all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.api.types import (
    ConfigMap,
    ControllerRevision,
    DaemonSet,
    Deployment,
    HorizontalPodAutoscaler,
    Job,
    Lease,
    Namespace,
    Node,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ServiceAccount,
    StatefulSet,
    StorageClass,
)
from vacate.api.types.meta import Projection
from vacate.cache.informer import Informer
from vacate.embedded.registry.kinds import served_kinds
from vacate.eviction.dialects.registry import DIALECTS
from vacate.features import FeatureGates
from vacate.runtime.dependencies import InformerFactory


class MetadataOnly(Projection, frozen=True):
    """An object of which only the metadata matters."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


_KNOWN: Mapping[Kind, type[Any]] = {
    kinds.NAMESPACES: Namespace,
    kinds.NODES: Node,
    kinds.PODS: Pod,
    kinds.CONFIGMAPS: ConfigMap,
    kinds.SERVICEACCOUNTS: ServiceAccount,
    kinds.PERSISTENTVOLUMES: PersistentVolume,
    kinds.PERSISTENTVOLUMECLAIMS: PersistentVolumeClaim,
    kinds.STORAGECLASSES: StorageClass,
    kinds.DEPLOYMENTS: Deployment,
    kinds.REPLICASETS: ReplicaSet,
    kinds.STATEFULSETS: StatefulSet,
    kinds.DAEMONSETS: DaemonSet,
    kinds.CONTROLLERREVISIONS: ControllerRevision,
    kinds.JOBS: Job,
    kinds.HORIZONTALPODAUTOSCALERS: HorizontalPodAutoscaler,
    kinds.PODDISRUPTIONBUDGETS: PodDisruptionBudget,
    kinds.LEASES: Lease,
    kinds.PRIORITYCLASSES: PriorityClass,
}


def stored(gates: FeatureGates) -> tuple[Kind, ...]:
    """The kinds that are served with these gates and whose objects persist."""
    return tuple(kind for kind in served_kinds(gates) if kind.stored)


def followed(gates: FeatureGates) -> tuple[Kind, ...]:
    """The kinds whose objects can own and be owned; events come and go too often to follow."""
    return tuple(kind for kind in stored(gates) if kind is not kinds.EVENTS)


def informer_of(informers: InformerFactory, kind: Kind) -> Informer[Any]:
    """The shared informer of a kind, in the form in which others cache it."""
    if dialect := DIALECTS.get(kind):
        return informers.requests(dialect)
    return informers.informer(kind, _KNOWN.get(kind, MetadataOnly))
