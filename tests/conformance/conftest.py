"""One body of cases, every arm."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio

from support.arms.arm import Arm
from support.arms.caseapi import CaseApi
from support.arms.kube import REAL
from support.arms.marks import expect_deviations, known_deviations, parametrize_arms
from support.arms.servers import open_arm
from vacate.entropy import system_entropy

# Nothing here is about disks: where there is memory that looks like one, files lie there.
QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None
DEVIATIONS = Path(__file__).with_name("deviations.toml")
OpenArm = Callable[[str], Awaitable[Arm]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "without_arms(*arms, because): arms that cannot express the case")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "arm" in metafunc.fixturenames:
        parametrize_arms(metafunc)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent == DEVIATIONS.parent]
    expect_deviations(here, known_deviations(DEVIATIONS))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pool() -> AsyncIterator[OpenArm]:
    """Servers, each started when the first case needs it."""
    open_arms: dict[str, Arm] = {}
    async with AsyncExitStack() as stack:

        async def take(name: str) -> Arm:
            if name not in open_arms:
                folder = Path(stack.enter_context(TemporaryDirectory(dir=QUICK)))
                open_arms[name] = await stack.enter_async_context(open_arm(name, folder))
            return open_arms[name]

        yield take


@pytest_asyncio.fixture(loop_scope="session")
async def arm(request: pytest.FixtureRequest, pool: OpenArm) -> Arm:
    """The way to a server."""
    return await pool(request.param)


@pytest_asyncio.fixture(loop_scope="session")
async def api(arm: Arm) -> AsyncIterator[CaseApi]:
    """The arm with a new namespace."""
    api = CaseApi(arm, system_entropy().uid()[:8])
    await api.enter()
    if arm.name == REAL:
        # A real server wants it there before the first pod, and its controller may be late or not run.
        await arm.call("POST", f"/api/v1/namespaces/{api.namespace}/serviceaccounts",
                       body={"metadata": {"name": "default"}})  # fmt: skip
    yield api
    await api.leave()


@pytest_asyncio.fixture(loop_scope="session")
async def lifecycle(arm: Arm) -> None:
    """For cases of lifecycle.k8s.io: skips them on a real server of a release that does not have its gate."""
    version = (await arm.call("GET", "/version")).ok()
    if (int(version["major"]), int(version["minor"].rstrip("+"))) < (1, 37):
        pytest.skip("releases before 1.37 do not serve lifecycle.k8s.io")
