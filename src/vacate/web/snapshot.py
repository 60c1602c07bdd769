"""PURE. What a page is made of: the objects as the caches hold them, and what could not be read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from vacate.api.objectidentity import Unreadable
from vacate.api.times import EARLIEST
from vacate.api.types import Lease, Node, PersistentVolume, Pod, PodDisruptionBudget, StorageClass
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.api.types.nodemaintenance import CORDONED, DRAINED, NodeMaintenance
from vacate.eviction.coexistence import deciding
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.maintenance.blockers import blocking
from vacate.views.causes import Ahead, Cause, causes_of, draining_nodes, manager_cause
from vacate.views.managerhealth import (
    ManagerHealth,
    manager_health,
    unattended_maintenance,
    unattended_request,
)


@dataclass(frozen=True, slots=True)
class Unread:
    """A kind that is not on the pages, and why."""

    resource: str
    reason: str
    forbidden: bool = False  # else it is not served, or has not arrived yet


@dataclass(frozen=True, slots=True)
class Stall:
    """The API server does not answer: since when, and what it says."""

    since: dt.datetime
    reason: str


@dataclass(frozen=True)
class Snapshot:
    """The cluster at one moment."""

    now: dt.datetime
    version: int = 0  # of the feed: a change after it is not in here
    reading: Sequence[str] = ()  # the kinds that are being read, soon after the start
    context: str = ""
    program: str = "vacate"
    user: str = ""
    leave: str = ""  # where the user signs out, if there is such a place
    dashboard: str = ""  # the address of the metrics over time
    pods: Sequence[Pod] = ()
    nodes: Sequence[Node] = ()
    requests: Sequence[EvictionRequest] = ()
    apis: Sequence[Dialect] = (EVICTION_REQUEST,)  # in which the user may read requests
    preferred: Dialect = EVICTION_REQUEST  # in which a request is made unless the pod decides otherwise
    budgets: Sequence[PodDisruptionBudget] = ()
    maintenances: Sequence[NodeMaintenance] = ()
    policies: Sequence[FencingPolicy] = ()
    volumes: Sequence[PersistentVolume] = ()
    classes: Sequence[StorageClass] = ()
    leases: Sequence[Lease] | None = None  # of the manager; None where they are not known
    embedded: bool = False  # whether this is a cluster of `vacate up`
    unmanaged: bool = False  # whether no manager has worked for some moments
    unread: Sequence[Unread] = ()
    unreadable: Sequence[Unreadable] = ()
    stall: Stall | None = None
    heartbeats: Mapping[str, Sequence[dt.datetime]] = field(default_factory=dict)  # seen, by UID of request

    def hidden(self, resource: str) -> str:
        """Why nothing is known of the kind, where the user may not read it: its absence is no news then."""
        forbidden = any(one.resource == resource and one.forbidden for one in self.unread)
        return f"You may not read {resource}." if forbidden else ""

    @cached_property
    def pods_by_node(self) -> Mapping[str, list[Pod]]:
        """The pods of each node."""
        found: dict[str, list[Pod]] = {}
        for pod in self.pods:
            if pod.spec.node_name:
                found.setdefault(pod.spec.node_name, []).append(pod)
        return found

    @cached_property
    def pods_by_uid(self) -> Mapping[str, Pod]:
        """The pods by their UID."""
        return {pod.metadata.uid: pod for pod in self.pods}

    @cached_property
    def requests_by_pod(self) -> Mapping[str, EvictionRequest]:
        """The request about each pod, by the pod's UID: the one that decides."""
        found: dict[str, list[EvictionRequest]] = {}
        for one in self.requests:
            found.setdefault(one.pod_uid, []).append(one)
        chosen = ((uid, deciding(alike)) for uid, alike in found.items())
        return {uid: request for uid, request in chosen if request is not None}

    @cached_property
    def causes(self) -> Sequence[Cause]:
        """What holds drains, and evictions outside of them: what needs a person first, then the longest."""
        budgets: dict[str, list[PodDisruptionBudget]] = {}
        for one in self.budgets:
            budgets.setdefault(one.metadata.namespace, []).append(one)
        held = []
        for request in self.open_requests:
            pod = self.pods_by_uid.get(request.pod_uid)
            around = budgets.get(request.metadata.namespace, ())
            blocker = blocking(pod, request, around, self.now, self._unscheduled) if pod else None
            held += [blocker] if blocker is not None else []
        coming = [
            (drain.metadata.name, pod)
            for drain in self.maintenances
            for node in draining_nodes(drain)
            for pod in self.pods_by_node.get(node, ())
        ]
        found = causes_of(self.maintenances, self.now, held=held, ahead=Ahead(coming, self.budgets))
        return (*self.of_manager, *found)

    @cached_property
    def manager(self) -> ManagerHealth:
        """Whether a manager works, as the commands tell it."""
        late = unattended_maintenance(*self.maintenances) or unattended_request(self.open_requests)
        return manager_health(self.leases, self.now, late, embedded=self.embedded, program=self.program)

    @cached_property
    def of_manager(self) -> Sequence[Cause]:
        """That no manager works, where something waits for one; else nothing."""
        if not (self.unmanaged and self.manager.text):
            return ()
        waits = self.open_requests or any(is_under_way(one) for one in self.maintenances)
        return (manager_cause(self.manager),) if waits else ()

    @cached_property
    def causes_by_pod(self) -> Mapping[tuple[str, str], Sequence[Cause]]:
        """What holds each pod, by namespace and name: first what needs a person."""
        found: dict[tuple[str, str], list[Cause]] = {}
        for cause in self.causes:
            for who in cause.waiting:
                found.setdefault((who.namespace, who.pod), []).append(cause)
        return found

    @cached_property
    def stuck_nodes(self) -> Collection[str]:
        """The nodes that a cause holds which needs a person."""
        return {who.node for one in self.causes if one.needs_person for who in one.waiting}

    @cached_property
    def _pods_without_node(self) -> Mapping[str, list[Pod]]:
        found: dict[str, list[Pod]] = {}
        for pod in self.pods:
            if not pod.spec.node_name:
                found.setdefault(pod.metadata.namespace, []).append(pod)
        return found

    def _unscheduled(self, namespace: str) -> Sequence[Pod]:
        return self._pods_without_node.get(namespace, ())

    @cached_property
    def open_requests(self) -> Sequence[EvictionRequest]:
        """The requests that go on."""
        return [one for one in self.requests if not one.complete]

    def request_about(self, namespace: str, pod: str) -> EvictionRequest | None:
        """The request about the pod of this name: the one that decides."""
        return deciding(
            one for one in self.requests if one.metadata.namespace == namespace and one.pod_name == pod
        )

    def pod(self, namespace: str, name: str) -> Pod | None:
        """The pod of this name."""
        named = (one for one in self.pods if one.metadata.name == name)
        return next((one for one in named if one.metadata.namespace == namespace), None)

    def node(self, name: str) -> Node | None:
        """The node of this name."""
        return next((one for one in self.nodes if one.metadata.name == name), None)

    def maintenance(self, name: str) -> NodeMaintenance | None:
        """The NodeMaintenance of this name."""
        return next((one for one in self.maintenances if one.metadata.name == name), None)

    def draining(self, node: str) -> NodeMaintenance | None:
        """The NodeMaintenance that drains the node, or has drained it."""
        found = [one for one in self.maintenances if any(row.name == node for row in one.status.nodes)]
        return max(found, key=lambda one: one.metadata.creation_timestamp or EARLIEST, default=None)


def is_under_way(maintenance: NodeMaintenance) -> bool:
    """Whether there is still something to do."""
    return maintenance.status.phase not in (DRAINED, CORDONED) or bool(
        maintenance.metadata.deletion_timestamp
    )
