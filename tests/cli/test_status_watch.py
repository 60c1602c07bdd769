"""`vacate status --watch`: when it ends, and when it goes on."""

from __future__ import annotations

import asyncio

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import on_simulated_cluster, request_eviction, requested
from support.simulated.workloads import running
from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.workloads import OPT_IN
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.output import JSON
from vacate.cli.status.follow import Follower
from vacate.cli.status.lines import WatchEvents
from vacate.cli.status.view import View
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = pytest.mark.sim


def test_a_reader_that_is_gone_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind `| head`: a request changes, and nobody takes the line."""

    def echo(line: str, *, err: bool = False) -> None:
        raise BrokenPipeError

    async def body(world: World) -> None:
        await requested(world, "a.example.com")
        monkeypatch.setattr(terminal, "echo", echo)
        view = View("default", output=JSON)
        watch = WatchEvents(Cluster(world.client, "default", world.sim.clock), view, [view.dialect])
        with pytest.raises(BaseExceptionGroup) as ended:
            async with asyncio.timeout(600):
                await watch.run()
        assert ended.group_contains(BrokenPipeError)

    on_simulated_cluster(body)


@pytest.mark.parametrize("output", ["", JSON])
def test_a_request_that_is_superseded_does_not_end_it(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    def echo(line: str, *, err: bool = False) -> None:
        lines.append(line)

    async def body(world: World) -> None:
        monkeypatch.setattr(terminal, "echo", echo)
        await running(world, "web", 1)
        budget = pdb("web", min_available=1, selector={"app": "web"})
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        (pod,) = world.objects(PODS, "default")
        name = pod["metadata"]["name"]
        await request_eviction(world, pod)
        cluster = Cluster(world.client, "default", world.sim.clock)
        view = View("default", pods=(name,), output=output)
        watch = WatchEvents(cluster, view, [view.dialect]) if output else Follower(cluster, view)
        task = asyncio.get_running_loop().create_task(watch.run())
        await world.until(lambda: any("Blocked" in line for line in lines))
        opted_in = {"metadata": {"annotations": {OPT_IN: "true"}}}
        await world.client.patch(DEPLOYMENTS, "web", opted_in, "default")
        await world.until(task.done, 120.0)
        await task
        assert any("Superseded" in line for line in lines)
        await world.until(lambda: world.find(PODS, name, "default") is None)

    in_world(body)
