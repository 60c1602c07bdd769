"""From a pod to the workload that it belongs to, by what the caches have."""

from __future__ import annotations

from vacate.api.kinds import DEPLOYMENTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.types import Deployment, ObjectMeta, OwnerReference, Pod, ReplicaSet, StatefulSet
from vacate.cache.reader import Reader


def deployment_of(
    pod: Pod, replica_sets: Reader[ReplicaSet], deployments: Reader[Deployment]
) -> Deployment | None:
    """The Deployment whose ReplicaSet controls the pod; None where there is none, or it is not known yet."""
    replica_set = _owner(pod.metadata, REPLICASETS)
    if replica_set is None:
        return None
    found = replica_sets.get(pod.metadata.namespace, replica_set.name)
    if found is None or found.metadata.uid != replica_set.uid:
        return None
    return deployment_of_replicaset(found, deployments)


def deployment_of_replicaset(replica_set: ReplicaSet, deployments: Reader[Deployment]) -> Deployment | None:
    """The Deployment that controls the ReplicaSet."""
    ref = _owner(replica_set.metadata, DEPLOYMENTS)
    found = deployments.get(replica_set.metadata.namespace, ref.name) if ref else None
    return found if found is not None and ref is not None and found.metadata.uid == ref.uid else None


def statefulset_of(pod: Pod, stateful_sets: Reader[StatefulSet]) -> StatefulSet | None:
    """The StatefulSet that controls the pod; None where there is none, or it is not known yet."""
    ref = _owner(pod.metadata, STATEFULSETS)
    found = stateful_sets.get(pod.metadata.namespace, ref.name) if ref else None
    return found if found is not None and ref is not None and found.metadata.uid == ref.uid else None


def changes_hands(old: Pod | ReplicaSet | None, new: Pod | ReplicaSet | None) -> bool:
    """Whether an object is new, or has another owner than before.

    It may be seen before or after its owner, and be adopted long after it was created.
    """
    if old is None or new is None:
        return new is not None
    before, after = old.metadata, new.metadata
    return (before.uid, before.controller) != (after.uid, after.controller)


def _owner(meta: ObjectMeta, kind: Kind) -> OwnerReference | None:
    ref = meta.controller
    return ref if ref is not None and (ref.api_version, ref.kind) == (kind.api_version, kind.kind) else None
