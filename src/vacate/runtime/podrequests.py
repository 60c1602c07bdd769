"""The request for a pod: by its name, or, where that does not follow from the pod, by an index or a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vacate.api.options import ListOptions
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest, LocalPodReference
from vacate.cache.informer import Informer
from vacate.cache.reader import Reader
from vacate.cache.store import IndexFunction
from vacate.client.client import Client
from vacate.eviction.coexistence import deciding
from vacate.eviction.dialects.base import Dialect, registered_interceptors

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
    """The request for the pod; of several that are not named after it the one that decides."""
    if name := dialect.request_name(pod_name, pod_uid):
        return requests.get(namespace, name)
    return deciding(requests.by_index(TARGET, pod_uid))


async def read_request(
    client: Client, dialect: Dialect, namespace: str, ref: LocalPodReference, pod: Pod | None
) -> EvictionRequest | None:
    """The request for the pod as the server has it; None, or NotFound, where there is none."""
    if name := dialect.request_name(ref.name, ref.uid):
        return dialect.read(await client.get(dialect.kind, name, namespace, into=dialect.wire))
    registered = registered_interceptors(dialect, pod)
    return await read_process(client, dialect, namespace, ref.uid, registered[-1]) if registered else None


async def read_process(
    client: Client, dialect: Dialect, namespace: str, pod_uid: str, interceptor: str
) -> EvictionRequest | None:
    """That of an API whose processes have the names of interceptors as labels, from the server itself."""
    by_label = ListOptions(label_selector=dialect.requests_of(interceptor, ""))
    listing = await client.list(dialect.kind, namespace, by_label, into=dialect.wire)
    found = [dialect.read(one) for one in listing.items]
    return deciding(one for one in found if pod_uid in _targets(one))


def request_by_any(requests: Mapping[Dialect, Informer[EvictionRequest]], pod: Pod) -> EvictionRequest | None:
    """The request for a pod, by whichever API: the one that decides."""
    meta = pod.metadata
    return deciding(
        request
        for dialect, informer in requests.items()
        if (request := request_for(dialect, informer.reader, meta.namespace, meta.name, meta.uid))
    )
