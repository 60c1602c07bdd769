"""What the mutating side has just let pass, so that the validating side need not ask the cluster again.

Both are asked within one write. A request that is exactly as it was left a moment ago, and comes from the
same user, has been reviewed already. Anything else is reviewed anew, and so is what another replica let pass.
"""

from __future__ import annotations

import hashlib

import orjson

from vacate.api.objects import Obj
from vacate.clock import PassiveClock
from vacate.webhook.admissionreview import AdmissionRequest, ReviewResult

SECONDS = 10.0
_MAX_REVIEWS = 10_000
# What the API server adds between the two.
_ADDED = ("uid", "creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink")


class ReviewCache:
    """New objects that were let pass within the last seconds."""

    def __init__(self, clock: PassiveClock) -> None:
        self._clock = clock
        self._passed: dict[bytes, float] = {}  # in the order of time

    def note(self, request: AdmissionRequest, verdict: ReviewResult) -> None:
        """Remember the object as the patch leaves it."""
        if not verdict.allowed or request.operation != "CREATE" or request.object is None:
            return
        now = self._clock.monotonic()
        self._forget(now)
        key = _digest(request, verdict.result or request.object)
        self._passed.pop(key, None)
        self._passed[key] = now

    def recalls(self, request: AdmissionRequest) -> bool:
        """Whether exactly this was let pass a moment ago. It is recalled once."""
        if request.operation != "CREATE" or request.object is None:
            return False
        passed = self._passed.pop(_digest(request, request.object), None)
        return passed is not None and self._clock.monotonic() - passed <= SECONDS

    def _forget(self, now: float) -> None:
        while self._passed:
            oldest = next(iter(self._passed))
            if now - self._passed[oldest] <= SECONDS and len(self._passed) < _MAX_REVIEWS:
                return
            del self._passed[oldest]


def _digest(request: AdmissionRequest, obj: Obj) -> bytes:
    meta = obj.get("metadata")
    kept = (
        {key: value for key, value in meta.items() if key not in _ADDED} if isinstance(meta, dict) else meta
    )
    user = request.user_info
    asked = [
        user.username, user.uid, user.groups, user.extra, request.namespace, request.sub_resource,
        request.resource.group, kept, obj.get("spec"),
    ]  # fmt: skip
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()
