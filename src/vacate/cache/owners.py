"""From a pod to the workload that it belongs to, by what the caches have."""

from __future__ import annotations

from typing import TypeVar

from vacate.api.kinds import DEPLOYMENTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.types import Deployment, ObjectMeta, Pod, ReplicaSet, StatefulSet
from vacate.cache.indexes import HasMetadata
from vacate.cache.reader import Reader

T = TypeVar("T", bound=HasMetadata)


def deployment_of(
    pod: Pod, replica_sets: Reader[ReplicaSet], deployments: Reader[Deployment]
) -> Deployment | None:
    """The Deployment whose ReplicaSet controls the pod; None where there is none, or it is not known yet."""
    found = owner_of(pod.metadata, REPLICASETS, replica_sets)
    return None if found is None else deployment_of_replicaset(found, deployments)


def deployment_of_replicaset(replica_set: ReplicaSet, deployments: Reader[Deployment]) -> Deployment | None:
    """The Deployment that controls the ReplicaSet."""
    return owner_of(replica_set.metadata, DEPLOYMENTS, deployments)


def statefulset_of(pod: Pod, stateful_sets: Reader[StatefulSet]) -> StatefulSet | None:
    """The StatefulSet that controls the pod; None where there is none, or it is not known yet."""
    return owner_of(pod.metadata, STATEFULSETS, stateful_sets)


def changes_hands(old: Pod | ReplicaSet | None, new: Pod | ReplicaSet | None) -> bool:
    """Whether an object is new, or has another owner than before.

    It may be seen before or after its owner, and be adopted long after it was created.
    """
    if old is None or new is None:
        return new is not None
    before, after = old.metadata, new.metadata
    return (before.uid, before.controller) != (after.uid, after.controller)


def owner_of(meta: ObjectMeta, kind: Kind, reader: Reader[T]) -> T | None:
    """What controls an object, if it is of the kind; None where it is not known yet, or is another by now."""
    ref = meta.controller
    if ref is None or (ref.api_version, ref.kind) != (kind.api_version, kind.kind):
        return None
    found = reader.get(meta.namespace, ref.name)
    return found if found is not None and found.metadata.uid == ref.uid else None
