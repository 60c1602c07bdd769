"""What the StatefulSet interceptor says in a turn: wait, done, or declined. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from vacate.api.times import after
from vacate.api.types import StatefulSet
from vacate.interceptors.decision import Decision, Wait
from vacate.kube.statefulsets import is_rolling_out, max_unavailable, unsupported, wanted_ordinals
from vacate.sdk.values import Declined, Finished
from vacate.views.phrases import counted

LIMIT = 600
"""Seconds for which a rollout, or a member that is down for another reason, is waited for."""


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a set at one moment, by their ordinals."""

    handed_over: Collection[int]  # this interceptor is done with them, and their old pods are still there
    waiting: Collection[int]  # it is this interceptor's turn
    unhealthy: Collection[int] | None  # missing, terminating or not available; None where that was not read


@dataclass(frozen=True, slots=True)
class WaitState:
    """Since when the turn has seen what it waits for."""

    rolling_since: dt.datetime | None = None
    broken_since: Mapping[int, dt.datetime] = field(default_factory=dict)


def decide(
    stateful_set: StatefulSet | None,
    ordinal: int | None,
    members: Members,
    waited: WaitState,
    now: dt.datetime,
) -> Decision:
    """The decision about the member of that ordinal.

    Members that are down anyway go first, since their eviction costs nothing; then the highest ordinal.
    """
    if stateful_set is None:
        return Declined("the pod belongs to no StatefulSet")
    name = stateful_set.metadata.name
    if why := unsupported(stateful_set):
        return Declined(f"StatefulSet {name}: {why}")
    if ordinal is None or ordinal not in wanted_ordinals(stateful_set):
        return Declined(f"StatefulSet {name} does not want the pod any more and removes it")
    if is_rolling_out(stateful_set):
        if waited.rolling_since is not None and now >= after(waited.rolling_since, LIMIT):
            return Declined(f"a rollout of StatefulSet {name} is in progress and does not end")
        return Wait(f"Waiting for the rollout of StatefulSet {name} to end.")
    limit = max_unavailable(stateful_set)
    if is_full(stateful_set, ordinal, members):
        return Wait(_queued(name, limit, sorted(members.handed_over, reverse=True)))
    if members.unhealthy is None:
        return Wait(f"Waiting until all other members of StatefulSet {name} are ready.")
    down = [one for one in sorted(members.unhealthy) if one != ordinal and one not in members.waiting]
    earlier = [*down, *_ahead(ordinal, members, members.unhealthy)]
    if len(set(earlier)) < limit:
        return Finished("All other members are ready." if not earlier else "Enough members are ready.")
    broken = [one for one in down if one not in members.handed_over]
    if any(now >= after(waited.broken_since.get(one, now), LIMIT) for one in broken):
        return Declined(f"{_names(name, broken)} did not become ready in time")
    return Wait(_queued(name, limit, earlier))


def is_full(stateful_set: StatefulSet, ordinal: int, members: Members) -> bool:
    """Whether as many others as may be down were handed over already, whatever their health."""
    return len({*members.handed_over} - {ordinal}) >= max_unavailable(stateful_set)


def _ahead(ordinal: int, members: Members, unhealthy: Collection[int]) -> list[int]:
    """The members that go before this one: those handed over, and those before it in the queue."""
    mine = (ordinal not in unhealthy, -ordinal)
    queue = [one for one in members.waiting if (one not in unhealthy, -one) < mine]
    return sorted({*members.handed_over, *queue} - {ordinal}, reverse=True)


def _queued(name: str, limit: int, others: Collection[int]) -> str:
    waited_for, allowed = _names(name, dict.fromkeys(others)), counted(limit, "member")
    return f"Waiting for {waited_for}: {allowed} of StatefulSet {name} may be down at a time."


def _names(name: str, ordinals: Collection[int]) -> str:
    return ", ".join(f"pod {name}-{one}" for one in ordinals)
