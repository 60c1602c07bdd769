"""What large reviews may cost each caller: a budget of bytes for each user and namespace.

Small reviews cost nothing: API servers limit how many of them a user can cause. A large one takes processor
time that others wait for. A caller that has spent its budget is asked to try again, and others go on.
"""

from __future__ import annotations

from vacate.clock import PassiveClock
from vacate.errors import TooManyRequests
from vacate.webhook.admissionreview import AdmissionRequest

LARGE_BYTES = 64 * 1024
"""Reviews of larger objects are large."""
BURST_BYTES = 32 * 1024 * 1024
BYTES_PER_SECOND = 4 * 1024 * 1024
_MAX_CALLERS = 1_000
_RETRY_SECONDS = 1

_Caller = tuple[str, str]


class ReviewBudget:
    """Who has spent how much of late."""

    def __init__(self, clock: PassiveClock) -> None:
        self._clock = clock
        # What is left of each budget, and as of when; in the order of time.
        self._left: dict[_Caller, tuple[float, float]] = {}

    def spend(self, request: AdmissionRequest) -> None:
        """Count a review; TooManyRequests where its user has no budget left in its namespace."""
        if request.size <= LARGE_BYTES:
            return
        caller, now = (request.user_info.username, request.namespace or ""), self._clock.monotonic()
        left, since = self._left.pop(caller, (float(BURST_BYTES), now))
        left = min(BURST_BYTES, left + (now - since) * BYTES_PER_SECOND)
        # A budget that is not spent allows one review more, however large: so none is refused for ever.
        allowed = left > 0
        self._left[caller] = (left - request.size if allowed else left, now)
        if len(self._left) > _MAX_CALLERS:
            del self._left[next(iter(self._left))]
        if not allowed:
            raise TooManyRequests(
                "reviews of large objects by this user in this namespace take more time than one may have; "
                "try again later",
                details={"retryAfterSeconds": _RETRY_SECONDS},
            )
