"""Clocks that are wrong by hours: nobody is fenced too early or never, and nothing is released wrongly."""

from __future__ import annotations

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.sim.fenceagents import Behaviour

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


@pytest.mark.thorough(beyond=1)
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
