"""Fixtures for pytest, for those who name this module in their conftest; nothing else here needs pytest.

pytest_plugins = ["vacate.testing.pytest_fixtures"]

async def test_the_database_is_backed_up(simulated_cluster: SimulatedCluster) -> None:
    await simulated_cluster.program(back_up)
    await simulated_cluster.pod("db", back_up)
    assert (await simulated_cluster.evict("db")).pod_is_gone

def test_the_cache_is_flushed(live_cluster: ClusterProcess) -> None:
    with live_cluster.program(flush), live_cluster.requester() as requester:
        live_cluster.pod("cache", flush)
        assert requester.wait(requester.request("cache")).pod_ended
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from vacate.errors import ConfigError
from vacate.testing.cluster import SimulatedCluster
from vacate.testing.processes import ClusterProcess, running_cluster
from vacate.testing.simulation import simulate

_FIXTURE = "simulated_cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, for projects that allow declared ones only."""
    config.addinivalue_line(
        "markers", "simulated(seed, *, feature_gates, settings, limit): how simulated_cluster is simulated"
    )


@pytest.fixture
def simulated_cluster(request: pytest.FixtureRequest) -> None:
    """A SimulatedCluster in virtual time, for an `async def` test, which is run in the simulation.

    The marker `simulated` takes the arguments of `vacate.testing.simulate`.
    """
    if not _simulated(request.node):
        raise ConfigError(
            f"{_FIXTURE} is for `async def` tests that take it themselves: a plain test takes live_cluster, "
            "or calls vacate.testing.simulate"
        )


@pytest.fixture(scope="session")
def live_cluster_options() -> tuple[str, ...]:
    """Options of `vacate up` for live_cluster: a project has a fixture of this name with its own."""
    return ()


@pytest.fixture(scope="session")
def live_cluster(
    tmp_path_factory: pytest.TempPathFactory, live_cluster_options: tuple[str, ...]
) -> Iterator[ClusterProcess]:
    """A cluster of `vacate up` in real time, one for all tests of the run."""
    with running_cluster(tmp_path_factory.mktemp("vacate") / "cluster", *live_cluster_options) as cluster:
        yield cluster


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that asks for simulated_cluster in a simulation of its own; leave others alone."""
    if not _simulated(pyfuncitem):
        return None
    test, marker = _coroutine_function(pyfuncitem), pyfuncitem.get_closest_marker("simulated")
    others = {name: pyfuncitem.funcargs[name] for name in _parameters(pyfuncitem) if name != _FIXTURE}

    async def body(cluster: SimulatedCluster) -> None:
        await test(**others, **{_FIXTURE: cluster})

    simulate(body, *(marker.args if marker else ()), **(marker.kwargs if marker else {}))
    return True


def _simulated(item: Any) -> bool:
    return (
        isinstance(item, pytest.Function)
        and _FIXTURE in _parameters(item)
        and inspect.iscoroutinefunction(_coroutine_function(item))
    )


def _parameters(item: pytest.Function) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(item.obj).parameters if name in item.fixturenames)


def _coroutine_function(item: pytest.Function) -> Callable[..., Awaitable[object]]:
    """The test as it was written: plugins that run `async def` tests put a plain function around it."""
    found: Callable[..., Awaitable[object]] = item.obj
    while not inspect.iscoroutinefunction(found) and hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found
