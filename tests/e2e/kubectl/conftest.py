"""One cluster for all that kubectl does to it; every test has a namespace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_process import FAST_PODS, ClusterProcess, running_cluster
from support.https import Https
from support.kubectl import Kubectl, client_version, kubectl_or_reason

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def binary() -> str:
    found, reason = kubectl_or_reason()
    if found is None:
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def version(binary: str) -> tuple[int, int]:
    """What this kubectl knows is decided by its version."""
    return client_version(binary)


@pytest.fixture(scope="session")
def cluster(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("cluster") / "dir", *FAST_PODS) as running:
        yield running
        assert running.stop() == 0
        # Whatever its users did, right or wrong, there was nothing to warn its owner of.
        assert running.output.endswith("goes on where it was.\n"), running.output


@pytest.fixture(scope="session")
def admin(cluster: ClusterProcess) -> Https:
    """For arrangements that are not themselves under test."""
    return cluster.https()


@pytest.fixture
def k(binary: str, cluster: ClusterProcess, admin: Https) -> Iterator[Kubectl]:
    """kubectl in a namespace of this test alone."""
    namespace = f"e2e-{next(_numbers)}"
    admin.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    home = Path(cluster.folder).parent / "home"
    yield Kubectl(binary, cluster.kubeconfig, home, namespace)
    admin.call("DELETE", f"/api/v1/namespaces/{namespace}")
