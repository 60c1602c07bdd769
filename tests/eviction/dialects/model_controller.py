"""One of several controllers: an older view, a clock of its own, and the engine."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from eviction.dialects.given import UID, read, read_pod
from eviction.dialects.model_server import Fates, Server, Stale
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.attempts import after_refusal, after_restart
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    Action,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    Finish,
    Hold,
    NotAdmitted,
    ReadTarget,
    Target,
    Turn,
)
from vacate.eviction.records.patches import (
    assign_patch,
    finish_patch,
    heartbeat_patch,
    hold_patch,
    refusal_patch,
    unadmitted_patch,
)
from vacate.eviction.records.reader import process_of, target_of


@dataclass
class ModelController:
    """Decides from what it has seen so far; only live reads are newer."""

    server: Server
    skew: dt.timedelta
    watching_since: dt.datetime
    seen_request: int = 0
    seen_pod: int = 0
    next_attempt: dt.datetime | None = None

    @property
    def now(self) -> dt.datetime:
        return self.server.now + self.skew

    @property
    def cached_pod(self) -> Obj | None:
        return self.server.pods[self.seen_pod]

    def catch_up(self, requests: int | None = None, pods: int | None = None) -> None:
        """Some of what happened meanwhile arrives; everything, where no number is given."""
        newest = len(self.server.requests) - 1, len(self.server.pods) - 1
        self.seen_request = newest[0] if requests is None else min(self.seen_request + requests, newest[0])
        self.seen_pod = newest[1] if pods is None else min(self.seen_pod + pods, newest[1])

    def restart(self, chance: float) -> None:
        self.lose_watch()
        self.catch_up()
        failed = process_of(read(self.server.request)).failed_evictions
        self.next_attempt = after_restart(failed, self.now, chance)

    def lose_watch(self) -> None:
        self.watching_since = self.now

    def moment(self) -> DecisionContext:
        return DecisionContext(self.now, self.watching_since, self.next_attempt)

    def step(self, fates: Fates) -> Action:
        """Decide once, and do it."""
        obj = self.server.requests[self.seen_request]
        target = target_of(read(obj), read_pod(self.cached_pod) if self.cached_pod else None)
        action = decide(process_of(read(obj)), target, self.moment())
        if isinstance(action, ReadTarget):
            live = self.server.pod
            target = target_of(read(obj), read_pod(live) if live else None, live=True)
            action = decide(process_of(read(obj)), target, self.moment())
        if isinstance(action, Evict) and action.recheck:
            obj = self.server.request
            action = decide(process_of(read(obj)), target, self.moment())
        self._do(obj, target, action, fates)
        return action

    def _do(self, obj: Obj, target: Target, action: Action, fates: Fates) -> None:
        if isinstance(action, Evict):
            self._evict(obj, fates)
            return
        if isinstance(action, Assign):
            assert target.termination is None, "handed over while the pod terminates"
            if action.turn is Turn.PREVIOUS_TIMED_OUT:
                self.server.checker.gives_up(obj, self.now, self.watching_since)
        patch = patch_of(read(obj), action, self.now)
        if patch is not None:
            self._send(patch, fates)

    def _evict(self, obj: Obj, fates: Fates) -> None:
        pod = self.cached_pod
        if pod is None or pod["metadata"]["uid"] != UID:
            return
        self.server.checker.evicts(self.server.request, pod, self.now, self.watching_since)
        if fates.eviction == "fails":
            return
        if fates.eviction != "refused":
            self.server.evict()
        elif self.server.ours is not None:
            failed = process_of(read(obj)).failed_evictions + 1
            self.next_attempt = after_refusal(failed, self.now, fates.chance)
            if self._send(refusal_patch(read(obj), "später. " * fates.repeated, self.now), fates):
                self.server.checker.counts(obj, self.server.request)

    def _send(self, patch: Obj, fates: Fates) -> bool:
        """Whether it was written down; the sender itself may not learn of it."""
        if fates.write == "is lost":
            return False
        try:
            self.server.patch_status(patch)
        except Stale:
            return False
        if fates.write == "arrives":
            self.seen_request = len(self.server.requests) - 1
        return True


def patch_of(request: EvictionRequest, action: Action, now: dt.datetime) -> Obj | None:
    """What is written for an action; nothing for one that is no news."""
    if isinstance(action, Finish):
        return finish_patch(request, action, now)
    if isinstance(action, Assign):
        return assign_patch(request, action, now)
    if isinstance(action, Hold):
        return hold_patch(request, action, now)
    if isinstance(action, CorrectHeartbeat):
        return heartbeat_patch(request, action)
    return unadmitted_patch(request, now) if isinstance(action, NotAdmitted) else None
