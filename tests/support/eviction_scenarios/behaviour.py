"""What an interceptor does with its turn, as a list of actions; drawn, never endless."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from support.eviction_scenarios.draws import Draws


class Action(Enum):
    """One thing that an interceptor may do."""

    BEAT = "reports"
    NOTE = "sets a condition of its own"
    FORBID = "forbids cancellation"
    ALLOW = "allows it again"
    EVICT = "evicts the pod"
    DELETE = "deletes the pod"
    FAIL = "raises an error"
    DONE = "completes its turn"
    DECLINE = "has nothing to do"
    HANG = "does nothing any more"


@dataclass(frozen=True, slots=True)
class TimedAction:
    """An action, so many seconds after the one before it."""

    after: float
    action: Action


Behaviour = tuple[TimedAction, ...]

LAST_ACTIONS = (Action.EVICT, Action.DELETE, Action.DONE, Action.DECLINE, Action.HANG)


def draw_behaviour(draws: Draws, deadline: int) -> Behaviour:
    """One of the sorts of interceptors that there are."""
    sort = draws.pick(
        (_prompt, _slow, _hangs, _fades, _late, _declines, _ends_the_pod, _changes_minds, _fails)
    )
    return sort(draws, deadline)


def _prompt(draws: Draws, deadline: int) -> Behaviour:
    return (TimedAction(draws.seconds(0, 5), Action.DONE),)


def _slow(draws: Draws, deadline: int) -> Behaviour:
    """Works for longer than the deadline, and says so in time."""
    actions = (Action.BEAT, Action.BEAT, Action.NOTE)
    beats = [
        TimedAction(draws.seconds(60, deadline / 2), draws.pick(actions)) for _ in range(draws.number(2, 5))
    ]
    return (*beats, TimedAction(draws.seconds(1, 60), draws.pick((Action.DONE, Action.DONE, Action.EVICT))))


def _hangs(draws: Draws, deadline: int) -> Behaviour:
    return (TimedAction(0, Action.HANG),)


def _fades(draws: Draws, deadline: int) -> Behaviour:
    actions = (Action.BEAT, Action.BEAT, Action.NOTE)
    beats = [TimedAction(draws.seconds(10, 200), draws.pick(actions)) for _ in range(draws.number(1, 3))]
    return (*beats, TimedAction(0, Action.HANG))


def _late(draws: Draws, deadline: int) -> Behaviour:
    """Reports at about its deadline, when it may be over already, and once more."""
    return (
        TimedAction(deadline + draws.seconds(-15, 60), Action.BEAT),
        TimedAction(draws.seconds(10, 300), Action.BEAT),
        TimedAction(draws.seconds(1, 60), draws.pick((Action.DONE, Action.HANG))),
    )


def _declines(draws: Draws, deadline: int) -> Behaviour:
    return (TimedAction(draws.seconds(0, 2), Action.DECLINE),)


def _ends_the_pod(draws: Draws, deadline: int) -> Behaviour:
    return (
        TimedAction(draws.seconds(0, 30), Action.BEAT),
        TimedAction(draws.seconds(0, 60), draws.pick((Action.EVICT, Action.DELETE))),
    )


def _changes_minds(draws: Draws, deadline: int) -> Behaviour:
    acts = [
        TimedAction(draws.seconds(0, 30), Action.FORBID),
        TimedAction(draws.seconds(10, 300), Action.NOTE),
    ]
    if draws.chance(0.6):
        acts.append(TimedAction(draws.seconds(10, 300), Action.ALLOW))
    return (*acts, TimedAction(draws.seconds(1, 60), draws.pick((Action.DONE, Action.HANG, Action.EVICT))))


def _fails(draws: Draws, deadline: int) -> Behaviour:
    return (TimedAction(draws.seconds(0, 20), Action.BEAT), TimedAction(draws.seconds(0, 20), Action.FAIL))
