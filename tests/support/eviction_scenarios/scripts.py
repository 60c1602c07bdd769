"""Evictions that always go the same way, to be interrupted at every single request."""

from __future__ import annotations

from collections.abc import Mapping

from support.eviction_scenarios.behaviour import Action, Behaviour, TimedAction
from support.eviction_scenarios.scenario import INTERCEPTORS, REQUESTERS, PodPlan, Scenario, ScenarioEvent
from vacate.sim.faults.plan import FaultRates

BACKUP, DRAIN, OWN = INTERCEPTORS
ANNA, BERT, _ = REQUESTERS

DONE: Behaviour = (TimedAction(2, Action.DONE),)
NOTES: Behaviour = (TimedAction(1, Action.NOTE), TimedAction(2, Action.DONE))
HANGS: Behaviour = (TimedAction(0, Action.HANG),)
FORBIDS: Behaviour = (
    TimedAction(1, Action.FORBID),
    TimedAction(30, Action.ALLOW),
    TimedAction(60, Action.DONE),
)
EVICTS: Behaviour = (TimedAction(5, Action.EVICT),)


def _script(
    behaviours: Mapping[str, Behaviour],
    *events: ScenarioEvent,
    length: float,
    guarded: bool = False,
    sdk: bool = True,
) -> Scenario:
    """One pod with these interceptors, the last of them first."""
    pod = PodPlan("web", "node-1", tuple(behaviours), 600, grace=5, stop=2.0, guarded=guarded)
    return Scenario(
        pods=(pod,),
        behaviours={(name, "web"): behaviour for name, behaviour in behaviours.items()},
        by_sdk=dict.fromkeys(behaviours, sdk),
        events=events,
        fault_rates=FaultRates(),
        skews={},
        collected=False,
        length=length,
    )


def _ask(at: float = 10, by: str = ANNA) -> ScenarioEvent:
    return ScenarioEvent(at, "ask", "web", by)


SCRIPTS: Mapping[str, Scenario] = {
    "plain": _script({}, _ask(), length=60),
    "chain": _script({OWN: DONE, DRAIN: NOTES, BACKUP: DONE}, _ask(), length=60),
    "silence and a closed budget": _script(
        {OWN: HANGS},
        ScenarioEvent(5, "close budget"),
        _ask(),
        ScenarioEvent(700, "open budget"),
        length=720,
        guarded=True,
        sdk=False,
    ),
    "changed minds": _script(
        {DRAIN: EVICTS, BACKUP: FORBIDS},
        _ask(),
        ScenarioEvent(20, "withdraw", "web", ANNA),  # refused: it is forbidden by then
        ScenarioEvent(25, "ask", "web", BERT),  # refused likewise
        ScenarioEvent(60, "withdraw", "web", ANNA),
        ScenarioEvent(80, "delete request", "web"),
        _ask(90, BERT),
        length=300,
    ),
}  # fmt: skip
