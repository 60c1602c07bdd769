"""One body of tests, on an embedded and on a real cluster; every test has a namespace of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from support.evictions.clusters import EvictionCluster, cluster_params, open_cluster
from support.evictions.namespace import EvictionNamespace, enter_place
from support.kubectl import Kubectl, kubectl_or_reason
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import OWN_DIALECTS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cluster" in metafunc.fixturenames:
        params = cluster_params(real_only="real" in metafunc.fixturenames)
        metafunc.parametrize("cluster", params, indirect=True, scope="session")
    if "dialect" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_dialects"):
        metafunc.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EvictionCluster]:
    with open_cluster(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def dialect() -> Dialect:
    """The API by which evictions are requested; tests marked both_dialects run for each."""
    return EVICTION_REQUEST


@pytest.fixture
async def place(cluster: EvictionCluster, dialect: Dialect) -> AsyncIterator[EvictionNamespace]:
    async with enter_place(cluster, dialect) as place:
        yield place


@pytest.fixture
def kubectl(place: EvictionNamespace) -> Kubectl:
    """kubectl in the namespace of the test."""
    found, why = kubectl_or_reason()
    if found is None:
        pytest.skip(why)
    return Kubectl(found, place.cluster.kubeconfig, place.cluster.kubeconfig.parent / "home", place.namespace)
