"""Which path of the webhook answers what: the one list of paths, and how what they ask is looked up.

Objects are looked up in the API server itself, and what is learned of them is not kept.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from vacate.admission.context import Context
from vacate.admission.pods.bridge import BridgeConfig, EvictionReview, read_eviction
from vacate.admission.pods.hookwrapper import HookWrapper
from vacate.admission.pods.registrationrules import PodRule
from vacate.api.identity import StatusAuthority, User
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_REQUESTS, PODS, Kind
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import ApiError, BadRequest
from vacate.eviction.callers import DEFAULT_WAIT, UnverifiedCallers
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.metrics import Metrics
from vacate.webhook import pods
from vacate.webhook.accessreviews import AccessReviews
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult
from vacate.webhook.budget import LARGE_BYTES
from vacate.webhook.callercheck import CallerCheck
from vacate.webhook.evacuations import EVACUATION_REVIEWS
from vacate.webhook.evictionbridge import EvictionBridge
from vacate.webhook.evictionrequests import EVICTION_REQUEST_REVIEWS, validate_of_node
from vacate.webhook.forcedeletions import ForceDeletionRecorder
from vacate.webhook.lookups import AccessCheck, LookupRequired, LookupResults, ObjectLookup, Question
from vacate.webhook.reasonannotations import ReasonAnnotator
from vacate.webhook.requestreviews import RequestReviews
from vacate.webhook.reviewcache import ReviewCache


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """How this webhook is configured."""

    gates: FeatureGates = field(default_factory=FeatureGates)
    # Names below k8s.io that interceptors may have beside those of Kubernetes itself.
    allowed_interceptors: tuple[str, ...] = ()
    rules: tuple[PodRule, ...] = ()
    authority: StatusAuthority = field(default_factory=StatusAuthority)
    bridge: bool = False  # whether direct evictions wait for interceptors
    # How long a caller of the eviction API counts as waiting after its last attempt.
    bridge_wait: dt.timedelta = DEFAULT_WAIT
    unverified_callers: UnverifiedCallers = UnverifiedCallers.REFUSE
    reasons: bool = False  # whether pods are annotated with the reason of their deletion
    wrapper: HookWrapper | None = None  # how preStop hooks of new pods are wrapped
    limits: Limits = field(default_factory=Limits)  # the administrator's, for every eviction request


REQUEST_BYTES = 4 * 1024 * 1024
POD_BYTES = 8 * 1024 * 1024
"""The largest reviews. Where one is larger, the failure policy decides, which lets changes of pods and of
statuses pass. A review of an update has the object twice, and etcd takes 1.5 MiB of each. Of pods not all fit
that can be stored: JSON of API servers has six bytes for each `<`, `>` and `&`. So nothing that must hold for
such a pod rests on its review alone."""
T = TypeVar("T")

Review = Callable[[AdmissionRequest, Context, WebhookConfig], ReviewResult]
"""Decides about a write with what its context knows; Unanswered where that is not enough."""


class Reviewer:
    """Answers reviews, with a cluster to look things up in.

    Each method answers those of some paths. An ApiError or TransportError is raised where the cluster does
    not answer what must be known.
    """

    def __init__(self, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._client = client
        self._clock = clock
        self._large = ThreadPoolExecutor(1, "large-reviews")
        self._cache = ReviewCache(clock)
        self._access = AccessReviews(client, clock)
        self._bridge = EvictionBridge(client, clock, metrics)
        self._callers = CallerCheck(client, self._access, clock)
        self._reasons = ReasonAnnotator(client, clock)
        self._forced = ForceDeletionRecorder(client, clock, metrics.force_deletions)

    async def complete(
        self, reviews: RequestReviews, request: AdmissionRequest, config: WebhookConfig
    ) -> ReviewResult:
        """The mutating side of requests. What it lets pass the validating side need not look up again."""
        verdict = await self.decide(
            lambda ask, ctx, _: reviews.mutate(ask, ctx),
            request,
            config,
            lambda: reviews.questions(request, config.gates, mutating=True),
        )
        if request.size <= LARGE_BYTES:  # it costs less to look up again what is large than to remember it
            self._cache.note(request, verdict)
        return verdict

    async def check(
        self, reviews: RequestReviews, request: AdmissionRequest, config: WebhookConfig
    ) -> ReviewResult:
        """The validating side of requests."""
        try:
            if request.size <= LARGE_BYTES and self._cache.recalls(request):
                return ALLOWED
        except BadRequest as refusal:
            return ReviewResult(refusal)
        return await self.decide(
            lambda ask, ctx, _: reviews.validate(ask, ctx),
            request,
            config,
            lambda: reviews.questions(request, config.gates, mutating=False),
        )

    async def decide(
        self,
        review: Review,
        request: AdmissionRequest,
        config: WebhookConfig,
        expected: Callable[[], Sequence[Question]] = tuple,
    ) -> ReviewResult:
        """The verdict of a review, of which `expected` tells beforehand what it asks, or refuses it.

        What is expected is looked up first, so that the review runs once; whatever else it asks is looked up
        as it comes, and the review begins anew.
        """
        now = self._clock.now()
        try:
            questions = await self._run(request, expected)
        except ApiError as refusal:
            return ReviewResult(refusal)
        known = await self._looked_up(questions, request.user)
        while True:
            found = await self._run(request, partial(review_with, review, request, known, config, now))
            if isinstance(found, ReviewResult):
                return found
            known = await self._more(known, found, request.user)

    async def evict(self, request: AdmissionRequest, config: WebhookConfig) -> ReviewResult:
        """Direct evictions, for the eviction bridge."""
        if request.sub_resource != "eviction" or not config.bridge:
            return ALLOWED
        await self._run(request, request.decode)
        review = _eviction_of(request)
        bridge_config = BridgeConfig(
            config.authority,
            config.allowed_interceptors,
            config.bridge_wait,
            config.limits,
            config.gates,
        )

        async def check(kind: Kind) -> None:
            await self._callers.check(review, kind, config.unverified_callers)

        answer = await self._bridge.answer(review, bridge_config, check)
        return ReviewResult(answer.refusal, warnings=[answer.warning] if answer.warning else ())

    async def annotate(self, request: AdmissionRequest, config: WebhookConfig) -> ReviewResult:
        """Deletions, of which the reason is written onto the pod."""

        async def check() -> None:
            await self._callers.check(_eviction_of(request), EVICTIONREQUESTS, config.unverified_callers)

        if config.reasons:
            await self._run(request, request.decode)
            evicting = (*config.authority.controllers, *config.authority.shutdown_agents)
            await self._reasons.annotate(request, evicting, check)
        return ALLOWED

    async def record(self, request: AdmissionRequest, _config: WebhookConfig) -> ReviewResult:
        """Force deletions, which are recorded."""
        await self._run(request, request.decode)
        await self._forced.record(request)
        return ALLOWED

    async def _run(self, request: AdmissionRequest, work: Callable[[], T]) -> T:
        """Do what takes as long as the review is large: where that is long, the event loop does not wait.

        One thread does it for all. More of them would only take the interpreter from the event loop.
        """
        if request.size <= LARGE_BYTES:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._large, work)

    async def _looked_up(self, expected: Iterable[Question], user: User) -> LookupResults:
        """Rights first: of a user without them nothing more is asked. Then all objects side by side."""
        known, objects = LookupResults(), list[ObjectLookup]()
        for question in expected:
            if isinstance(question, ObjectLookup):
                objects.append(question)
                continue
            known = await self._more(known, question, user)
            if not known.rights[question]:
                return known
        found = await asyncio.gather(*(one.found(self._client) for one in objects))
        return LookupResults(known.rights, dict(zip(objects, found, strict=True)))

    async def _more(self, known: LookupResults, question: Question, user: User) -> LookupResults:
        if isinstance(question, AccessCheck):
            return known.with_right(question, await self._access.allowed(question.access(user)))
        return known.with_object(question, await question.found(self._client))


def review_with(
    review: Review, request: AdmissionRequest, known: LookupResults, config: WebhookConfig, now: dt.datetime
) -> ReviewResult | Question:
    """The verdict, or what must be known before there can be one. Pure."""
    ctx = Context(
        request.user,
        now,
        config.gates,
        known.lookup,
        request.sub_resource or "",
        allowed_interceptors=config.allowed_interceptors,
        may=known.may,
        authority=config.authority,
    )
    try:
        return review(request, ctx, config)
    except LookupRequired as broken_off:
        return broken_off.question
    except ApiError as refusal:
        return ReviewResult(refusal)


Answer = Callable[[Reviewer, AdmissionRequest, WebhookConfig], Awaitable[ReviewResult]]


@dataclass(frozen=True, slots=True)
class Route:
    """One path: the kind that it is for, and who answers."""

    kind: Kind
    answer: Answer
    max_bytes: int = POD_BYTES
    answer_seconds: float = math.inf  # where it must be over before the API server gives up
    refuses: bool = True  # whether it ever refuses a write


def _completed(reviews: RequestReviews) -> Route:
    def answer(it: Reviewer, request: AdmissionRequest, config: WebhookConfig) -> Awaitable[ReviewResult]:
        return it.complete(reviews, request, config)

    return Route(reviews.kind, answer, REQUEST_BYTES)


def _checked(reviews: RequestReviews) -> Route:
    def answer(it: Reviewer, request: AdmissionRequest, config: WebhookConfig) -> Awaitable[ReviewResult]:
        return it.check(reviews, request, config)

    return Route(reviews.kind, answer, REQUEST_BYTES)


def _decided(review: Review, kind: Kind = PODS, max_bytes: int = POD_BYTES) -> Route:
    return Route(kind, lambda it, request, config: it.decide(review, request, config), max_bytes)


PATHS: Mapping[str, Route] = {
    "/mutate/evictionrequests": _completed(EVICTION_REQUEST_REVIEWS),
    "/validate/evictionrequests": _checked(EVICTION_REQUEST_REVIEWS),
    "/mutate/evacuations": _completed(EVACUATION_REVIEWS),
    "/validate/evacuations": _checked(EVACUATION_REVIEWS),
    "/validate/lifecyclerequests": _decided(
        lambda ask, ctx, _: validate_of_node(ask, ctx), LIFECYCLE_REQUESTS, REQUEST_BYTES
    ),
    "/mutate/pods": _decided(lambda ask, ctx, config: pods.mutate(ask, ctx, config.rules)),
    "/mutate/workloadpods": _decided(lambda ask, ctx, _: pods.register(ask, ctx)),
    "/mutate/prestophooks": _decided(lambda ask, ctx, config: pods.wrap_hooks(ask, ctx, config.wrapper)),
    "/validate/pods": _decided(lambda ask, ctx, _: pods.validate(ask, ctx)),
    "/validate/evictions": Route(PODS, Reviewer.evict),
    "/annotate/reasons": Route(PODS, Reviewer.annotate, answer_seconds=1.7, refuses=False),
    "/record/forcedeletions": Route(PODS, Reviewer.record, answer_seconds=1.7, refuses=False),
}


def check_kind(path: Route, request: AdmissionRequest) -> None:
    """BadRequest for a review about something else than the path is for."""
    asked = request.resource
    if (asked.group, asked.resource) != (path.kind.group, path.kind.plural):
        reviewed = f"{asked.resource[:100]}.{asked.group[:100]}".rstrip(".")
        raise BadRequest(f"this path reviews {path.kind.resource}, and the review is about {reviewed}")


def _eviction_of(request: AdmissionRequest) -> EvictionReview:
    return read_eviction(
        request.user,
        request.namespace or "",
        request.name or "",
        request.object or {},
        dry_run=request.dry_run is True,
    )
