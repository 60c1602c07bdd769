"""The clock of the manager's machine is wrong, or is set in between: times and deadlines are the server's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from controllers.lifecycle import test_walkthroughs as lifecycle
from controllers.lifecycle.test_walkthroughs import EVICTED, FIRST, SECOND
from support.simulated.evictions import A, B, active, completed, finish, heartbeat, requested
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, Kind
from vacate.embedded.apiserver.inprocess import Handler
from vacate.errors import OutOfTime
from vacate.sim.cluster import World
from vacate.wire.message import Request, Response
from wiring.test_manager import apart, beside

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]

OFF = 600.0
DEADLINE = 1200.0


class Refused:
    """What the server refuses to the manager as invalid, such as a time that is not the present one."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, object]] = []

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        response = await server.handle(request)
        if link == "m" and response.status in (400, 403, 422):
            self.answers.append((request.path, response.body))
        return response


@dataclass(frozen=True, slots=True)
class Process:
    """The same process by one of the APIs: a first turn, a second one, and the end."""

    kind: Kind
    begin: Callable[[World], Awaitable[str]]
    second_begins: Callable[[World, str], bool]
    beat: Callable[[World, str], Awaitable[None]]
    finish: Callable[[World, str], Awaitable[None]]


async def _begin(world: World) -> str:
    name = await requested(world, A, B, seconds=int(DEADLINE))
    await world.until(lambda: active(world, name) == B)
    return name


async def _finish(world: World, name: str) -> None:
    await finish(world, name)
    assert await completed(world, name) == "PodDeleted"


async def _begin_lifecycle(world: World) -> str:
    await lifecycle.request(world, await lifecycle.given_pod(world, FIRST, SECOND))
    await world.until(lambda: lifecycle.states(world).get(FIRST) == "Active")
    return "pod-1-web"


async def _beat_lifecycle(world: World, _name: str) -> None:
    await lifecycle.respond(world, FIRST, heartbeatTime=lifecycle.now(world))


async def _finish_lifecycle(world: World, _name: str) -> None:
    now = lifecycle.now(world)
    await lifecycle.respond(world, SECOND, heartbeatTime=now, completionTime=now)
    await world.until(lambda: lifecycle.outcome(world, "drain") == EVICTED)


PROCESSES = {
    "EvictionRequest": Process(
        EVICTIONREQUESTS, _begin, lambda world, name: active(world, name) == A, heartbeat, _finish
    ),
    "lifecycle": Process(
        LIFECYCLE_EVICTIONS,
        _begin_lifecycle,
        lambda world, _: lifecycle.states(world)[SECOND] == "Active",
        _beat_lifecycle,
        _finish_lifecycle,
    ),
}


@pytest.mark.parametrize("off", [-OFF, OFF])
@pytest.mark.parametrize("jumps", [False, True], ids=["from the start", "in the middle"])
@pytest.mark.parametrize("api", PROCESSES)
def test_a_turn_lasts_until_the_servers_deadline(api: str, jumps: bool, off: float) -> None:
    async def body(world: World) -> None:
        process, refused = PROCESSES[api], Refused()
        world.network.audit = refused
        async with beside(world, "m", gates=lifecycle.GATES, skew=0.0 if jumps else off) as [manager]:
            name = await process.begin(world)
            await world.sim.clock.sleep(DEADLINE - 60.0)
            await process.beat(world, name)
            beaten = world.sim.clock.now()
            await world.sim.clock.sleep(DEADLINE - 300.0)
            if jumps:  # and it looks before any other answer has come
                manager.clock._skew += off
                seen = {"metadata": {"annotations": {"seen": "again"}}}
                await world.client.patch(process.kind, name, seen, "default")
            with pytest.raises(OutOfTime):
                await world.until(lambda: process.second_begins(world, name), 240.0)
            await world.until(lambda: process.second_begins(world, name), 120.0)
            assert abs(world.sim.clock.now() - beaten - dt.timedelta(seconds=DEADLINE)).total_seconds() < 30
            await process.finish(world, name)
            assert manager.parts.leading
        assert refused.answers == []

    apart(body, gates=lifecycle.GATES)
