"""What the commands read: a pod, its request, the budgets over it, and when an eviction was last refused."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from vacate.api.kinds import (
    EVENTS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    Kind,
)
from vacate.api.objectidentity import identity_of
from vacate.api.objects import Obj, dig
from vacate.api.options import ListOptions
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.core import Event
from vacate.api.types.evictionrequest import EvictionRequest, Interceptor
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.api.types.readable import is_complete
from vacate.cli.common.connection import Cluster, is_unknown_path
from vacate.cli.common.remedies import no_node, not_found_in
from vacate.client.codec import codec_for
from vacate.errors import ApiError, Forbidden, NotFound, TransportError, UnreadableObject
from vacate.eviction.coexistence import deciding
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.assembly import concerning
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE, LIFECYCLE_REQUEST
from vacate.eviction.dialects.registry import DIALECTS, READ_DIALECTS
from vacate.views.model import Refusals

REFUSED = "EvictionRefused"
"""The reason of the controller's event about a refused eviction."""

_BY_KIND: Mapping[tuple[str, str], Dialect] = {
    (one.kind.api_version, one.kind.kind): one for one in READ_DIALECTS
}


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A request as the server has it, and as a record; None where it cannot be decoded."""

    obj: Obj
    record: EvictionRequest | None

    @property
    def typed(self) -> EvictionRequest:
        """The record; UnreadableObject where it cannot be decoded."""
        return self.record if self.record is not None else _record_of(self.obj)

    @property
    def complete(self) -> bool:
        """Whether it is over."""
        return is_complete(self.obj) if self.record is None else self.record.complete


@dataclass(frozen=True, slots=True)
class PodAndRequest:
    """A pod and the request about it, each as far as there is one."""

    pod: Obj | None
    request: FoundRequest | None
    served: bool = True  # whether the cluster serves an API in which there could be one

    @property
    def typed_pod(self) -> Pod | None:
        """The pod as a projection; UnreadableObject where it cannot be decoded."""
        return codec_for(Pod).convert(self.pod) if self.pod is not None else None

    @property
    def typed_request(self) -> EvictionRequest | None:
        """The request as a projection; UnreadableObject where it cannot be decoded.

        Before its Eviction has begun, the interceptors are those that the pod names for it.
        """
        request = self.request.typed if self.request is not None else None
        if request is None or self.pod is None or request.kind != LIFECYCLE_REQUESTS:
            return request
        turns = [Interceptor(name=one) for one in reversed(LIFECYCLE.registration(self.pod).interceptors)]
        return msgspec.structs.replace(
            request, spec=msgspec.structs.replace(request.spec, interceptors=turns)
        )


async def read_node(cluster: Cluster, name: str) -> Node:
    """The node; a ConfigError that says how to find others where it is not there."""
    try:
        return await cluster.client.get(NODES, name, into=Node)
    except NotFound:
        raise no_node(name) from None


def _record_of(request: Obj) -> EvictionRequest:
    """The request as a record; UnreadableObject, with a way out, where it cannot be decoded."""
    dialect = _BY_KIND[str(request.get("apiVersion")), str(request.get("kind"))]
    try:
        return dialect.read(codec_for(dialect.wire).convert(request))
    except UnreadableObject as error:
        meta, kind = identity_of(request), dialect.kind
        called = kind.singular if kind != LIFECYCLE_REQUESTS else kind.resource  # ours has the same name
        where = f"{called} {shlex.quote(meta.name)} -n {shlex.quote(meta.namespace)}"
        raise UnreadableObject(
            f"{error}. It is not processed until it changes. Correct that field with `kubectl edit {where} "
            f"--subresource=status`, or remove the request with `kubectl delete {where}`"
        ) from error


def records_of(found: Iterable[Obj], *, are_all: bool = False) -> list[FoundRequest]:
    """Of these objects, which may be of several APIs, those that concern pods."""
    objs = list(found)
    read: list[EvictionRequest] = []
    unreadable: set[str] = set()
    for one in objs:
        try:
            read.append(_record_of(one))
        except UnreadableObject:
            unreadable.add(identity_of(one).uid)
    records = {one.metadata.uid: one for one in concerning(read, are_all=are_all)}
    return [
        FoundRequest(one, records.get(uid))
        for one in objs
        if (uid := identity_of(one).uid) in records or uid in unreadable
    ]


def named_pod(request: Obj) -> str:
    """The name of the pod that a request of any API is about."""
    return _of_pod_ref(request, "name")


def named_uid(request: Obj) -> str:
    """The UID of the pod that a request of any API is about."""
    return _of_pod_ref(request, "uid")


def _of_pod_ref(request: Obj, field: str) -> str:
    spec = request.get("spec")
    ref = dig(spec, "target", "podRef") or dig(spec, "target", "pod") or dig(spec, "podRef")
    return str(dig(ref, field)) if isinstance(ref, dict) else "None"


async def find(cluster: Cluster, pod_name: str, only: Dialect | None = None) -> PodAndRequest:
    """The pod of that name and its request, by any API or by one; of a pod that is gone, the last about it.

    NotFound where there is neither.
    """
    pod, missing = await _pod(cluster, pod_name)
    if pod is not None:
        return PodAndRequest(pod, await _current(cluster, pod_name, str(dig(pod, "metadata", "uid")), only))
    about = await list_all_requests(cluster, cluster.namespace, only=only)
    request = _deciding([one for one in about if named_pod(one.obj) == pod_name])
    if request is None and missing is not None:
        raise missing
    return PodAndRequest(None, request)


async def find_also_unserved(cluster: Cluster, pod_name: str, only: Dialect | None = None) -> PodAndRequest:
    """The same; the pod alone, where the cluster serves no API for evictions and none was named."""
    try:
        return await find(cluster, pod_name, only)
    except NotFound as error:
        if only is not None or not is_unknown_path(error):
            raise
    pod, missing = await _pod(cluster, pod_name)
    if missing is not None:
        raise missing
    return PodAndRequest(pod, None, served=False)


async def list_requests(
    cluster: Cluster, namespace: str, selector: str = "", dialect: Dialect = EVICTION_REQUEST
) -> list[FoundRequest]:
    """Every request by an API in a namespace, or in all of them, for pods with these labels."""
    if dialect is not LIFECYCLE:
        return records_of(await _list(cluster, dialect.kind, namespace, selector))
    found, are_all = await _list(cluster, LIFECYCLE.kind, namespace), False
    with contextlib.suppress(NotFound, Forbidden):  # not to this user
        found += await _list(cluster, LIFECYCLE_REQUESTS, namespace)
        are_all = True
    if selector:  # neither of the two has the labels of its pod
        uids = {one.metadata.uid for one in await list_pods(cluster, namespace, label_selector=selector)}
        found = [one for one in found if named_uid(one) in uids]
    return records_of(found, are_all=are_all)


async def _list(cluster: Cluster, kind: Kind, namespace: str, selector: str = "") -> list[Obj]:
    """All objects of a kind, page by page, as they are read one by one."""
    pages = cluster.client.pages(kind, namespace, ListOptions(label_selector=selector))
    return [named(one, kind) async for page in pages for one in page.items]


def named(obj: Obj, kind: Kind) -> Obj:
    """The object as it is read on its own: an item of a list does not say its kind."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj}


