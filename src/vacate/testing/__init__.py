"""For tests, ours and those of users: simulated evictions, and builders of API objects that can exist."""

from vacate.testing.builders import (
    daemonset,
    deployment,
    horizontalpodautoscaler,
    job,
    namespace,
    node,
    pdb,
    pod,
    replicaset,
    statefulset,
)
from vacate.testing.consistency import InconsistentObject, check
from vacate.testing.interceptors import SimulatedEviction, simulate_eviction

__all__ = [
    "InconsistentObject",
    "SimulatedEviction",
    "check",
    "daemonset",
    "deployment",
    "horizontalpodautoscaler",
    "job",
    "namespace",
    "node",
    "pdb",
    "pod",
    "replicaset",
    "simulate_eviction",
    "statefulset",
]
