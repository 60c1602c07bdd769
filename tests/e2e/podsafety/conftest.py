"""One cluster with two nodes that run containers, of which the second is cut off and switched off.

It exists only where `make test-node` has started it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hack.nodelab.inside import KUBECONFIG

from support.nodes.safety import FencedMachine, SafetyCluster

if not os.environ.get(KUBECONFIG):
    collect_ignore_glob = ["test_*.py"]

_CLUSTERS: list[SafetyCluster] = []


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> SafetyCluster:
    """Vacate is installed on the first node, with the guard."""
    place = SafetyCluster(tmp_path_factory.mktemp("home"))
    _CLUSTERS.append(place)
    place.install()
    return place


@pytest.fixture(scope="session")
def machine() -> Iterator[FencedMachine]:
    """The fence agent of the second node."""
    made = FencedMachine()
    try:
        yield made
    finally:
        made.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What a failed test leaves behind can only be seen while the cluster is there."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for place in _CLUSTERS:
            report.sections.append(("cluster", place.state()))
