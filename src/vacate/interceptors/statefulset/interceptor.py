"""The interceptor: waits for its member's place in the queue, then hands over, and the pod is evicted.

It deletes nothing itself. The eviction that follows respects disruption budgets, so that a set which has one
is never disrupted more than that allows. Its controller makes the member again once the pod object is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt

from vacate.api.types import Pod, StatefulSet
from vacate.api.workloads import STATEFULSET_INTERCEPTOR
from vacate.errors import ApiError, TransportError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.interceptors.decision import Decision
from vacate.interceptors.statefulset.decision import Members, WaitState, decide, is_full
from vacate.interceptors.statefulset.view import StatefulSetView
from vacate.interceptors.turns import SharedHandlers, decided, interceptor_for, steady_moment
from vacate.kube.statefulsets import is_rolling_out, ordinal_of
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Finished, Outcome

POLL_SECONDS = 2.0
"""Seconds between two looks, and before the first: requests of one drain are seen together by then."""
_NO_MEMBERS = Members((), (), None)


def build(deps: Dependencies, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    return interceptor_for(deps, STATEFULSET_INTERCEPTOR, _HANDLERS.of(deps).handle, dialect)


class StatefulSetTurns:
    """Handles turns; writes nothing but the turn itself."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._view = StatefulSetView(deps)
        self._looking = asyncio.Lock()  # of two members that look at once, the second sees the first go

    async def handle(self, context: EvictionContext) -> Outcome:
        """Wait until the member may go, or until it is clear that waiting is in vain."""
        turn, clock = _Turn(context.pod), self._deps.clock
        await clock.sleep(POLL_SECONDS)
        return await decided(context, clock, POLL_SECONDS, lambda: self._look_alone(turn))

    async def _look_alone(self, turn: _Turn) -> Decision:
        async with self._looking:
            return await self._look(turn)

    async def _look(self, turn: _Turn) -> Decision:
        now = steady_moment(self._deps.clock)  # a clock that is set must not end the wait of all members
        stateful_set = self._view.stateful_set_of(turn.pod)
        if stateful_set is None:
            return decide(None, None, _NO_MEMBERS, turn.waited, now)
        ordinal = ordinal_of(stateful_set, turn.pod)
        members = self._view.queue(stateful_set)
        if ordinal is not None and not is_full(stateful_set, ordinal, members):
            with contextlib.suppress(ApiError, TransportError):  # it waits then
                members = await self._view.members(stateful_set)
        turn.see(stateful_set, members, now)
        decision = decide(stateful_set, ordinal, members, turn.waited, now)
        if isinstance(decision, Finished):
            self._view.grant(stateful_set, turn.pod)
        return decision


# Members that go one after the other need one queue, whatever API their requests are of.
_HANDLERS = SharedHandlers(StatefulSetTurns)


class _Turn:
    """What one turn remembers between two looks."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.waited = WaitState()

    def see(self, stateful_set: StatefulSet, members: Members, now: dt.datetime) -> None:
        """Note since when there is a rollout, and since when members are down."""
        before = self.waited
        rolling = (before.rolling_since or now) if is_rolling_out(stateful_set) else None
        if members.unhealthy is None:
            self.waited = WaitState(rolling, before.broken_since)
            return
        broken = {one: before.broken_since.get(one, now) for one in members.unhealthy}
        self.waited = WaitState(rolling, broken)
