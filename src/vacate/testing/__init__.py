"""For tests, ours and those of users: a simulated cluster, and builders of API objects that can exist."""

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
from vacate.testing.cluster import SimulatedCluster
from vacate.testing.consistency import InconsistentObject, check
from vacate.testing.evictions import SimulatedEviction
from vacate.testing.interceptors import simulate_eviction
from vacate.testing.simulation import ONE_NODE, simulate

__all__ = [
    "ONE_NODE",
    "InconsistentObject",
    "SimulatedCluster",
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
    "simulate",
    "simulate_eviction",
    "statefulset",
]