async def list_all_requests(
    cluster: Cluster, namespace: str, selector: str = "", only: Dialect | None = None
) -> list[FoundRequest]:
    """Every request for pods with these labels by whichever API is served to this user, or by one.

    NotFound or Forbidden, that of the first, where none is.
    """
    found: list[FoundRequest] = []
    refused: list[NotFound | Forbidden] = []
    apis = tuple(DIALECTS.values()) if only is None else (only,)
    for one in apis:
        try:
            found += await list_requests(cluster, namespace, selector, one)
        except (NotFound, Forbidden) as error:
            if isinstance(error, Forbidden) and one is EVICTION_REQUEST:
                raise
            refused.append(error)
    if len(refused) == len(apis):
        raise refused[0]
    return found


async def read_by(cluster: Cluster, dialect: Dialect, namespace: str) -> list[Dialect]:
    """By what the requests of an API are followed; NotFound or Forbidden where they cannot be read.

    Of lifecycle.k8s.io by Evictions and, where the user may read them, by EvictionRequests.
    """
    await cluster.client.list(dialect.kind, namespace, ListOptions(limit=1))
    found = [dialect]
    if dialect is LIFECYCLE:
        with contextlib.suppress(NotFound, Forbidden):
            await cluster.client.list(LIFECYCLE_REQUESTS, namespace, ListOptions(limit=1))
            found.append(LIFECYCLE_REQUEST)
    return found


