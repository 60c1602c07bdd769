"""Since when a pod counts as available, and when to look again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.times import EARLIEST, after
from vacate.api.types import Pod
from vacate.kube.deletionorder import ready_since


def available_at(pod: Pod, min_ready_seconds: int) -> dt.datetime | None:
    """When the pod becomes available if it stays ready, None while it is not ready."""
    if not pod.ready:
        return None
    since = ready_since(pod)
    if min_ready_seconds == 0:
        return since or EARLIEST
    return after(since, min_ready_seconds) if since else None


def is_available(pod: Pod, min_ready_seconds: int, now: dt.datetime) -> bool:
    """Ready for at least that long."""
    if min_ready_seconds == 0:
        return pod.ready
    at = available_at(pod, min_ready_seconds)
    return at is not None and at <= now


def next_check(pods: Iterable[Pod], min_ready_seconds: int, now: dt.datetime) -> dt.datetime | None:
    """The next moment at which another of the pods becomes available by waiting alone."""
    if min_ready_seconds == 0:
        return None
    moments = [available_at(pod, min_ready_seconds) for pod in pods]
    return min((at for at in moments if at is not None and at > now), default=None)
