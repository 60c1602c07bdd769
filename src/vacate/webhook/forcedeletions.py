"""Records force deletions that the admission policies allow: an Event and a count, both beyond a policy.

It never refuses one: that is for the policies, which the API server evaluates by itself. It is asked when
they have allowed it, and before the pod is removed. Should another webhook, or the disruption budget of an
eviction, refuse it after all, the Event reports an attempt; repeated attempts make one Event.
"""

from __future__ import annotations

import logging
import uuid

from prometheus_client import Counter

from vacate.admission.pods.forcedeletion import ForceDeletionReason, Guard, may_leave_processes, review
from vacate.admission.pods.forcedeletionevents import force_deletion_event
from vacate.api.kinds import EVENTS, PODS
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.api.untyped import mapping
from vacate.client.client import Client
from vacate.clock import PassiveClock
from vacate.errors import AlreadyExists, ApiError, ConfigError, NotFound, TransportError
from vacate.webhook.admissionreview import AdmissionRequest

_log = logging.getLogger(__name__)
_NAME_CHARACTERS = 40


class ForceDeletionRecorder:
    """Writes the Events, and counts."""

    def __init__(self, client: Client, clock: PassiveClock, counter: Counter) -> None:
        self._client = client
        self._clock = clock
        self._counter = counter

    async def record(self, request: AdmissionRequest) -> None:
        """Record this deletion; what fails is logged, and the deletion goes on."""
        evicts = request.sub_resource == "eviction"
        eviction = mapping(request.object) if evicts else {}
        options = mapping(eviction.get("deleteOptions") if evicts else request.options)
        grace = options.get("gracePeriodSeconds")
        if request.dry_run is True or options.get("dryRun") or grace not in (0, None):
            return
        try:
            pod = await self._pod(request)
            if pod is None or not may_leave_processes(pod, grace):
                return
            # Whether the namespace is guarded is for the configuration: only such ones are sent here.
            ground = review(pod, request.user, None, Guard(), [eviction]) or ForceDeletionReason.UNGUARDED
            await self._record_event(pod, request.user.name, ground)
        except (ApiError, TransportError) as error:
            _log.warning("no Event for a force deletion in namespace %s: %s", request.namespace, error)

    async def _pod(self, request: AdmissionRequest) -> Obj | None:
        """The pod as it is: anyone who reaches this port may send a review, of a pod that does not exist."""
        try:
            pod = await self._client.get(PODS, request.name or "", request.namespace or "")
        except (NotFound, ConfigError):
            return None
        meant = dig(request.old_object or {}, "metadata", "uid")
        return pod if request.old_object is None or meant == pod["metadata"]["uid"] else None

    async def _record_event(self, pod: Obj, user: str, ground: ForceDeletionReason) -> None:
        event = force_deletion_event(pod, user, ground, self._clock.now(), name=_event_name(pod, user))
        if event is None:
            return
        self._counter.labels(str(ground)).inc()
        try:
            await self._client.create(EVENTS, event, namespace_of(pod))
        except AlreadyExists:
            return


def _event_name(pod: Obj, user: str) -> str:
    """The same one for every attempt of this user at this pod."""
    attempt = uuid.uuid5(uuid.NAMESPACE_OID, f"{pod['metadata']['uid']}/{user}")
    return f"{name_of(pod)[:_NAME_CHARACTERS].rstrip('.-')}.force-{attempt}"