async def evictions_of(cluster: Cluster, requests: Iterable[EvictionRequest]) -> list[EvictionRequest]:
    """The Evictions of lifecycle.k8s.io that go on for the pods of these requests."""
    pods = {(one.metadata.namespace, one.pod_uid) for one in requests}
    found = [
        one.typed
        for namespace in sorted({namespace for namespace, _ in pods})
        for one in await list_requests(cluster, namespace, dialect=LIFECYCLE)
        if (namespace, named_uid(one.obj)) in pods
    ]
    return [one for one in found if not one.complete and one.kind == LIFECYCLE.kind]


async def list_pods(
    cluster: Cluster, namespace: str, *, label_selector: str = "", field_selector: str = ""
) -> list[Pod]:
    """Every pod of a namespace, or of all of them, that is selected, page by page."""
    options = ListOptions(label_selector=label_selector, field_selector=field_selector)
    pages = cluster.client.pages(PODS, namespace, options, into=Pod)
    return [one async for page in pages for one in page.items]


async def list_nodes(cluster: Cluster) -> list[Obj]:
    """The nodes; none where they cannot be listed: they are not what was asked for."""
    try:
        return list((await cluster.client.list(NODES)).items)
    except (ApiError, TransportError):
        return []


async def list_budgets(cluster: Cluster, namespace: str) -> list[PodDisruptionBudget] | None:
    """The budgets of a namespace, or of all; None for those who may not read them."""
    try:
        found = await cluster.client.list(PODDISRUPTIONBUDGETS, namespace, into=PodDisruptionBudget)
    except Forbidden:
        return None
    return list(found.items)


async def refusals(cluster: Cluster, request: EvictionRequest) -> tuple[Refusals, ...]:
    """The refused evictions of a request, where its Events are readable and still kept, the oldest first."""
    meta = request.metadata
    selector = f"involvedObject.uid={meta.uid},reason={REFUSED}"
    try:
        found = await cluster.client.list(
            EVENTS, meta.namespace, ListOptions(field_selector=selector), into=Event
        )
    except Forbidden:
        return ()
    made = [
        Refusals(one.first_timestamp or last, last, max(one.count, 1), one.message)
        for one in found.items
        if (last := one.last_timestamp or one.event_time) is not None
    ]
    return tuple(sorted(made, key=lambda one: (one.first, one.last)))


async def _pod(cluster: Cluster, name: str) -> tuple[Obj | None, NotFound | None]:
    try:
        return await cluster.client.get(PODS, name, cluster.namespace), None
    except NotFound as error:
        return None, not_found_in(error, cluster.namespace)


async def _current(cluster: Cluster, pod_name: str, uid: str, only: Dialect | None) -> FoundRequest | None:
    """The request for a pod by whichever API, or by one.

    NotFound where no API is served.
    """
    found: list[FoundRequest] = []
    refused: list[ApiError] = []
    apis = tuple(DIALECTS.values()) if only is None else (only,)
    for dialect in apis:
        try:
            found += await _of_pod(cluster, dialect, pod_name, uid)
        except (NotFound, Forbidden) as error:
            if isinstance(error, Forbidden) and dialect is EVICTION_REQUEST:
                raise
            refused.append(error)
    if len(refused) == len(apis):
        raise refused[0]
    return _deciding(found)


async def _of_pod(cluster: Cluster, dialect: Dialect, pod_name: str, uid: str) -> list[FoundRequest]:
    """The requests of one API for a pod; NotFound where it is not served."""
    kind = dialect.kind
    if name := dialect.request_name(pod_name, uid):
        try:
            return records_of([named(await cluster.client.get(kind, name, cluster.namespace), kind)])
        except NotFound as error:
            if error.details.get("name"):
                return []
            raise  # the kind as such is not served
    listed = await list_requests(cluster, cluster.namespace, dialect=dialect)
    return [one for one in listed if named_uid(one.obj) == uid]


def _deciding(found: Sequence[FoundRequest]) -> FoundRequest | None:
    """The one that decides; one that cannot be decoded only where no other goes on."""
    those = [one for one in found if not one.complete] or found
    chosen = deciding(one.record for one in those if one.record is not None)
    return next((one for one in those if one.record is chosen), None)


async def list_maintenances(cluster: Cluster) -> list[NodeMaintenance] | None:
    """All NodeMaintenances; None where the user may not read them."""
    try:
        return list((await cluster.client.list(NODEMAINTENANCES, into=NodeMaintenance)).items)
    except NotFound:
        return []
    except Forbidden:
        return None
