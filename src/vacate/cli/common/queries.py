"""What the commands read: a pod, its request, the budgets over it, and when an eviction was last refused."""

from __future__ import annotations

import contextlib
import datetime as dt
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.kinds import (
    EVENTS,
    EVICTIONREQUESTS,
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
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.api.types.readable import is_complete
from vacate.cli.common.connection import Cluster
from vacate.cli.common.remedies import no_node, not_found_in
from vacate.client.codec import codec_for
from vacate.errors import ApiError, Forbidden, NotFound, TransportError, UnreadableObject
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE

REFUSED = "EvictionRefused"
"""The reason of the controller's event about a refused eviction."""

_PAGE = 500


_BY_KIND: Mapping[str, Dialect] = {one.kind.kind: one for one in (EVACUATION, LIFECYCLE)}


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


async def find(cluster: Cluster, pod_name: str) -> PodAndRequest:
    """The pod of that name and its request; of a pod that is gone, the newest request about it.

    NotFound where there is neither.
    """
    pod, missing = await _pod(cluster, pod_name)
    if pod is not None:
        return PodAndRequest(pod, await _current(cluster, pod_name, str(dig(pod, "metadata", "uid"))))
    request = await _newest_about(cluster, pod_name)
    if request is None and missing is not None:
        raise missing
    return PodAndRequest(None, request)


async def list_requests(
    cluster: Cluster, namespace: str, selector: str = "", kind: Kind = EVICTIONREQUESTS
) -> list[Obj]:
    """Every request of a namespace, or of all of them, with these labels, page by page."""
    found: list[Obj] = []
    token = ""
    while True:
        page = await cluster.client.list(
            kind, namespace, ListOptions(label_selector=selector, limit=_PAGE, continue_token=token)
        )
        found += page.items
        token = page.continue_token
        if not token:
            return found


async def list_all_requests(cluster: Cluster, namespace: str, selector: str = "") -> list[Obj]:
    """Every request with these labels by either API; Evacuations only where they are served to this user."""
    found = await list_requests(cluster, namespace, selector)
    with contextlib.suppress(NotFound, Forbidden):
        listed = await list_requests(cluster, namespace, selector, EVACUATION.kind)
        found += [{**one, "kind": EVACUATION.kind.kind} for one in listed]
    return found


async def list_pods(
    cluster: Cluster, namespace: str, *, label_selector: str = "", field_selector: str = ""
) -> list[Pod]:
    """Every pod of a namespace, or of all of them, that is selected, page by page."""
    found: list[Pod] = []
    token = ""
    while True:
        page = await cluster.client.list(
            PODS,
            namespace,
            ListOptions(
                label_selector=label_selector,
                field_selector=field_selector,
                limit=_PAGE,
                continue_token=token,
            ),
            into=Pod,
        )
        found += page.items
        token = page.continue_token
        if not token:
            return found


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


async def last_refusal(cluster: Cluster, request: EvictionRequest) -> dt.datetime | None:
    """When an eviction was last refused, where the events are readable and still kept."""
    meta = request.metadata
    selector = f"involvedObject.name={meta.name},reason={REFUSED}"
    try:
        found = await cluster.client.list(
            EVENTS, meta.namespace, ListOptions(field_selector=selector), into=Event
        )
    except Forbidden:
        return None
    return max((one.last_timestamp for one in found.items if one.last_timestamp), default=None)


async def _pod(cluster: Cluster, name: str) -> tuple[Obj | None, NotFound | None]:
    try:
        return await cluster.client.get(PODS, name, cluster.namespace), None
    except NotFound as error:
        return None, not_found_in(error, cluster.namespace)


async def _current(cluster: Cluster, pod_name: str, uid: str) -> Obj | None:
    """The request for a pod by either API; an Evacuation is preferred to an EvictionRequest that is over.

    NotFound where no EvictionRequests are served, and there is no Evacuation.
    """
    request, missing = None, None
    try:
        request = await cluster.client.get(EVICTIONREQUESTS, uid, cluster.namespace)
    except NotFound as error:
        missing = None if error.details.get("name") else error  # the kind as such is not served
    if request is None or is_complete(request):
        request = await _evacuation(cluster, pod_name, uid) or await _eviction(cluster, uid) or request
    if request is None and missing is not None:
        raise missing
    return request


async def _evacuation(cluster: Cluster, pod_name: str, uid: str) -> Obj | None:
    """The pod's Evacuation; None also where that API is not served, or not to this user."""
    name = EVACUATION.request_name(pod_name, uid)
    try:
        return await cluster.client.get(EVACUATION.kind, name, cluster.namespace)
    except (NotFound, Forbidden):
        return None


async def _eviction(cluster: Cluster, uid: str) -> Obj | None:
    """The pod's Eviction of lifecycle.k8s.io, the open one or else the newest; None where there is none."""
    with contextlib.suppress(NotFound, Forbidden):
        listed = await list_requests(cluster, cluster.namespace, kind=LIFECYCLE.kind)
        found = [{**one, "kind": LIFECYCLE.kind.kind} for one in listed if named_uid(one) == uid]
        found.sort(key=lambda one: str(one["metadata"].get("creationTimestamp")))
        going = [one for one in found if not typed_request(one).complete]
        return (going or found)[-1] if found else None
    return None


async def _newest_about(cluster: Cluster, pod_name: str) -> Obj | None:
    requests = await list_requests(cluster, cluster.namespace)
    about = [one for one in requests if dig(one, "spec", "target", "podRef", "name") == pod_name]
    return max(about, key=lambda one: str(one["metadata"].get("creationTimestamp")), default=None)


async def list_maintenances(cluster: Cluster) -> list[NodeMaintenance] | None:
    """All NodeMaintenances; None where the user may not read them."""
    try:
        return list((await cluster.client.list(NODEMAINTENANCES, into=NodeMaintenance)).items)
    except NotFound:
        return []
    except Forbidden:
        return None
