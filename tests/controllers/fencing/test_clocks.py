"""Clocks that are wrong by hours: nobody is fenced too early or never, and nothing is released wrongly."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import cast

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import NODES
from vacate.api.types import ObjectMeta
from vacate.api.types.fencingpolicy import FencingPolicy, NodeFencing
from vacate.client.client import Client
from vacate.clock import LoopClock
from vacate.controllers.fencing.fencer import Fencer
from vacate.fencing.agents import Agents
from vacate.sim.fenceagents import Behaviour
from vacate.sim.run import EPOCH, Sim, run_sim

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

HOURS = 7200.0
SKEWS = [
    pytest.param({"controllers": -HOURS}, id="those who mark nodes are behind"),
    pytest.param({"controllers": HOURS}, id="those who mark nodes are ahead"),
    pytest.param({"fencing-0": HOURS}, id="the fencing controller is ahead"),
    pytest.param({"fencing-0": -HOURS}, id="the fencing controller is behind"),
]


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize("skews", SKEWS)
def test_a_node_is_fenced_after_the_time_that_the_policy_says(skews: dict[str, float]) -> None:
    async def body(made: Fenced) -> None:
        await made.policy(unreachableSeconds=600, when="Always")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Unreachable", 300.0)
        await made.world.sim.clock.sleep(590.0)
        assert made.agents.calls == []
        await made.world.until(made.released, 600.0)

    fenced(body, skews=skews)


@pytest.mark.thorough
@pytest.mark.parametrize("skews", SKEWS)
def test_an_agent_that_switches_off_another_machine_is_noticed(skews: dict[str, float]) -> None:
    async def body(made: Fenced) -> None:
        made.agents.others[LOST] = "node-3"
        await made.policy(maxFenced=2, when="Always")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 900.0)
        await made.managers[0].crash()
        await made.managers[0].start()
        await made.world.sim.clock.sleep(3600.0)
        assert "node-3 fell silent" in made.row()["message"]
        assert not made.released()

    fenced(body, skews=skews, behaviours={LOST: Behaviour.WRONG_MACHINE})


class SetClock(LoopClock):
    """A wall clock that is set in the middle, as all that follow an API server's see it."""

    def __init__(self, sim: Sim) -> None:
        super().__init__(sim.loop, EPOCH)
        self.ahead = 0.0

    def now(self) -> dt.datetime:
        return super().now() + dt.timedelta(seconds=self.ahead)


def made_into(clocks: list[SetClock]) -> Callable[[Sim], SetClock]:
    def make(sim: Sim) -> SetClock:
        clocks.append(SetClock(sim))
        return clocks[-1]

    return make


@pytest.mark.parametrize("ahead", [-HOURS, HOURS])
def test_a_clock_that_is_set_in_the_middle_changes_no_time_of_the_policy(ahead: float) -> None:
    clocks: list[SetClock] = []

    async def body(made: Fenced) -> None:
        await made.policy(unreachableSeconds=600, when="Always")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Unreachable", 300.0)
        await made.world.sim.clock.sleep(60.0)
        clocks[0].ahead = ahead
        # A change wakes the controller.
        await made.world.client.patch(NODES, LOST, {"metadata": {"labels": {"seen": "again"}}})
        await made.world.sim.clock.sleep(530.0)
        assert made.agents.calls == []
        await made.world.until(made.released, 300.0)

    fenced(body, clock=made_into(clocks))


def test_a_clock_that_is_set_back_while_it_is_checked_who_reports_delays_no_fence() -> None:
    clocks: list[SetClock] = []

    async def body(made: Fenced) -> None:
        await made.policy(when="Always")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: "which nodes report" in made.row().get("message", ""), 300.0)
        clocks[0].ahead = -HOURS
        await made.world.until(made.released, 600.0)

    fenced(body, clock=made_into(clocks))


def test_a_clock_that_is_set_back_after_an_attempt_delays_the_next_one_by_no_more_than_its_pause() -> None:
    clocks: list[SetClock] = []

    async def body(made: Fenced) -> None:
        await made.policy(when="Always")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 300.0)
        made.agents.behaviours[LOST] = Behaviour.WORKS
        clocks[0].ahead = -HOURS
        await made.world.until(made.released, 900.0)

    fenced(body, clock=made_into(clocks), behaviours={LOST: Behaviour.REFUSES})


def test_what_was_seen_long_ago_is_not_believed_because_the_clock_was_set_back() -> None:
    async def main(sim: Sim) -> None:
        clock = SetClock(sim)
        attempts = Fencer(cast(Client, None), clock, cast(Agents, None), "me")
        attempts.heard["rack"] = (clock.monotonic(), frozenset())
        await clock.sleep(600.0)
        clock.ahead = -HOURS
        policy = FencingPolicy(ObjectMeta(name="rack"))
        assert "not known any more" in await attempts._refused(policy, NodeFencing("n1"))

    run_sim(main)
