"""Projections: small typed structs of the fields that Vacate reads, decoded straight from the wire.

A projection is never written back. Writes are patches, so fields that have no name here are kept.
"""

from vacate.api.types.apps import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from vacate.api.types.autoscaling import HorizontalPodAutoscaler
from vacate.api.types.batch import Job
from vacate.api.types.core import (
    ConfigMap,
    Event,
    Namespace,
    Node,
    Pod,
    ServiceAccount,
    Taint,
    Toleration,
)
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.meta import Condition, LabelSelector, ObjectMeta, OwnerReference, condition
from vacate.api.types.policy import Lease, PodDisruptionBudget, PriorityClass
from vacate.api.types.storage import PersistentVolume, PersistentVolumeClaim, StorageClass

__all__ = [
    "Condition",
    "ConfigMap",
    "ControllerRevision",
    "DaemonSet",
    "Deployment",
    "Event",
    "EvictionRequest",
    "HorizontalPodAutoscaler",
    "Job",
    "LabelSelector",
    "Lease",
    "Namespace",
    "Node",
    "ObjectMeta",
    "OwnerReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "ReplicaSet",
    "ServiceAccount",
    "StatefulSet",
    "StorageClass",
    "Taint",
    "Toleration",
    "condition",
]
