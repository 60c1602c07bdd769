"""What the commands read: a pod, its request, the budgets over it, and when an eviction was last refused."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from vacate.api.kinds import (
    EVENTS,
    EVICTIONREQUESTS,
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
from vacate.cli.common.connection import Cluster
from vacate.cli.common.remedies import no_node, not_found_in
from vacate.client.codec import codec_for
from vacate.errors import ApiError, Forbidden, NotFound, TransportError, UnreadableObject
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE, LIFECYCLE_REQUEST
from vacate.eviction.dialects.registry import DIALECTS
from vacate.views.model import Refusals

REFUSED = "EvictionRefused"
"""The reason of the controller's event about a refused eviction."""

_BY_KIND: Mapping[str, Dialect] = {one.kind.kind: one for one in DIALECTS.values()}


@dataclass(frozen=True, slots=True)
class PodAndRequest:
    """A pod and the request about it, each as far as there is one."""

    pod: Obj | None
    request: Obj | None

    @property
    def typed_pod(self) -> Pod | None:
        """The pod as a projection; UnreadableObject where it cannot be decoded."""
        return codec_for(Pod).convert(self.pod) if self.pod is not None else None

    @property
    def typed_request(self) -> EvictionRequest | None:
        """The request as a projection; UnreadableObject where it cannot be decoded."""
        return typed_request(self.request) if self.request is not None else None


async def read_node(cluster: Cluster, name: str) -> Node:
    """The node; a ConfigError that says how to find others where it is not there."""
    try:
        return await cluster.client.get(NODES, name, into=Node)
    except NotFound:
        raise no_node(name) from None


def typed_request(request: Obj) -> EvictionRequest:
    """The request as a projection; UnreadableObject, with a way out, where it cannot be decoded."""
    dialect: Dialect = _BY_KIND.get(str(request.get("kind")), EVICTION_REQUEST)
    try:
        return dialect.read(codec_for(dialect.wire).convert(request))
    except UnreadableObject as error:
        meta = identity_of(request)
        where = f"{dialect.kind.singular} {shlex.quote(meta.name)} -n {shlex.quote(meta.namespace)}"
        raise UnreadableObject(
            f"{error}. It is not processed until it changes. Correct that field with `kubectl edit {where} "
            f"--subresource=status`, or remove the request with `kubectl delete {where}`"
        ) from error


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
    """The pod of that name and its request, by any API or by one; of a pod that is gone, the newest about it.

    NotFound where there is neither.
    """
    pod, missing = await _pod(cluster, pod_name)
    if pod is not None:
        return PodAndRequest(pod, await _current(cluster, pod_name, str(dig(pod, "metadata", "uid")), only))
    about = await list_all_requests(cluster, cluster.namespace, only=only)
    request = _newest(one for one in about if named_pod(one) == pod_name)
    if request is None and missing is not None:
        raise missing
    return PodAndRequest(None, request)


async def list_requests(
    cluster: Cluster, namespace: str, selector: str = "", kind: Kind = EVICTIONREQUESTS
) -> list[Obj]:
    """Every request of a namespace, or of all of them, for pods with these labels, page by page."""
    if selector and kind is LIFECYCLE.kind:  # Evictions do not have the labels of their pods
        uids = {one.metadata.uid for one in await list_pods(cluster, namespace, label_selector=selector)}
        return [one for one in await list_requests(cluster, namespace, kind=kind) if named_uid(one) in uids]
    pages = cluster.client.pages(kind, namespace, ListOptions(label_selector=selector))
    return [one async for page in pages for one in page.items]


async def list_all_requests(
    cluster: Cluster, namespace: str, selector: str = "", only: Dialect | None = None
) -> list[Obj]:
    """Every request for pods with these labels by whichever API is served to this user, or by one.

    NotFound or Forbidden, that of the first, where none is.
    """
    found: list[Obj] = []
    refused: list[NotFound | Forbidden] = []
    apis = tuple(DIALECTS.values()) if only is None else (only,)
    for one in apis:
        try:
            listed = await list_requests(cluster, namespace, selector, one.kind)
            found += [{**each, "kind": one.kind.kind} for each in listed]
        except (NotFound, Forbidden) as error:
            if isinstance(error, Forbidden) and one is EVICTION_REQUEST:
                raise
            refused.append(error)
    if len(refused) == len(apis):
        raise refused[0]
    return found


