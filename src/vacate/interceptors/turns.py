"""What the interceptors of workloads share: how one is built for an API, and the loop of a turn."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from vacate.api.times import EARLIEST, after
from vacate.clock import Clock, PassiveClock
from vacate.eviction.dialects.base import Dialect
from vacate.interceptors.decision import Wait
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.controller import build
from vacate.sdk.interceptors.interceptor import Handler, Interceptor

CONCURRENCY = 1_000
"""Turns wait for each other, so many are open at once; each costs a look at the caches."""

H = TypeVar("H")
R = TypeVar("R")


def interceptor_for(deps: Dependencies, name: str, handler: Handler, dialect: Dialect) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    return build(deps, Interceptor(name, handler, concurrency=CONCURRENCY), dialect)


class SharedHandlers(Generic[H]):
    """One handler for all APIs of a process: it remembers what it has just decided, for whichever request.

    By the identity of the informers, which a handler holds: they live as long as it does, and it lives as
    long as the controllers that use it.
    """

    def __init__(self, make: Callable[[Dependencies], H]) -> None:
        self._make = make
        self._made: WeakValueDictionary[int, H] = WeakValueDictionary()

    def of(self, deps: Dependencies) -> H:
        """The handler of the process that has these informers."""
        found = self._made.get(id(deps.informers))
        if found is None:
            found = self._made[id(deps.informers)] = self._make(deps)
        return found


class GiveWays:
    """How often each object was changed by others during a surge, by its UID.

    The controllers that write count it, and the turns read it: a turn that only looked now and then would not
    see a surge that was set back and begun again in between.
    """

    def __init__(self, deps: Dependencies) -> None:
        self.informers = deps.informers
        self._counts = Counter[str]()

    def note(self, uid: str) -> None:
        """Another program has changed what we had set, and the surge has ended."""
        self._counts[uid] += 1

    def of(self, uid: str) -> int:
        """How often, since this process began."""
        return self._counts[uid]


GIVE_WAYS = SharedHandlers(GiveWays)


def steady_moment(clock: PassiveClock) -> dt.datetime:
    """Now, to be compared with other moments of this function only: by the clock that nobody sets."""
    return after(EARLIEST, clock.monotonic())


async def decided(
    context: EvictionContext,
    clock: Clock,
    every: float,
    look: Callable[[], Awaitable[Wait | R]],
    expected_finish: dt.datetime | None = None,
) -> R:
    """Look every so many seconds until there is more to do than to wait; report what is waited for."""
    reported = ""
    while True:
        decision = await look()
        if not isinstance(decision, Wait):
            return decision
        if decision.message != reported:
            reported = decision.message
            await context.report(reported, expected_finish=expected_finish)
        context.progress()
        await clock.sleep(every)
