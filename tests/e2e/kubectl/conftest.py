"""One body of tests, on an embedded and on a real cluster; every test has a namespace of its own."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.https import Https
from support.kubectl import Kubectl, client_version, kubectl_or_reason
from support.kubectl_clusters import EMBEDDED, Cluster, cluster_params, open_cluster

ONLY_EMBEDDED = Path(__file__).with_name("only_embedded.toml")
_numbers = itertools.count(1)


def only_embedded() -> dict[str, str]:
    """Tests of what only the embedded cluster has or lacks, each with the reason."""
    return tomllib.loads(ONLY_EMBEDDED.read_text())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cluster" in metafunc.fixturenames:
        name = f"{metafunc.module.__name__.rpartition('test_')[2]}/{metafunc.function.__name__[5:]}"
        params = [EMBEDDED] if name in only_embedded() else cluster_params()
        metafunc.parametrize("cluster", params, indirect=True, scope="session")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if len(cluster_params()) > 1:
        terminalreporter.write_line(f"functions for the embedded cluster alone: {len(only_embedded())}")


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
def cluster(
    request: pytest.FixtureRequest, binary: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with open_cluster(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Https:
    """For arrangements that are not themselves under test."""
    return cluster.admin


@pytest.fixture
def k(binary: str, cluster: Cluster, admin: Https) -> Iterator[Kubectl]:
    """kubectl in a namespace of this test alone."""
    namespace = f"e2e-{next(_numbers)}"
    admin.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    yield Kubectl(binary, cluster.kubeconfig, cluster.home, namespace)
    admin.call("DELETE", f"/api/v1/namespaces/{namespace}")
