"""What the controller sees: its informers, with indexes, and which change concerns which maintenance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from vacate.api.kinds import NODEMAINTENANCES, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import LifecycleRequest
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import PENDING, NodeMaintenance
from vacate.cache.indexes import SELECTING, budgets_of
from vacate.cache.informer import Informer
from vacate.controllers.workloads import Workloads
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE_REQUEST
from vacate.eviction.dialects.registry import dialect_of, served_dialects
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX, is_maintenance, own_name
from vacate.maintenance.claims import claims_of
from vacate.maintenance.model import ACTIVE
from vacate.maintenance.names import CLAIMS, requester_of
from vacate.maintenance.plan import meant_nodes
from vacate.maintenance.report import CONDITIONS
from vacate.maintenance.turns import Turn
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.podrequests import request_by_any
from vacate.runtime.reconcile import Key

_CLAIMED, _ON_NODE, _REQUESTED = "nodemaintenance-claims", "nodemaintenance-node", "nodemaintenance-requester"
_UNSCHEDULED = "nodemaintenance-unscheduled"


class MaintenanceCaches:
    """The caches, as the controller asks them."""

    def __init__(self, deps: Dependencies) -> None:
        informers = deps.informers
        self.maintenances = informers.informer(NODEMAINTENANCES, NodeMaintenance)
        self.nodes = informers.informer(NODES, Node, indexes={_CLAIMED: _claimants})
        indexes = {_ON_NODE: _node_of, _UNSCHEDULED: _namespace_of_unscheduled}
        self.pods = informers.informer(PODS, Pod, indexes=indexes)
        self.requests: Mapping[Dialect, Informer[EvictionRequest]] = {
            dialect: informers.requests(dialect, indexes={_REQUESTED: _requesting})
            for dialect in served_dialects(deps.gates)
        }
        self._refusals = deps.refusals
        self.budgets = informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING)
        self.workloads = Workloads(deps)

    def maintenance(self, name: str) -> NodeMaintenance | None:
        """A maintenance."""
        return self.maintenances.reader.get("", name)

    def exists(self, name: str, uid: str) -> bool:
        """Whether a claim on a node may be that of a maintenance that there is.

        One that is not known here keeps it: only a look at that one, which asks the server, takes it back.
        """
        found = self.maintenance(name)
        return found is None or found.metadata.uid == uid

    def meant(self, maintenance: NodeMaintenance) -> list[str]:
        """The names of the nodes that a maintenance means."""
        by_label = maintenance.spec.node_selector is not None
        return meant_nodes(maintenance, self.nodes.reader.list() if by_label else ())

    def node(self, name: str) -> Node | None:
        """A node."""
        return self.nodes.reader.get("", name)

    def claimed(self, maintenance: str) -> list[Node]:
        """The nodes that carry the claim of a maintenance."""
        return self.nodes.reader.by_index(_CLAIMED, maintenance)

    def pods_on(self, node: str) -> list[Pod]:
        """The pods of a node."""
        return self.pods.reader.by_index(_ON_NODE, node)

    def unscheduled(self, namespace: str) -> list[Pod]:
        """The pods of a namespace that have no node."""
        return self.pods.reader.by_index(_UNSCHEDULED, namespace)

    def budgets_of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """The budgets that select a pod."""
        return budgets_of(self.budgets.reader, pod.metadata.namespace, pod.metadata.labels)

    def request_for(self, pod: Pod) -> EvictionRequest | None:
        """The request for a pod, by whichever API."""
        return request_by_any(self.requests, pod)

    def unwritten(self, pod: Pod) -> str:
        """Why what is written about the requests for a pod is refused; empty where it is not."""
        found = self._refusals.of_requests(pod.metadata.uid)
        return "" if found is None else found.message

    def requested(self, maintenance: str) -> list[EvictionRequest]:
        """The open requests that carry the name of a maintenance."""
        return [
            request
            for dialect, informer in self.requests.items()
            for request in informer.reader.by_index(_REQUESTED, requester_of(maintenance, dialect))
            if not request.complete
        ]

    def turns(self, maintenance: str, begun: Mapping[str, Collection[str]]) -> list[Turn]:
        """The nodes that other maintenances drain now; `begun` are turns that the cache may not show yet."""
        return [
            Turn(one.metadata.name, node, one.spec.topology_key)
            for one in self.maintenances.reader.list()
            if one.metadata.name != maintenance and one.metadata.deletion_timestamp is None
            for name in sorted({*_active(one), *begun.get(one.metadata.name, ())})
            if (node := self.node(name)) is not None
        ]

    # Which maintenances a change concerns

    def of_turn(self, _changed: NodeMaintenance) -> Iterable[Key]:
        """Those with nodes that wait: a turn that has ended may be what they wait for."""
        return [
            Key("", one.metadata.name)
            for one in self.maintenances.reader.list()
            if any(row.phase == PENDING for row in one.status.nodes)
        ]

    def of_node(self, node: Node) -> Iterable[Key]:
        """Those that claim the node, and those that mean it."""
        names = dict.fromkeys(claims_of(node).by)
        for one in self.maintenances.reader.list():
            if one.metadata.name not in names and node.metadata.name in self.meant(one):
                names[one.metadata.name] = None
        return [Key("", name) for name in names]

    def of_pod(self, pod: Pod) -> Iterable[Key]:
        """Those that claim the pod's node: pods of other nodes do not matter."""
        node = self.node(pod.spec.node_name) if pod.spec.node_name else None
        return [] if node is None else [Key("", name) for name in claims_of(node).by]

    def of_request(self, request: EvictionRequest) -> Iterable[Key]:
        """Those whose names are on the request, and those that claim the node of its pod.

        A name that was cut stands for whose name it is cut from. A request without the name of a maintenance
        may still be what it waits for, such as one that is over and that finalizers keep.
        """
        names: list[str] = []
        for requester in _requesting(request):
            dialect = dialect_of(request)
            known = [
                name
                for one in self.maintenances.reader.list()
                if requester_of(name := one.metadata.name, dialect) == requester
            ]
            names += known or [own_name(requester, MAINTENANCE_SUFFIX)]
        ref = request.spec.target.pod_ref
        pod = self.pods.reader.get(request.metadata.namespace, ref.name) if ref else None
        keys = [Key("", name) for name in names]
        if pod is not None:
            keys += self.of_pod(pod)
        return dict.fromkeys(keys)

    def of_refused(self, about: object) -> Iterable[Key]:
        """Those that wait for a write about this object, where it is a request."""
        if isinstance(about, LifecycleRequest):
            about = LIFECYCLE_REQUEST.read(about)
        return self.of_request(about) if isinstance(about, EvictionRequest) else ()

    def of_maintenance(self, maintenance: NodeMaintenance) -> Iterable[Key]:
        """The maintenance, and those that share nodes with it, as a node shows what all of them want."""
        names = dict.fromkeys([maintenance.metadata.name])
        for node in self.claimed(maintenance.metadata.name):
            names.update(dict.fromkeys(claims_of(node).by))
        return [Key("", name) for name in names]


