"""Nodes are drained while clients send requests through a Service: real kubelets, kube-proxies, containers.

Where a node is drained wholly, Vacate's own pods move too. `python -m bench.traffic` drains ten times each.
"""

from __future__ import annotations

import pytest
from bench.traffic.drains import Arm, Cluster, Measured
from bench.traffic.workloads import Workload

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]


def moved_unnoticed(measured: Measured) -> None:
    """Every drain moved every pod, each of them served, and no request failed."""
    seen = measured.seen
    assert (seen.failed, dict(seen.failures)) == (0, {})
    moves = measured.drains * measured.workload.replicas
    again = moves if measured.workload is Workload.STATEFUL else 0  # its pods keep their names
    assert len(seen.served_by) == measured.workload.replicas + moves - again
    assert seen.requests > 100


def test_nodes_are_joined(cluster: Cluster) -> None:
    """From a pod of each node, pods of the other node and Services can be reached."""
    assert cluster.reached_from_each_node() == {node: set(cluster.nodes) for node in cluster.nodes}


@pytest.mark.parametrize(("arm", "drains"), [(Arm.VACATE, 2), (Arm.BRIDGE, 1)], ids=["vacate", "bridge"])
def test_no_request_to_a_single_replica_fails(cluster: Cluster, arm: Arm, drains: int) -> None:
    moved_unnoticed(cluster.measure(Workload.SINGLE, arm, drains))


@pytest.mark.parametrize("workload", [Workload.SINGLE, Workload.STATEFUL], ids=lambda one: one.name.lower())
def test_plain_eviction_loses_requests(cluster: Cluster, workload: Workload) -> None:
    """Replacements start more slowly than the old pods end, so there is a time when nobody answers."""
    assert cluster.measure(workload, Arm.PLAIN, 1, whole=False).seen.failed > 0


def test_no_request_to_three_replicas_with_a_budget_fails(cluster: Cluster) -> None:
    moved_unnoticed(cluster.measure(Workload.BUDGET, Arm.BRIDGE, 1, whole=False))


@pytest.mark.parametrize("arm", [Arm.VACATE, Arm.BRIDGE], ids=lambda arm: arm.name.lower())
def test_no_request_to_a_stateful_set_fails(cluster: Cluster, arm: Arm) -> None:
    moved_unnoticed(cluster.measure(Workload.STATEFUL, arm, 1, whole=False))
