"""For tests, ours and those of users: simulated and running clusters, and builders of API objects."""

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
from vacate.testing.live import LiveCluster
from vacate.testing.processes import ClusterProcess, running_cluster
from vacate.testing.simulation import ONE_NODE, simulate

__all__ = [
    "ONE_NODE",
    "ClusterProcess",
    "InconsistentObject",
    "LiveCluster",
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
    "running_cluster",
    "simulate",
    "simulate_eviction",
    "statefulset",
]