def _claimants(node: Node) -> Iterable[str]:
    return claims_of(node).by if CLAIMS in node.metadata.annotations else ()


def _node_of(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def _namespace_of_unscheduled(pod: Pod) -> Iterable[str]:
    waits = not pod.spec.node_name and not pod.terminal and not pod.terminating
    return (pod.metadata.namespace,) if waits else ()


def _requesting(request: EvictionRequest) -> Iterable[str]:
    return [one.name for one in request.spec.requesters if is_maintenance(one.name)]


def _active(maintenance: NodeMaintenance) -> list[str]:
    return [row.name for row in maintenance.status.nodes if row.phase in ACTIVE]


def turns_matter(old: NodeMaintenance | None, new: NodeMaintenance | None) -> bool:
    """Whether a node of a maintenance is no longer drained, so that others may begin."""
    if old is None:
        return False
    ended = new is None or new.metadata.deletion_timestamp is not None
    return bool(_active(old)) and (ended or not set(_active(old)) <= set(_active(new or old)))


def node_matters(old: Node | None, new: Node | None) -> bool:
    """Whether a change of a node could change a drain: most are heartbeats."""
    if old is None or new is None:
        return True
    return (
        old.metadata.uid != new.metadata.uid
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations.get(CLAIMS) != new.metadata.annotations.get(CLAIMS)
        or old.spec != new.spec
        or any(_status_of(old, type_) != _status_of(new, type_) for type_ in ("Ready", *CONDITIONS))
    )


def _status_of(node: Node, type_: str) -> str | None:
    found = condition(node.status.conditions, type_)
    return None if found is None else found.status


def pod_matters(old: Pod | None, new: Pod | None) -> bool:
    """Whether a change of a pod could change a drain."""
    if old is None or new is None:
        return True
    return (
        old.spec.node_name != new.spec.node_name
        or old.terminal != new.terminal
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.metadata.labels != new.metadata.labels
        or old.metadata.owner_references != new.metadata.owner_references
        or old.metadata.finalizers != new.metadata.finalizers
    )
