"""The request for a pod in a cache: by its name, or, where that does not follow from the pod, by an index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.cache.reader import Reader
from vacate.cache.store import IndexFunction
from vacate.eviction.dialects.base import Dialect

TARGET = "target"
"""An index of requests by the UID of their pod."""


def target_indexes(dialect: Dialect) -> Mapping[str, IndexFunction[EvictionRequest]]:
    """The index by which requests are found that are not named after their pods."""
    return {} if dialect.request_name("", "uid") else {TARGET: _targets}


def _targets(request: EvictionRequest) -> Iterable[str]:
    return (request.pod_uid,) if request.pod_uid else ()


def request_for(
    dialect: Dialect, requests: Reader[EvictionRequest], namespace: str, pod_name: str, pod_uid: str
) -> EvictionRequest | None:
    """The request for the pod; of several that are not named after it the open one, else the newest."""
    if name := dialect.request_name(pod_name, pod_uid):
        return requests.get(namespace, name)
    return preferred(requests.by_index(TARGET, pod_uid))


def preferred(found: Iterable[EvictionRequest]) -> EvictionRequest | None:
    """Of several requests for a pod the open one, else the newest."""
    return min(found, key=_preference, default=None)


def request_by_any(requests: Mapping[Dialect, Informer[EvictionRequest]], pod: Pod) -> EvictionRequest | None:
    """The request for a pod, by whichever API: one that goes on before one that is over."""
    meta = pod.metadata
    found = [
        request
        for dialect, informer in requests.items()
        if (request := request_for(dialect, informer.reader, meta.namespace, meta.name, meta.uid))
    ]
    return min(found, key=lambda one: one.complete, default=None)


def _preference(request: EvictionRequest) -> tuple[bool, float]:
    made = request.metadata.creation_timestamp
    return request.complete, -made.timestamp() if made else 0.0
