"""What moving one pod costs does not depend on how many other workloads share its namespace."""

from __future__ import annotations

import datetime as dt
from typing import cast

import pytest

from support.simulated.deployments import completed, is_quiet, moving, requested
from support.simulated.workloads import in_world, running
from vacate.api.types import Deployment, Pod
from vacate.api.workloads import OPT_IN
from vacate.cache.reader import Reader
from vacate.interceptors.surge.livepods import READ_INTERVAL, LivePods
from vacate.interceptors.surge.view import SurgeView
from vacate.sim.cluster import World

pytestmark = pytest.mark.sim


def _objects_listed(monkeypatch: pytest.MonkeyPatch, others: int) -> int:
    """How many objects of the caches are walked through while one pod of a Deployment is moved."""
    listed = 0
    found = Reader.list

    def counting(reader: Reader[object], namespace: str = "") -> list[object]:
        nonlocal listed
        objects = found(reader, namespace)
        listed += len(objects)
        return objects

    async def body(world: World) -> None:
        nonlocal listed
        for number in range(others):
            await running(world, f"other-{number}", 1, metadata={"annotations": {OPT_IN: "true"}})
        old = (await moving(world))[0]
        await world.settle()
        with monkeypatch.context() as patch:
            patch.setattr(Reader, "list", counting)
            listed = 0
            await completed(world, *await requested(world, old))
            await world.until(lambda: is_quiet(world))

    in_world(body)
    return listed


def test_a_move_reads_nothing_of_other_deployments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _objects_listed(monkeypatch, 1) == _objects_listed(monkeypatch, 6)


async def test_pods_are_read_again_in_time_where_the_clock_was_set_back() -> None:
    class View:
        reads = 0

        async def live_pods(self, deployment: Deployment) -> list[Pod]:
            self.reads += 1
            return []

    view, now = View(), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    pods = LivePods(cast(SurgeView, view))
    for moment in (now, now + READ_INTERVAL / 2, now - dt.timedelta(hours=2)):
        await pods.look(Deployment(), moment)
    assert view.reads == 2
