"""What an interceptor does with its turn, as a list of deeds; drawn, never endless."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from support.eviction_scenarios.dice import Dice


class Deed(Enum):
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
class Act:
    """A deed, so many seconds after the one before it."""

    after: float
    deed: Deed


Behaviour = tuple[Act, ...]

LAST_DEEDS = (Deed.EVICT, Deed.DELETE, Deed.DONE, Deed.DECLINE, Deed.HANG)


def draw_behaviour(dice: Dice, deadline: int) -> Behaviour:
    """One of the sorts of interceptors that there are."""
    sort = dice.pick(
        (_prompt, _slow, _hangs, _fades, _late, _declines, _ends_the_pod, _changes_minds, _fails)
    )
    return sort(dice, deadline)


def _prompt(dice: Dice, deadline: int) -> Behaviour:
    return (Act(dice.seconds(0, 5), Deed.DONE),)


def _slow(dice: Dice, deadline: int) -> Behaviour:
    """Works for longer than the deadline, and says so in time."""
    deeds = (Deed.BEAT, Deed.BEAT, Deed.NOTE)
    beats = [Act(dice.seconds(60, deadline / 2), dice.pick(deeds)) for _ in range(dice.number(2, 5))]
    return (*beats, Act(dice.seconds(1, 60), dice.pick((Deed.DONE, Deed.DONE, Deed.EVICT))))


def _hangs(dice: Dice, deadline: int) -> Behaviour:
    return (Act(0, Deed.HANG),)


def _fades(dice: Dice, deadline: int) -> Behaviour:
    deeds = (Deed.BEAT, Deed.BEAT, Deed.NOTE)
    beats = [Act(dice.seconds(10, 200), dice.pick(deeds)) for _ in range(dice.number(1, 3))]
    return (*beats, Act(0, Deed.HANG))


def _late(dice: Dice, deadline: int) -> Behaviour:
    """Reports at about its deadline, when it may be over already, and once more."""
    return (
        Act(deadline + dice.seconds(-15, 60), Deed.BEAT),
        Act(dice.seconds(10, 300), Deed.BEAT),
        Act(dice.seconds(1, 60), dice.pick((Deed.DONE, Deed.HANG))),
    )


def _declines(dice: Dice, deadline: int) -> Behaviour:
    return (Act(dice.seconds(0, 2), Deed.DECLINE),)


def _ends_the_pod(dice: Dice, deadline: int) -> Behaviour:
    return (
        Act(dice.seconds(0, 30), Deed.BEAT),
        Act(dice.seconds(0, 60), dice.pick((Deed.EVICT, Deed.DELETE))),
    )


def _changes_minds(dice: Dice, deadline: int) -> Behaviour:
    acts = [Act(dice.seconds(0, 30), Deed.FORBID), Act(dice.seconds(10, 300), Deed.NOTE)]
    if dice.chance(0.6):
        acts.append(Act(dice.seconds(10, 300), Deed.ALLOW))
    return (*acts, Act(dice.seconds(1, 60), dice.pick((Deed.DONE, Deed.HANG, Deed.EVICT))))


def _fails(dice: Dice, deadline: int) -> Behaviour:
    return (Act(dice.seconds(0, 20), Deed.BEAT), Act(dice.seconds(0, 20), Deed.FAIL))
