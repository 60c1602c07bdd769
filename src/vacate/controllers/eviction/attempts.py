"""What the controller remembers between two looks at a request. All of it may be lost: it only saves time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from vacate.api.times import EARLIEST
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.entropy import Entropy
from vacate.eviction.attempts import MAX_DELAY, MAX_UNWATCHED_DELAY, after_refusal, after_restart
from vacate.eviction.retryorder import Waiting
from vacate.runtime.reconcile import Key

ANSWER_TIMEOUT = dt.timedelta(seconds=30)
"""How long an accepted eviction may take to show in the cache before it is asked for again."""


@dataclass(slots=True)
class _Attempt:
    uid: str  # of the request: one that is deleted and made again starts anew
    at: dt.datetime | None  # when the next eviction may be tried; None means at once
    accepted: int = 0  # how many evictions were accepted
    by_budget: bool = True  # whether a budget refused, as far as is known


class EvictionAttempts:
    """When each request may next ask for the eviction, and which of them wait because they were refused."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._known: dict[Key, _Attempt] = {}
        self._waiting: dict[str, dict[Key, Waiting]] = {}  # by namespace; none is empty
        # Whether a budget counts the pod of a request, so that a watch may show when it opens.
        self.is_budgeted: Callable[[EvictionRequest], bool] = lambda _: True

    def next_of(self, request: EvictionRequest, now: dt.datetime) -> dt.datetime | None:
        """When the next eviction may be tried; None means at once.

        A request that was refused before this process began waits at random within its present delay.
        """
        known = self._of(request)
        if known is None:
            failed = failures(request)
            if not failed:
                return None
            longest = MAX_DELAY if self.is_budgeted(request) else MAX_UNWATCHED_DELAY
            known = self._wait(request, after_restart(failed, now, self._chance(), longest))
        if known.at is not None and known.at > now + MAX_DELAY:
            known.at = now  # the clock was set back: no delay is as long as that
        return known.at

    def refused(self, request: EvictionRequest, now: dt.datetime, *, by_budget: bool) -> dt.datetime:
        """The eviction was refused once more; returns when to try again."""
        longest = MAX_DELAY if by_budget else MAX_UNWATCHED_DELAY
        at = after_refusal(failures(request) + 1, now, self._chance(), longest)
        self._wait(request, at).by_budget = by_budget
        return at

    def accepted(self, request: EvictionRequest, now: dt.datetime) -> dt.datetime:
        """The eviction was accepted; returns when to ask again should nothing come of it."""
        self._leave_line(key_of(request))
        known = self._of(request)
        before = known.accepted if known else 0
        at = now + ANSWER_TIMEOUT
        self._known[key_of(request)] = _Attempt(request.metadata.uid, at, before + 1)
        return at

    def accepted_count(self, request: EvictionRequest) -> int:
        """How many evictions of the request's pod this process saw accepted."""
        known = self._of(request)
        return known.accepted if known else 0

    def waiting(self, namespace: str) -> list[Waiting]:
        """The requests of the namespace that wait because they were refused."""
        return list(self._waiting.get(namespace, {}).values())

    def waits(self, key: Key) -> bool:
        """Whether the request waits because it was refused."""
        return key in self._waiting.get(key.namespace, {})

    def waits_for_others(self, key: Key) -> bool:
        """Whether the request waits because something else than a budget refused."""
        known = self._known.get(key)
        return self.waits(key) and known is not None and not known.by_budget

    def wake(self, key: Key) -> None:
        """Let the request try at once."""
        self._leave_line(key)
        known = self._known.get(key)
        if known is not None:
            known.at = None

    def forget(self, key: Key) -> None:
        """The request is over."""
        self._leave_line(key)
        self._known.pop(key, None)

    def _of(self, request: EvictionRequest) -> _Attempt | None:
        known = self._known.get(key_of(request))
        return known if known is not None and known.uid == request.metadata.uid else None

    def _wait(self, request: EvictionRequest, at: dt.datetime | None) -> _Attempt:
        key = key_of(request)
        self._waiting.setdefault(key.namespace, {})[key] = place_of(request)
        known = self._known[key] = _Attempt(request.metadata.uid, at)
        return known

    def _leave_line(self, key: Key) -> None:
        line = self._waiting.get(key.namespace, {})
        line.pop(key, None)
        if not line:
            self._waiting.pop(key.namespace, None)

    def _chance(self) -> float:
        return self._entropy.uniform(0.0, 1.0)


def key_of(request: EvictionRequest) -> Key:
    """The key under which the request is reconciled."""
    return Key(request.metadata.namespace, request.metadata.name)


def place_of(request: EvictionRequest) -> Waiting:
    """Its place in the line before a budget."""
    meta = request.metadata
    return Waiting(meta.creation_timestamp or EARLIEST, meta.namespace, meta.name)


def failures(request: EvictionRequest) -> int:
    """How many evictions were refused, as the request records it."""
    failed = request.status.pod_eviction_status
    return failed.failed_api_eviction_counter if failed else 0
