"""Asks the server to evict a pod and takes the answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from enum import Enum

from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import ANNOTATION, EVICTION, SOURCE_ANNOTATION
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.indexes import SELECTING, budgets_of
from vacate.client.reasons import annotate_reason
from vacate.controllers.eviction.attempts import EvictionAttempts
from vacate.controllers.eviction.ownbudget import is_allowed, is_alone
from vacate.controllers.workloads import Workloads
from vacate.errors import ApiError, Conflict, NotFound, TransportError
from vacate.eviction.attempts import Answer, answer_of, is_by_budget, why_refused
from vacate.eviction.callers import grace_period
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.turn_conditions import is_prepared
from vacate.eviction.records import events
from vacate.eviction.records.patches import prepared_patch, refusal_patch
from vacate.metrics import BYPASSES
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Later, Outcome
from vacate.views.budgets import budget_remedies, never_allows
from vacate.views.phrases import advice, sentence

log = logging.getLogger(__name__)

REASON_GATE = "TerminationReasonAnnotations"
_SOURCE = "evictionrequest-controller"

_WRITES = 3
"""How often a refusal is written anew when someone else was quicker: it happened and must be counted."""


class Result(Enum):
    """How an eviction was answered, as metrics name it."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    FAILED = "failed"  # no answer about the eviction as such


@dataclass(frozen=True, slots=True)
class TargetUnclear:
    """The server knows no such pod, or another one under the name, or it is just being changed."""

    error: ApiError


