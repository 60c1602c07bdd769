"""Leaves lifecycle.k8s.io to a controller of Kubernetes' own, and goes on where that leaves work undone.

While it gives way, Vacate writes nothing that a controller writes. Its interceptors go on, as responders do
whoever the controller is. An Eviction holds all that is known of its process, so that either controller goes
on with what the other has begun.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.times import EARLIEST, after
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import ApiError, TransportError
from vacate.eviction.dialects.lifecycle.othercontroller import is_abandoned, last_writer
from vacate.runtime.dependencies import Deps
from vacate.runtime.events import Recorder
from vacate.runtime.reconcile import Key, Later, Outcome, Reconciler

LOOK_SECONDS = 30.0
_PAGE = 500

log = logging.getLogger(__name__)


class GivingWay:
    """Looks every half minute who writes Evictions; a runnable of the manager."""

    name = "other lifecycle controller"

    def __init__(self, client: Client, clock: Clock, recorder: Recorder, leads: Callable[[], bool]) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._leads = leads
        self._known = False
        self._resumed = EARLIEST
        self._reported = ""
        self.other = ""
        """The other controller, while it works; empty while Vacate is the one."""

    @property
    def pause(self) -> float:
        """For how many seconds nothing may be written: another one works, or that is not known yet."""
        if not self._known:
            return 1.0
        return LOOK_SECONDS if self.other else 0.0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(LOOK_SECONDS if self._known else 1.0)

    async def look(self) -> None:
        """Look once. What cannot be read now stays as it was."""
        try:
            evictions, requests = await self._all(LIFECYCLE_EVICTIONS), await self._all(LIFECYCLE_REQUESTS)
        except (ApiError, TransportError) as error:
            log.info("who works on %s is not known: %s", LIFECYCLE_EVICTIONS.group, error)
            return
        self._known = True
        now, found = self._clock.now(), last_writer(evictions)
        if found is None or found.at <= self._resumed:
            self.other = ""
            return
        if is_abandoned(evictions, requests, now):
            self.other, self._resumed = "", now
            self._report(
                found.eviction,
                WARNING,
                "LifecycleResumed",
                f"{found.name} has left work undone for half an hour: Vacate is the controller of "
                "lifecycle.k8s.io again.",
            )
            return
        self.other = found.name
        self._report(
            found.eviction,
            NORMAL,
            "LifecycleGivenOver",
            f"{found.name} works on Evictions of lifecycle.k8s.io: Vacate leaves them to it.",
        )

    def _report(self, eviction: Obj, sort: str, reason: str, message: str) -> None:
        """Once for each change, by the process that leads."""
        if self._reported == reason or not self._leads():
            return
        self._reported = reason
        log.warning("%s", message)
        meta, kind = eviction["metadata"], LIFECYCLE_EVICTIONS
        about = Regarding(kind.api_version, kind.kind, meta["name"], meta["namespace"], meta["uid"])
        self._recorder.record(EventNote(about, sort, reason, message))

    async def _all(self, kind: Kind) -> list[Obj]:
        found: list[Obj] = []
        token = ""
        while True:
            page = await self._client.list(kind, options=ListOptions(limit=_PAGE, continue_token=token))
            found += page.items
            token = page.continue_token
            if not token:
                return found


class Yielding:
    """A reconciler that does nothing while another controller works."""

    def __init__(self, reconciler: Reconciler, deps: Deps) -> None:
        self._reconciler = reconciler
        self._deps = deps

    async def reconcile(self, key: Key) -> Outcome:
        """One step, or none."""
        if seconds := self._deps.lifecycle_pause():
            return Later(after(self._deps.clock.now(), seconds))
        return await self._reconciler.reconcile(key)
