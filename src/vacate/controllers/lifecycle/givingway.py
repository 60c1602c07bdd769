"""Leaves lifecycle.k8s.io to a controller of Kubernetes' own, and goes on where that leaves work undone.

While it gives way, Vacate writes nothing that a controller writes. Its interceptors go on, as responders do
whoever the controller is. An Eviction holds all that is known of its process, so that either controller goes
on with what the other has begun.

What the other one has written goes with its Evictions, which are collected: that it has written is kept here,
and in the Lease for the process that leads next. Only work that it leaves undone says that it is gone.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding, regarding
from vacate.api.installednames import LIFECYCLE_CONTROLLER, LIFECYCLE_RESUMED, OWN_LIFECYCLE_CONTROLLER
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS
from vacate.api.times import EARLIEST, after, format_time, is_time, parse_time
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import LifecycleRequest
from vacate.clock import Clock
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.lifecycle.othercontroller import ABANDONED_AFTER
from vacate.eviction.dialects.lifecycle.translation import LifecycleRecord
from vacate.runtime.dependencies import Dependencies, InformerFactory
from vacate.runtime.events import Recorder
from vacate.runtime.reconcile import Key, Later, Outcome, Reconciler

LOOK_SECONDS = 30.0

log = logging.getLogger(__name__)


class _Undone(NamedTuple):
    """What a controller has to do something about."""

    since: dt.datetime  # when it was last seen to change
    about: Regarding


class GivingWay:
    """Watches who writes Evictions; a runnable of the manager."""

    name = "other lifecycle controller"

    def __init__(
        self,
        informers: InformerFactory,
        clock: Clock,
        recorder: Recorder,
        leads: Callable[[], bool],
        recorded: Callable[[], Mapping[str, str]],
    ) -> None:
        """Until this process leads, what is `recorded` in the annotations of the Lease counts."""
        self._clock = clock
        self._recorder = recorder
        self._leads = leads
        self._recorded = recorded
        self._known = False
        self._resumed = EARLIEST  # writes until then do not count
        self._last_write = EARLIEST  # of the other controller
        self._undone: dict[str, _Undone] = {}  # by UID
        self._unreported: EventNote | None = None
        self.other = ""
        """The other controller, while it works; empty while Vacate is the one."""
        informers.requests(LIFECYCLE).subscribe(self._eviction)
        informers.informer(LIFECYCLE_REQUESTS, LifecycleRequest).subscribe(self._request)

    @property
    def pause(self) -> float:
        """For how many seconds nothing may be written: another one works, or that is not known yet."""
        if not self._known:
            return 1.0
        return LOOK_SECONDS if self.other else 0.0

    def annotations(self) -> dict[str, str]:
        """What the leader writes into the Lease, for its readers and for the next leader."""
        if not self._leads():
            self._recall()
        self._known = True
        found = {LIFECYCLE_CONTROLLER: self.other or OWN_LIFECYCLE_CONTROLLER}
        if self._resumed > EARLIEST:
            found[LIFECYCLE_RESUMED] = format_time(self._resumed)
        return found

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Go on where the other one has left work undone, and report what is new. The leader decides it."""
        if not self._leads():
            return
        limit = self._clock.now() - ABANDONED_AFTER
        left = min(self._undone.values(), key=lambda one: one.since, default=None)
        if self.other and left is not None and max(left.since, self._last_write) < limit:
            message = (
                f"{self.other} has left work undone for half an hour: Vacate is the controller of "
                "lifecycle.k8s.io again."
            )
            self.other, self._resumed = "", self._clock.now()
            self._unreported = EventNote(left.about, WARNING, "LifecycleResumed", message)
        self._report()

    def _report(self) -> None:
        """Once, by the process that leads."""
        if (note := self._unreported) is not None and self._leads():
            self._unreported = None
            log.warning("%s", note.message)
            self._recorder.record(note)

    def _recall(self) -> None:
        """Take what the process that led before has recorded."""
        recorded = self._recorded()
        at = recorded.get(LIFECYCLE_RESUMED, "")
        if is_time(at) and parse_time(at) > self._resumed:
            self.other, self._resumed, self._unreported = "", parse_time(at), None
        name = recorded.get(LIFECYCLE_CONTROLLER, OWN_LIFECYCLE_CONTROLLER)
        if name != OWN_LIFECYCLE_CONTROLLER:
            self.other, self._unreported = name, None  # the process that recorded it has reported it

    def _eviction(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        self._follow(old, new, new is not None and not new.complete)
        write = new.other_write if isinstance(new, LifecycleRecord) else None
        if new is None or write is None or write.at <= self._resumed:
            return
        self._last_write = max(self._last_write, write.at)
        if not self.other:
            message = f"{write.name} works on Evictions of lifecycle.k8s.io: Vacate leaves them to it."
            about = regarding(LIFECYCLE_EVICTIONS, new)
            self._unreported = EventNote(about, NORMAL, "LifecycleGivenOver", message)
        self.other = write.name
        self._report()

    def _request(self, old: LifecycleRequest | None, new: LifecycleRequest | None) -> None:
        self._follow(old, new, new is not None and new.wants_eviction and not new.status.conditions)

    def _follow(
        self,
        old: EvictionRequest | LifecycleRequest | None,
        new: EvictionRequest | LifecycleRequest | None,
        is_undone: bool,
    ) -> None:
        if old is not None:
            self._undone.pop(old.metadata.uid, None)
        if new is not None and is_undone:
            kind = LIFECYCLE_REQUESTS if isinstance(new, LifecycleRequest) else LIFECYCLE_EVICTIONS
            self._undone[new.metadata.uid] = _Undone(self._clock.now(), regarding(kind, new))


class Yielding:
    """A reconciler that does nothing while another controller works."""

    def __init__(self, reconciler: Reconciler, deps: Dependencies) -> None:
        self._reconciler = reconciler
        self._deps = deps

    async def reconcile(self, key: Key) -> Outcome:
        """One step, or none."""
        if seconds := self._deps.lifecycle_pause():
            return Later(after(self._deps.clock.now(), seconds))
        return await self._reconciler.reconcile(key)
