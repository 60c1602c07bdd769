"""Writes what an eviction request has come to: its status, Events, and the count of turns."""

from __future__ import annotations

from dataclasses import replace

from vacate.api.events import EventNote
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ADMITTED, COMPLETE, PROGRESSING, EvictionRequest
from vacate.controllers.eviction.watchhealth import WatchHealth
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.turn_conditions import result_of_turn
from vacate.eviction.records import events
from vacate.runtime.dependencies import Dependencies


class RequestWriter:
    """Writes in the words of the dialect's API."""

    def __init__(self, deps: Dependencies, dialect: Dialect, watch_health: WatchHealth) -> None:
        # From zero on: a series that begins with one would not look like an increase.
        self._turns = {one: deps.metrics.turns.labels(one.value) for one in events.ENDED}
        self._deps = deps
        self._dialect = dialect
        self._watch_health = watch_health

    async def write(self, request: EvictionRequest, patch: Obj) -> None:
        """Patch the status, guarded by the version that the decision was made upon."""
        meta = request.metadata
        now, dialect = self._deps.clock.now(), self._dialect
        changed = dialect.status_patch(_phrased(patch, dialect), request, now)
        writing = self._deps.client.patch(
            dialect.kind,
            meta.name,
            changed,
            meta.namespace,
            patch_type=dialect.status_patch_type,
            subresource="status",
        )
        await self._watch_health.ask(writing)

    def count_turn(self, request: EvictionRequest) -> None:
        """The turn that was the active interceptor's is over."""
        name = request.status.active_interceptor_name or ""
        self._turns[result_of_turn(request, name)].inc()

    def note(self, *notes: EventNote) -> None:
        """Record Events."""
        for one in notes:
            self._deps.recorder.record(replace(one, message=self._dialect.phrase(one.message)))


def _phrased(patch: Obj, dialect: Dialect) -> Obj:
    """The controller's sentences in the words of the API: its message, and those of its conditions.

    The assignment's is a record that programs read, and other conditions belong to interceptors.
    """
    status = dict(patch["status"])
    if status.get("message"):
        status["message"] = dialect.phrase(status["message"])
    conditions = status.get("conditions", [])
    if conditions:
        spoken = (ADMITTED, COMPLETE, PROGRESSING)
        status["conditions"] = [
            {**one, "message": dialect.phrase(one["message"])} if one["type"] in spoken else one
            for one in conditions
        ]
    return {**patch, "status": status}