class Evictor:
    """Sends evictions and writes down refusals."""

    def __init__(self, deps: Dependencies, attempts: EvictionAttempts, dialect: Dialect) -> None:
        self._dialect = dialect
        self._deps = deps
        self._attempts = attempts
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._budgets = deps.informers.informer(
            PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING
        ).reader
        self._workloads = Workloads(deps)
        # Where the API server has no field for it, the reason is an annotation: one more write.
        self._annotates = deps.gates.enabled(REASON_GATE)
        self._count = {one: deps.metrics.evictions.labels(one.value) for one in Result}
        for cause in BYPASSES:
            deps.metrics.bypasses.labels(cause)  # shown from the beginning, with 0

    async def evict(self, request: EvictionRequest, pod: Pod) -> Outcome | TargetUnclear:
        """Evict this very pod; errors that say nothing about the eviction are raised, to be tried again."""
        meta, annotated = pod.metadata, False
        try:
            annotated = await self._annotate(pod)
            await self._deps.client.evict(
                meta.name,
                meta.namespace,
                DeleteOptions(uid=meta.uid, grace_period_seconds=grace_period(request)),
            )
        except (ApiError, TransportError) as error:
            if annotated:
                await self._take_back(pod)
            return await self._failed(request, pod, error)
        self._count[Result.ACCEPTED].inc()
        note = events.evicted(request, pod)
        self._deps.recorder.record(replace(note, message=self._dialect.phrase(note.message)))
        return Later(self._attempts.accepted(request, self._deps.clock.now()))

    async def _annotate(self, pod: Pod) -> bool:
        """Write why the pod will be ended, unless it says so; whether it may say so because of us.

        That the reason cannot be written does not keep the pod; that it is another pod by now does.
        """
        meta, client = pod.metadata, self._deps.client
        if not self._annotates:
            return False
        if ANNOTATION in meta.annotations:
            return meta.annotations.get(SOURCE_ANNOTATION) == _SOURCE
        try:
            await annotate_reason(client, meta.name, meta.namespace, meta.uid, EVICTION, source=_SOURCE)
        except (NotFound, Conflict):
            raise
        except TransportError:
            return True  # it may have been written
        except ApiError as error:
            log.warning("pod %s/%s is evicted without a reason: %s", meta.namespace, meta.name, error)
            return False
        return True

    async def _take_back(self, pod: Pod) -> None:
        """A pod that stays has no reason to end: another deletion must not be taken for this one."""
        meta = pod.metadata
        try:
            await annotate_reason(self._deps.client, meta.name, meta.namespace, meta.uid, None)
        except (NotFound, Conflict):
            return
        except (ApiError, TransportError) as error:
            log.warning("pod %s/%s keeps a reason that is not true: %s", meta.namespace, meta.name, error)

    async def _note_past(self, request: EvictionRequest) -> None:
        """Write that the pod is deleted past a budget before it is: the request may be gone with it."""
        why = self._dialect.phrase(events.went_past_because(request))
        if (patch := prepared_patch(request, why, self._deps.clock.now())) is not None:
            await self._write_status(request, patch)

    async def _go_past(self, request: EvictionRequest, pod: Pod) -> None:
        """Delete a pod that is prepared, and held by its own budget only, as its owner allows."""
        meta, grace = pod.metadata, grace_period(request)
        options = DeleteOptions(grace_period_seconds=grace, uid=meta.uid, reason=EVICTION)
        annotated = await self._annotate(pod)
        try:
            await self._deps.client.delete(PODS, meta.name, meta.namespace, options)
        except (ApiError, TransportError):
            if annotated:
                await self._take_back(pod)
            raise
        self._deps.metrics.bypasses.labels("prepared").inc()
        for note in events.went_past(request):
            self._deps.recorder.record(replace(note, message=self._dialect.phrase(note.message)))

    async def _failed(
        self, request: EvictionRequest, pod: Pod, error: ApiError | TransportError
    ) -> Outcome | TargetUnclear:
        answer = answer_of(error) if isinstance(error, ApiError) else Answer.TRY_AGAIN
        by_budget = isinstance(error, ApiError) and is_by_budget(error)
        allowed = by_budget and is_prepared(request) and await is_allowed(self._deps.client, pod)
        if allowed and is_alone(pod, self._pods, self._budgets):
            await self._note_past(request)
            try:
                await self._go_past(request, pod)
                return Later(self._attempts.accepted(request, self._deps.clock.now()))
            except NotFound:
                raise
            except ApiError as denied:
                if not denied.is_refusal:
                    raise
                why = f"The deletion past the pod's own budget was refused: {denied}"
                return await self._refused(request, why, by_budget=False)
        if answer is Answer.REFUSED and isinstance(error, ApiError):
            # No watch shows when the last other pod leaves the budget. When the owner allows it, one does.
            way = self._way_out(request, pod) if by_budget else ""
            return await self._refused(request, why_refused(error), way, by_budget=by_budget and not allowed)
        self._count[Result.FAILED].inc()
        if answer is Answer.LOOK and isinstance(error, ApiError):
            return TargetUnclear(error)
        raise error

    def _way_out(self, request: EvictionRequest, pod: Pod) -> str:
        """What helps first where the budget never lets the pod go, for the Events."""
        held = budgets_of(self._budgets, pod.metadata.namespace, pod.metadata.labels)
        if len(held) != 1 or not never_allows(held[0]):
            return ""
        way = budget_remedies(pod, held[0], request, self._workloads.of(pod))[0]
        return f" {advice(way.text)} {way.command}"

    async def _refused(
        self, request: EvictionRequest, why: str, way: str = "", *, by_budget: bool
    ) -> Outcome:
        """Count, say why, and wait. The wait is remembered first: it holds even if nothing can be written."""
        self._count[Result.REFUSED].inc()
        at = self._attempts.refused(request, self._deps.clock.now(), by_budget=by_budget)
        for note in events.refused(request, f"{sentence(why)}{way}" if way else why):
            self._deps.recorder.record(replace(note, message=self._dialect.phrase(note.message)))
        await self._write_down(request, why)
        return Later(at)

    async def _write_down(self, request: EvictionRequest, why: str) -> None:
        for attempt in range(1, _WRITES + 1):
            try:
                await self._write_status(request, refusal_patch(request, why, self._deps.clock.now()))
                return
            except NotFound:
                return
            except Conflict:
                if attempt == _WRITES:
                    raise
            found = await self._read_again(request)
            if found is None or found.complete:
                return
            request = found

    async def _write_status(self, request: EvictionRequest, patch: Obj) -> None:
        meta, dialect = request.metadata, self._dialect
        await self._deps.client.patch(
            dialect.kind,
            meta.name,
            dialect.status_patch(patch, request, self._deps.clock.now()),
            meta.namespace,
            patch_type=dialect.status_patch_type,
            subresource="status",
        )

    async def _read_again(self, request: EvictionRequest) -> EvictionRequest | None:
        meta, dialect = request.metadata, self._dialect
        try:
            obj = await self._deps.client.get(dialect.kind, meta.name, meta.namespace, into=dialect.wire)
        except NotFound:
            return None
        found = dialect.read(obj)
        return found if found.metadata.uid == meta.uid else None
