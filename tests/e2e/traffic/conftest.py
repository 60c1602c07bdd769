"""One cluster with two nodes that run containers. It exists only where `make test-node` has started it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from bench.traffic.drains import Cluster
from bench.traffic.workloads import Pace
from hack.nodelab.inside import IMAGE, KUBECONFIG

if not os.environ.get(KUBECONFIG):
    collect_ignore_glob = ["test_*.py"]

# kube-proxy may learn seconds late that a pod ends; a busy machine must not look like lost requests.
_PACE = Pace(start_seconds=10, pre_stop_seconds=7)
_CLUSTERS: list[Cluster] = []


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Vacate is installed in it, with its defaults and the eviction bridge."""
    cluster = Cluster(os.environ[IMAGE], _PACE)
    assert len(cluster.nodes) >= 2, "start the laboratory with --nodes 2"
    _CLUSTERS.append(cluster)
    cluster.install()
    return cluster


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What a failed test leaves behind can only be seen while the cluster is there."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for cluster in _CLUSTERS:
            report.sections.append(("cluster", cluster.state()))
