"""With any one safety rule of fencing taken out, a scenario fails that passes with it.

Random faults are in tests/sim/laboratory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import NODES
from vacate.controllers.fencing import fencer
from vacate.fencing import limits
from vacate.fencing.agents import Answer
from vacate.sim.fenceagents import Behaviour

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

Body = Callable[[Fenced], Awaitable[None]]


# Planted: each takes one rule out, and something must go wrong.


async def _lost(made: Fenced) -> None:
    """A node is cut off; a while passes."""
    await made.policy(maxFenced=3, when="Always")
    await made.pods("db-0")
    made.pool.isolate(LOST)
    await made.world.sim.clock.sleep(600.0)


async def _lost_with_wrong_agent(made: Fenced) -> None:
    made.agents.others[LOST] = "node-3"
    await _lost(made)


async def _all_lost(made: Fenced) -> None:
    await made.policy(maxFenced=4, when="Always")
    await made.pods("db-0")
    for name in made.pool.machines:
        made.pool.isolate(name)
    await made.world.sim.clock.sleep(600.0)
    made.breaches += [f"{node} was switched off" for node in made.asked("off")]


async def _two_lost(made: Fenced) -> None:
    await made.policy(when="Always")
    await made.pods("db-0")
    await made.world.client.patch(
        NODES, "node-2", {"metadata": {"annotations": {"vacate.dev/fence-requested": "it smokes"}}}
    )
    for name in (LOST, "node-2"):
        made.pool.isolate(name)
    await made.world.sim.clock.sleep(600.0)
    made.breaches += ["two nodes are out of service"] if made.released() and made.released("node-2") else []


def test_if_the_word_of_an_agent_were_enough_a_second_copy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def believe(_: Answer) -> bool:
        return True

    fenced(_lost, behaviours={LOST: Behaviour.LIES})
    monkeypatch.setattr(fencer, "is_confirmed_off", believe)
    assert _breaks(_lost, {LOST: Behaviour.LIES})


def test_if_the_silence_of_others_were_ignored_a_second_copy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> list[str]:
        return []

    monkeypatch.setattr(fencer, "silent_nodes", nobody)
    assert _breaks(_lost_with_wrong_agent, {LOST: Behaviour.WRONG_MACHINE})


def test_without_a_healthy_share_a_cluster_that_is_cut_off_is_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    fenced(_all_lost)
    monkeypatch.setattr(limits, "_too_few_healthy", lambda *_: "")
    monkeypatch.setattr(fencer, "silent_nodes", lambda *_: [])
    assert _breaks(_all_lost)


def test_without_the_limit_two_nodes_are_fenced_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fenced(_two_lost, nodes=6)
    monkeypatch.setattr(limits, "_too_many_fenced", lambda *_: "")
    assert _breaks(_two_lost, nodes=6)


def _breaks(body: Body, behaviours: dict[str, Behaviour] | None = None, nodes: int = 4) -> bool:
    try:
        fenced(body, behaviours=behaviours, nodes=nodes)
    except AssertionError:
        return True
    return False
