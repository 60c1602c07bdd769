"""Turns while the wall clock is set: what is waited for has its time, no less and no more."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from vacate.api.types import Deployment, Pod, StatefulSet
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.clock import LoopClock
from vacate.interceptors.decision import Wait
from vacate.interceptors.replicaset.interceptor import IN_SURGE_LIMIT, POLL_SECONDS, ReplicaSetTurns
from vacate.interceptors.statefulset.decision import LIMIT, Members
from vacate.interceptors.statefulset.interceptor import StatefulSetTurns, _Turn
from vacate.interceptors.statefulset.view import StatefulSetView
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Declined
from vacate.sim.run import EPOCH, Sim, run_sim
from vacate.testing import deployment, pod, statefulset

pytestmark = pytest.mark.unit

OTHERS = Members(handed_over=(), waiting=(0,), unhealthy=(2,))


class Clock:
    """The wall clock is set by the test."""

    def __init__(self) -> None:
        self.wall, self.ticks = dt.datetime(2026, 1, 1, tzinfo=dt.UTC), 1000.0

    def now(self) -> dt.datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.ticks


class View:
    """A set of three members, one of which is down."""

    def stateful_set_of(self, _: Pod) -> StatefulSet:
        return msgspec.convert(statefulset("db", replicas=3), StatefulSet)

    def queue(self, _: StatefulSet) -> Members:
        return OTHERS

    async def members(self, _: StatefulSet) -> Members:
        return OTHERS


@pytest.mark.parametrize("hours", [-2, 2])
async def test_a_member_that_is_down_is_waited_for_as_long_as_ever(hours: int) -> None:
    clock = Clock()
    turns = StatefulSetTurns.__new__(StatefulSetTurns)
    vars(turns).update(_deps=SimpleNamespace(clock=clock), _view=cast(StatefulSetView, View()))
    turn = _Turn(msgspec.convert(pod("db-0"), Pod))
    assert isinstance(await turns._look(turn), Wait)
    clock.wall += dt.timedelta(hours=hours)
    clock.ticks += 2
    assert isinstance(await turns._look(turn), Wait)
    clock.wall += dt.timedelta(seconds=LIMIT)
    clock.ticks += LIMIT
    assert isinstance(await turns._look(turn), Declined)


class SetClock(LoopClock):
    """The wall clock is set after ten seconds."""

    def __init__(self, sim: Sim, hours: int) -> None:
        super().__init__(sim.loop, EPOCH)
        self._ahead = dt.timedelta(hours=hours)

    def now(self) -> dt.datetime:
        shown = super().now()
        return shown + self._ahead if shown >= EPOCH + dt.timedelta(seconds=10) else shown


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_replacement_is_waited_for_as_long_as_ever(hours: int) -> None:
    async def main(sim: Sim) -> float:
        class Context:
            pod, request = msgspec.convert(pod("web-1"), Pod), EvictionRequest()

            async def report(self, message: str, **more: Any) -> None:
                """Nobody reads it."""

            def progress(self) -> None:
                """Nor this."""

        async def read(_: Pod) -> tuple[Deployment, bool, Pod]:
            return msgspec.convert(deployment("web"), Deployment), True, Context.pod

        turns = ReplicaSetTurns.__new__(ReplicaSetTurns)
        vars(turns).update(_deps=SimpleNamespace(clock=SetClock(sim, hours)), _read=read)
        assert isinstance(await turns.handle(cast(EvictionContext, Context())), Declined)
        return sim.loop.time()

    assert IN_SURGE_LIMIT <= run_sim(main) <= IN_SURGE_LIMIT + 2 * POLL_SECONDS
