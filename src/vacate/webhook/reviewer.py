"""Looks up what a review needs to know, from the API server itself: what it learns of objects is not kept."""

from __future__ import annotations

from vacate.admission.pods.bridge import BridgeConfig, read_eviction
from vacate.api.identity import User
from vacate.api.kinds import EVACUATIONS, Kind
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import ConfigError, NotFound
from vacate.metrics import Metrics
from vacate.webhook.accessreviews import AccessReviews
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult
from vacate.webhook.callercheck import CallerCheck
from vacate.webhook.evictionbridge import EvictionBridge
from vacate.webhook.forcedeletions import ForceDeletionRecorder
from vacate.webhook.lookups import AccessCheck, LookupResults, ObjectLookup
from vacate.webhook.paths import (
    EVICTIONS,
    FORCE_DELETIONS,
    MUTATE_EVACUATIONS,
    MUTATE_REQUESTS,
    REASONS,
    VALIDATE_EVACUATIONS,
    VALIDATE_REQUESTS,
    Path,
    WebhookConfig,
    review_at,
)
from vacate.webhook.reasonannotations import ReasonAnnotator
from vacate.webhook.reviewcache import ReviewCache


class Reviewer:
    """Answers reviews, with a cluster to look things up in."""

    def __init__(self, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._client = client
        self._clock = clock
        self._cache = ReviewCache(clock)
        self._access = AccessReviews(client, clock)
        self._bridge = EvictionBridge(client, clock)
        self._callers = CallerCheck(client, self._access, clock)
        self._reasons = ReasonAnnotator(client)
        self._forced = ForceDeletionRecorder(client, clock, metrics.force_deletions)

    async def review(self, path: Path, request: AdmissionRequest, config: WebhookConfig) -> ReviewResult:
        """The verdict. An ApiError or TransportError where the cluster does not answer what must be known."""
        if path is EVICTIONS:
            return await self._evicted(request, config)
        if path is REASONS:
            if config.reasons:
                await self._reasons.annotate(request)
            return ALLOWED
        if path is FORCE_DELETIONS:
            await self._forced.record(request)
            return ALLOWED
        if path in (VALIDATE_REQUESTS, VALIDATE_EVACUATIONS) and self._cache.recalls(request):
            return ALLOWED
        verdict = await self._review(path, request, config)
        if path in (MUTATE_REQUESTS, MUTATE_EVACUATIONS):
            self._cache.note(request, verdict)
        return verdict

    async def _evicted(self, request: AdmissionRequest, config: WebhookConfig) -> ReviewResult:
        if request.sub_resource != "eviction" or not config.bridge:
            return ALLOWED
        review = read_eviction(
            request.user,
            request.namespace or "",
            request.name or "",
            request.object or {},
            dry_run=request.dry_run is True,
        )
        bridge_config = BridgeConfig(
            config.authority,
            config.allowed_interceptors,
            config.bridge_wait,
            config.limits,
            config.gates.enabled(EVACUATIONS.gate),
        )

        async def check(kind: Kind) -> None:
            await self._callers.check(review, kind, config.unverified_callers)

        answer = await self._bridge.answer(review, bridge_config, check)
        return ReviewResult(answer.refusal, warnings=[answer.warning] if answer.warning else ())

    async def _review(self, path: Path, request: AdmissionRequest, config: WebhookConfig) -> ReviewResult:
        known, now = LookupResults(), self._clock.now()
        while True:
            found = review_at(path, request, known, config, now)
            if isinstance(found, ReviewResult):
                return found
            known = await self._more(known, found, request.user)

    async def _more(
        self, known: LookupResults, question: AccessCheck | ObjectLookup, user: User
    ) -> LookupResults:
        if isinstance(question, AccessCheck):
            return known.with_right(question, await self._access.allowed(question.access(user)))
        return known.with_object(question, await self._what_is(question))

    async def _what_is(self, question: ObjectLookup) -> Obj | None:
        try:
            return await self._client.get(question.kind, question.name, question.namespace)
        except NotFound:
            return None
        except ConfigError:
            return None  # no object can have such a name
