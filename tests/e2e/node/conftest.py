"""One cluster whose node runs containers. It exists only where `make test-node` has started it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hack.nodelab.inside import KUBECONFIG

from support.nodes.cluster import NodeCluster

if not os.environ.get(KUBECONFIG):
    collect_ignore_glob = ["test_*.py"]

_PLACES: list[NodeCluster] = []
_LAST_LINES = 40


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> NodeCluster:
    """Vacate is installed in it, with its defaults, and a shop is open."""
    place = NodeCluster(tmp_path_factory.mktemp("home"))
    _PLACES.append(place)
    place.vacate("install", "--reset", "--image", place.image, "--wait", "3m").ok()
    place.open_shop()
    return place


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What a failed test leaves behind can only be seen while the cluster is there."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for place in _PLACES:
            report.sections.append(("cluster", "\n".join(_state(place))))


def _state(place: NodeCluster) -> Iterator[str]:
    for kubectl in (place.system, place.shop, place.system.within("vacate-shutdown-agent")):
        yield str(kubectl("get pods,evictionrequests -o wide"))
        yield str(kubectl("get events --sort-by=.lastTimestamp"))
        for pod in kubectl("get pods -o name").out.split():
            yield str(kubectl(f"describe {pod}"))
            yield str(kubectl(f"logs --tail={_LAST_LINES} {pod}"))
            yield str(kubectl(f"logs --tail={_LAST_LINES} --previous {pod}"))