async def evictions_of(cluster: Cluster, requests: Iterable[EvictionRequest]) -> list[EvictionRequest]:
    """The Evictions of lifecycle.k8s.io that go on for the pods of these requests."""
    pods = {(one.metadata.namespace, one.pod_uid) for one in requests}
    found = [
        typed_request({**one, "kind": LIFECYCLE.kind.kind})
        for namespace in sorted({namespace for namespace, _ in pods})
        for one in await list_requests(cluster, namespace, kind=LIFECYCLE.kind)
        if (namespace, named_uid(one)) in pods
    ]
    return [one for one in found if not one.complete]


async def unbegun_request(cluster: Cluster, found: PodAndRequest) -> EvictionRequest | None:
    """An EvictionRequest of lifecycle.k8s.io for the pod, for which no Eviction has begun yet."""
    if found.pod is None:
        return None
    uid = str(dig(found.pod, "metadata", "uid"))
    try:
        listed = await cluster.client.list(LIFECYCLE_REQUESTS, cluster.namespace)
    except (NotFound, Forbidden):
        return None  # not served, or not to this user
    about = [one for one in listed.items if named_uid(one) == uid and not is_complete(one)]
    typed = (LIFECYCLE_REQUEST.read(codec_for(LIFECYCLE_REQUEST.wire).convert(one)) for one in about)
    request = next((one for one in typed if one.spec.requesters), None)
    if request is None:
        return None
    turns = [Interceptor(name=one) for one in reversed(LIFECYCLE.registration(found.pod).interceptors)]
    return msgspec.structs.replace(request, spec=msgspec.structs.replace(request.spec, interceptors=turns))


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


async def _current(cluster: Cluster, pod_name: str, uid: str, only: Dialect | None) -> Obj | None:
    """The request for a pod by whichever API, or by one; one that is over only where none goes on.

    NotFound where no API is served.
    """
    found: list[Obj] = []
    refused: list[ApiError] = []
    apis = tuple(DIALECTS.values()) if only is None else (only,)
    for dialect in apis:
        try:
            found += await _of_pod(cluster, dialect, pod_name, uid)
        except (NotFound, Forbidden) as error:
            if isinstance(error, Forbidden) and dialect is EVICTION_REQUEST:
                raise
            refused.append(error)
        if any(not is_complete(one) for one in found):
            break
    if len(refused) == len(apis):
        raise refused[0]
    return _newest(one for one in found if not is_complete(one)) or next(iter(found), None)


async def _of_pod(cluster: Cluster, dialect: Dialect, pod_name: str, uid: str) -> list[Obj]:
    """The requests of one API for a pod, the newest first; NotFound where it is not served."""
    kind = dialect.kind
    if name := dialect.request_name(pod_name, uid):
        try:
            return [{**await cluster.client.get(kind, name, cluster.namespace), "kind": kind.kind}]
        except NotFound as error:
            if error.details.get("name"):
                return []
            raise  # the kind as such is not served
    listed = await list_requests(cluster, cluster.namespace, kind=kind)
    about = [{**one, "kind": kind.kind} for one in listed if named_uid(one) == uid]
    return sorted(about, key=_made, reverse=True)


def _newest(requests: Iterable[Obj]) -> Obj | None:
    return max(requests, key=_made, default=None)


def _made(request: Obj) -> str:
    return str(request["metadata"].get("creationTimestamp"))


async def list_maintenances(cluster: Cluster) -> list[NodeMaintenance] | None:
    """All NodeMaintenances; None where the user may not read them."""
    try:
        return list((await cluster.client.list(NODEMAINTENANCES, into=NodeMaintenance)).items)
    except NotFound:
        return []
    except Forbidden:
        return None
