"""Declined turns whose cause is gone: the interceptor takes its refusal back, and gets another turn.

If a budget blocks the eviction of a pod for which an interceptor has declined, this controller looks every
few seconds whether the interceptor would decline again. Where it would not, it sets the interceptor's
condition Declined to False, and the eviction request controller does the rest. Some causes are seen in
another turn only, such as a program that sets a count back: if the same is declined soon again, the next turn
comes ever later, up to five minutes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from vacate.api.times import after
from vacate.api.types import condition
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.errors import NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome
from vacate.sdk.interceptors.patches import status_patch
from vacate.sdk.turnstate import is_wanted
from vacate.sdk.values import Condition, Report

LOOK_AGAIN = dt.timedelta(seconds=5)
"""Between two looks at a request with declined turns."""

PAUSE = 15
"""Seconds for which a refusal stands at least: the next one may have the same cause."""

MAX_PAUSE = 300
"""The same for one that was taken back in vain again and again."""

Requests = Mapping[Dialect, Informer[EvictionRequest]]


class DeclineReasons(Protocol):
    """Knows what interceptors of one kind decline for."""

    def declined_by(self, request: EvictionRequest, /) -> str:
        """Which refusal, of the interceptors that declined, to take back; empty where that would not help."""

    async def would_help(self, request: EvictionRequest, now: dt.datetime, /) -> bool:
        """Whether it would not decline again, as far as can be known before its turn."""


def build(
    name: str, deps: Dependencies, requests: Requests, reasons: DeclineReasons, interceptors: Collection[str]
) -> Controller:
    """The controller for these interceptors, woken by requests; it looks at those that were declined."""
    found = Reconsidering(deps, requests, reasons, interceptors)
    sources = [Source(one, when=found.concerns) for one in requests.values()]
    return Controller(name, found, sources, deps, workers=2)


@dataclass(frozen=True, slots=True)
class _Try:
    """Another turn for what was declined so, after how many in a row that were declined again soon."""

    at: dt.datetime
    message: str
    earlier: int


class Reconsidering:
    """Looks at the declined turns of one request; of several of that name, as two APIs may have them, of all.

    It looks as long as the turn is declined, whatever is known of the reason by now: a request may be in the
    cache before the pod and the owners that tell whose it is.
    """

    def __init__(
        self, deps: Dependencies, requests: Requests, reasons: DeclineReasons, interceptors: Collection[str]
    ) -> None:
        self._deps = deps
        self._requests = requests
        self._reasons = reasons
        self._interceptors = interceptors
        self._tries: dict[tuple[str, str], _Try] = {}  # by the pod's UID and the interceptor

    def concerns(self, _old: EvictionRequest | None, new: EvictionRequest | None) -> bool:
        """Whether one of the interceptors declined and a budget blocks the eviction."""
        if new is None or new.complete or recorded_stage(new) is not Stage.BLOCKED or not is_wanted(new):
            return False
        return any(has_declined(new, name) for name in self._interceptors)

    async def reconcile(self, key: Key) -> Outcome:
        """Take back what would not be declined again."""
        found = [one.reader.get(*key) for one in self._requests.values()]
        declined = [one for one in found if one is not None and self.concerns(None, one)]
        if not declined:
            return Done()
        now = self._deps.clock.now()
        # A manager that starts knows of no tries, and begins anew.
        self._tries = {which: one for which, one in self._tries.items() if now < after(one.at, 2 * MAX_PAUSE)}
        for request in declined:
            name = self._reasons.declined_by(request)
            refused = condition(request.status.conditions, declined_type(name)) if name else None
            if refused is None or refused.status != "True" or refused.last_transition_time is None:
                continue
            which, since = (request.pod_uid, name), refused.last_transition_time
            in_vain = _in_vain(self._tries.get(which), refused.message, since)
            due = now >= after(since, min(PAUSE * 2**in_vain, MAX_PAUSE))
            if due and await self._reasons.would_help(request, now):
                self._tries[which] = _Try(now, refused.message, in_vain)
                await self._take_back(request, name, now)
        return Later(now + LOOK_AGAIN)

    async def _take_back(self, request: EvictionRequest, name: str, now: dt.datetime) -> None:
        withdrawn = Condition(declined_type(name), False, "Reconsidered", "The cause of the refusal is gone.")
        dialect, meta = dialect_of(request), request.metadata
        patch = status_patch(request, Report(conditions=(withdrawn,)), now, beat=False)
        if patch is None:
            return
        try:
            await self._deps.client.patch(
                dialect.kind,
                meta.name,
                dialect.status_patch(patch, request, now),
                meta.namespace,
                patch_type=dialect.status_patch_type,
                subresource="status",
            )
        except NotFound:
            return  # the request is gone, and its informer will say so


def _in_vain(last: _Try | None, message: str, since: dt.datetime) -> int:
    """How many tries in a row were declined again for the same, each of them soon."""
    soon = last is not None and last.message == message and since < after(last.at, MAX_PAUSE)
    return min(last.earlier + 1, 10) if last is not None and soon else 0


def has_declined(request: EvictionRequest, name: str) -> bool:
    """Whether the interceptor has declined its turn, and has not taken that back."""
    found = condition(request.status.conditions, declined_type(name))
    return found is not None and found.status == "True"
