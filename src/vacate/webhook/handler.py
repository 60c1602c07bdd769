"""HTTP of the webhook: one review a request. A malformed one is answered with that error and no more."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Callable, Collection

from vacate.clock import PassiveClock
from vacate.errors import (
    ApiError,
    Forbidden,
    InternalError,
    MethodNotAllowed,
    NotFound,
    ServiceUnavailable,
    TransportError,
    UnsupportedMedia,
)
from vacate.httpserver.responses import refusal
from vacate.webhook.admissionreview import (
    ALLOWED,
    AdmissionRequest,
    ReviewResult,
    read_review,
    write_review,
)
from vacate.webhook.budget import ReviewBudget
from vacate.webhook.metrics import WebhookMetrics
from vacate.webhook.reviewer import PATHS, Reviewer, Route, WebhookConfig, check_kind
from vacate.wire.mediatypes import JSON, media_type
from vacate.wire.message import Request, Response

_log = logging.getLogger(__name__)

ANSWER_SECONDS = 8.0
"""API servers give up after the time in the configuration, ten seconds at most in ours."""

_WHOLE_SECONDS = re.compile(r"([0-9]{1,4})s")


class Service:
    """Answers reviews. `config` is called for every one, so that rules can change while it runs."""

    def __init__(
        self,
        reviewer: Reviewer,
        config: Callable[[], WebhookConfig],
        clock: PassiveClock,
        metrics: WebhookMetrics,
        answer_seconds: float = ANSWER_SECONDS,
        *,
        clients: Collection[str] = (),
    ) -> None:
        self._reviewer = reviewer
        self._config = config
        self._clock = clock
        self._metrics = metrics
        self._answer_seconds = answer_seconds
        self._budget = ReviewBudget(clock)
        self._clients = frozenset(clients)  # names of client certificates; none means every one

    async def handle(self, request: Request) -> Response:
        """One request; refusals of the request itself are Status objects."""
        path = PATHS.get(request.path)
        if path is None:
            return refusal(NotFound("the webhook has no such path"))
        began = self._clock.monotonic()
        verdict, response = await self._answer(path, request)
        self._metrics.requests.labels(request.path, verdict).inc()
        self._metrics.seconds.labels(request.path).observe(self._clock.monotonic() - began)
        return response

    async def _answer(self, path: Route, request: Request) -> tuple[str, Response]:
        try:
            self._check_client(request)
            _check_form(request)
            review = read_review(request.body)
            check_kind(path, review)
        except ApiError as error:
            return "malformed", refusal(error)
        try:
            self._budget.spend(review)
        except ApiError as error:
            # An answer, and no failed call: where a failure policy lets writes pass, it would let this pass.
            verdict = ReviewResult(error) if path.refuses else ALLOWED
            return "throttled", Response(200, write_review(review.uid, verdict))
        try:
            verdict = await self._review(path, review, _waits_seconds(request))
        except ApiError as error:
            return "failed", refusal(error)
        outcome = "allowed" if verdict.allowed else "refused"
        return outcome, Response(200, write_review(review.uid, verdict))

    def _check_client(self, request: Request) -> None:
        name = request.peer.name if request.peer is not None else ""
        if self._clients and name not in self._clients:
            shown = f"is for {name[:100]!r}" if name else "is missing"
            raise Forbidden(f"the client certificate {shown}, and reviews are taken from others only")

    async def _review(self, path: Route, review: AdmissionRequest, waits: float) -> ReviewResult:
        """What is wrong with us or with the cluster is no verdict: the failure policy decides then."""
        try:
            async with asyncio.timeout(min(self._answer_seconds, path.answer_seconds, waits)):
                return await path.answer(self._reviewer, review, self._config())
        except TimeoutError:
            raise ServiceUnavailable("the API server did not answer the webhook's requests in time") from None
        except (ApiError, TransportError) as error:
            _log.warning("a review was not answered: %s", error)
            raise ServiceUnavailable(f"the webhook cannot ask the cluster: {error}") from None
        except Exception:
            _log.exception("a review was not answered")
            raise InternalError("an internal error occurred; the webhook's log has it") from None


def _waits_seconds(request: Request) -> float:
    """How long the API server waits, as it says in the query: nobody hears an answer after that."""
    timeout = _WHOLE_SECONDS.fullmatch(request.query.get("timeout", ""))
    return float(timeout[1]) if timeout else math.inf


def _check_form(request: Request) -> None:
    if request.method != "POST":
        raise MethodNotAllowed("reviews are sent with POST")
    if media_type(request.headers.get("Content-Type", "")) != JSON:
        raise UnsupportedMedia(f"reviews are sent as {JSON}")
