"""In which order `vacate status` shows requests. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any

from vacate.api.times import LATEST
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import has_responded, shown_stage
from vacate.views.statusrows import pod_of, unchanged_since


def in_order(requests: Iterable[EvictionRequest], by: str = "") -> list[EvictionRequest]:
    """Sorted by that key, then by namespace and pod; without one, those that still go on come first."""
    key = _KEYS[by] if by else _is_over
    return sorted(requests, key=lambda one: (key(one), one.metadata.namespace, pod_of(one)))


def _is_over(request: EvictionRequest) -> bool:
    return request.complete


def _heartbeat(request: EvictionRequest) -> dt.datetime:
    active = shown_stage(request) is Stage.INTERCEPTING and has_responded(request)
    return (request.status.heartbeat_time if active else None) or LATEST


_KEYS: dict[str, Callable[[EvictionRequest], Any]] = {
    "pod": pod_of,
    "namespace": lambda one: one.metadata.namespace,
    "stage": lambda one: list(Stage).index(shown_stage(one)),
    "active": lambda one: one.status.active_interceptor_name or "\U0010ffff",
    "since": lambda one: unchanged_since(one) or LATEST,
    "eta": lambda one: one.status.expected_interceptor_finish_time or LATEST,
    "heartbeat": _heartbeat,
    "age": lambda one: one.metadata.creation_timestamp or LATEST,
}

KEYS = tuple(_KEYS)
"""What requests can be sorted by: texts by alphabet, times earliest first, unknown ones last."""
