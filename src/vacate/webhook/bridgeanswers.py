"""What callers of the eviction bridge hear, and what is recorded where one goes past interceptors."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from vacate.admission.pods.bridge import EvictionReview
from vacate.admission.pods.forcedeletionevents import pod_warning
from vacate.api.kinds import EVENTS, PODS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import AlreadyExists, ApiError, NotFound, TransportError
from vacate.metrics import Metrics
from vacate.views.bridge import another_pod_message

_log = logging.getLogger(__name__)

BYPASSED = "InterceptorsBypassed"
"""The reason of the Event on a pod whose eviction was let past its interceptors."""

COMPONENT = "eviction-bridge"
"""The source of that Event."""

_MAX_EVENT = 1024


@dataclass(frozen=True, slots=True)
class BridgeAnswer:
    """What the caller hears: the refusal, or nothing where the eviction goes on."""

    refusal: ApiError | None = None
    warning: str = ""


class BridgeBypasses:
    """Counts and shows evictions that go past interceptors, behind the answers to their callers."""

    def __init__(self, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._client = client
        self._clock = clock
        self._count = metrics.bypasses.labels("bridge")
        self.tasks: set[asyncio.Task[None]] = set()

    def answer(self, pod: Obj | None, warning: str, cause: str) -> BridgeAnswer:
        """The eviction goes past interceptors: its caller reads why, and so does who looks at the pod."""
        _log.warning("%s", warning)
        self._count.inc()
        if pod is not None:
            # The same Event for every attempt. It names no caller: whether that one may evict is not known.
            name = f"{pod['metadata']['name'][:100].rstrip('.-')}.{cause}-{pod['metadata']['uid']}"
            message = warning[:_MAX_EVENT]
            event = pod_warning(pod, {"name": name}, BYPASSED, message, COMPONENT, self._clock.now())
            task = asyncio.create_task(self._write(event))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return BridgeAnswer(warning=warning)

    async def _write(self, event: Obj) -> None:
        try:
            await self._client.create(EVENTS, event, event["metadata"]["namespace"])
        except AlreadyExists:
            return
        except (ApiError, TransportError) as error:
            _log.warning("no Event %s: %s", event["metadata"]["name"], error)


def without_time(error: ApiError) -> ApiError:
    """The same, without the time after which client libraries would try again without a word."""
    details = {key: value for key, value in error.details.items() if key != "retryAfterSeconds"}
    return type(error)(error.message, reason=error.reason, details=details, code=error.status_code)


def gone(review: EvictionReview, request: EvictionRequest) -> NotFound:
    """The pod that was asked about is gone, and another one has its name."""
    details = {"name": review.name, "kind": PODS.plural}
    return NotFound(another_pod_message(review.name, request.metadata.name), details=details)
