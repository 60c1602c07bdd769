"""Which path of the webhook answers what. Pure: a review and what is known in, a verdict or a question
out.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vacate.admission.context import Context
from vacate.admission.pods.hookwrapper import HookWrapper
from vacate.admission.pods.registrationrules import PodRule
from vacate.api.identity import StatusAuthority
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, PODS, Kind
from vacate.errors import ApiError, BadRequest
from vacate.eviction.callers import DEFAULT_WAIT, UnverifiedCallers
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.webhook import pods
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult
from vacate.webhook.evacuations import EVACUATION_REVIEWS
from vacate.webhook.evictionrequests import EVICTION_REQUEST_REVIEWS
from vacate.webhook.lookups import LookupResults, Question, Unanswered


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


_Review = Callable[[AdmissionRequest, Context, WebhookConfig], ReviewResult]


@dataclass(frozen=True, slots=True)
class Path:
    """One path: the kind that it is for, and its review."""

    kind: Kind
    review: _Review
    answer_seconds: float = math.inf  # where it must be over before the API server gives up


MUTATE_REQUESTS = Path(EVICTIONREQUESTS, lambda ask, ctx, _: EVICTION_REQUEST_REVIEWS.mutate(ask, ctx))
VALIDATE_REQUESTS = Path(EVICTIONREQUESTS, lambda ask, ctx, _: EVICTION_REQUEST_REVIEWS.validate(ask, ctx))
MUTATE_EVACUATIONS = Path(EVACUATIONS, lambda ask, ctx, _: EVACUATION_REVIEWS.mutate(ask, ctx))
VALIDATE_EVACUATIONS = Path(EVACUATIONS, lambda ask, ctx, _: EVACUATION_REVIEWS.validate(ask, ctx))
MUTATE_PODS = Path(PODS, lambda ask, ctx, config: pods.mutate(ask, ctx, config.rules))
MUTATE_WORKLOAD_PODS = Path(PODS, lambda ask, ctx, _: pods.register(ask, ctx))
MUTATE_HOOKS = Path(PODS, lambda ask, ctx, config: pods.wrap_hooks(ask, ctx, config.wrapper))
VALIDATE_PODS = Path(PODS, lambda ask, ctx, _: pods.validate(ask, ctx))
# What this one answers needs more than lookups: `EvictionBridge` does it.
EVICTIONS = Path(PODS, lambda _ask, _ctx, _config: ALLOWED)
# Likewise `ReasonAnnotator`: it writes, and allows everything.
REASONS = Path(PODS, lambda _ask, _ctx, _config: ALLOWED, answer_seconds=1.7)
# Likewise `ForceDeletionRecorder`.
FORCE_DELETIONS = Path(PODS, lambda _ask, _ctx, _config: ALLOWED, answer_seconds=1.7)

PATHS: Mapping[str, Path] = {
    "/mutate/evictionrequests": MUTATE_REQUESTS,
    "/validate/evictionrequests": VALIDATE_REQUESTS,
    "/mutate/evacuations": MUTATE_EVACUATIONS,
    "/validate/evacuations": VALIDATE_EVACUATIONS,
    "/mutate/pods": MUTATE_PODS,
    "/mutate/workloadpods": MUTATE_WORKLOAD_PODS,
    "/mutate/prestophooks": MUTATE_HOOKS,
    "/validate/pods": VALIDATE_PODS,
    "/validate/evictions": EVICTIONS,
    "/annotate/reasons": REASONS,
    "/record/forcedeletions": FORCE_DELETIONS,
}


def review_at(
    path: Path, request: AdmissionRequest, known: LookupResults, config: WebhookConfig, now: dt.datetime
) -> ReviewResult | Question:
    """The verdict, or what must be known before there can be one."""
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
        return path.review(request, ctx, config)
    except Unanswered as broken_off:
        return broken_off.question
    except ApiError as refusal:
        return ReviewResult(refusal)


def check_kind(path: Path, request: AdmissionRequest) -> None:
    """BadRequest for a review about something else than the path is for."""
    asked = request.resource
    if (asked.group, asked.resource) != (path.kind.group, path.kind.plural):
        reviewed = f"{asked.resource[:100]}.{asked.group[:100]}".rstrip(".")
        raise BadRequest(f"this path reviews {path.kind.resource}, and the review is about {reviewed}")
