"""What the cluster looks like to a scheduler: nodes, and the pods that are on them or promised to them.

The view is plain data with exact sums, kept up to date one change at a time, so that placing a pod never
walks over all pods of the cluster unless the pod itself asks for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod
from vacate.kube.scheduling.requests import (
    Amounts,
    Port,
    amounts,
    assumed_requests,
    host_ports,
    pod_requests,
)

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


@dataclass(slots=True)
class PodInfo:
    """A pod and what it takes from its node."""

    pod: Pod
    requests: Amounts
    assumed: Amounts
    ports: list[Port]

    @property
    def group(self) -> str:
        """The controller whose replica it is, or nothing where it stands alone or is terminating."""
        owner = None if self.pod.terminating else self.pod.metadata.controller
        return owner.uid if owner else ""


def tenant(pod: Pod, before: PodInfo | None = None) -> PodInfo:
    """Work out what the pod takes, once for each spec: most updates of a pod change only its status."""
    if before is not None and before.pod.spec == pod.spec:
        return PodInfo(pod, before.requests, before.assumed, before.ports)
    return PodInfo(pod, pod_requests(pod), assumed_requests(pod), host_ports(pod))


def has_anti_affinity(pod: Pod) -> bool:
    """Whether the pod keeps others away, so that placing any pod must ask it."""
    return bool(pod.spec.affinity and pod.spec.affinity.get("podAntiAffinity"))


@dataclass(slots=True)
class NodeView:
    """One node and its tenants. A node without `node` is only a name that pods mention."""

    name: str
    node: Node | None = None
    labels: Mapping[str, str] = field(default_factory=dict)  # of the node
    zone: str = ""
    allocatable: Amounts = field(default_factory=dict)
    tenants: dict[str, PodInfo] = field(default_factory=dict)
    requested: Amounts = field(default_factory=dict)
    assumed: Amounts = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)

    def become(self, node: Node | None) -> None:
        """Take over the node's newest state; None where it does not exist any more."""
        self.node = node
        self.labels = node.metadata.labels if node else {}
        self.zone = self.labels.get(ZONE, "")
        if node is not None:
            self.allocatable = amounts(node.status.allocatable or node.status.capacity)

    def taken_ports(self) -> list[Port]:
        """The host ports that tenants use."""
        return [port for one in self.tenants.values() for port in one.ports]

    def put(self, uid: str, newcomer: PodInfo) -> None:
        """Add a tenant, or replace it by its newer state."""
        self.drop(uid)
        self.tenants[uid] = newcomer
        self._count(newcomer, 1)

    def drop(self, uid: str) -> None:
        """Take a tenant away."""
        if (removed := self.tenants.pop(uid, None)) is not None:
            self._count(removed, -1)

    def _count(self, one: PodInfo, sign: int) -> None:
        for total, part in ((self.requested, one.requests), (self.assumed, one.assumed)):
            for resource, value in part.items():
                total[resource] = total.get(resource, 0) + sign * value
        if one.group:
            self.groups[one.group] = self.groups.get(one.group, 0) + sign
            if not self.groups[one.group]:
                del self.groups[one.group]


@dataclass(slots=True)
class ClusterView:
    """All nodes by name, and where each pod is."""

    nodes: dict[str, NodeView] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    # Pods whose anti-affinity every newcomer must be checked against.
    guarded: dict[str, Pod] = field(default_factory=dict)
    # Labels of namespaces, for affinity terms that select namespaces by them.
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    # Claims by namespace and name, and volumes by name; None where the scheduler does not look at volumes.
    claims: dict[tuple[str, str], PersistentVolumeClaim] | None = None
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    # The nodes that exist, by name; made anew after one came or went.
    _known: list[NodeView] | None = None

    def set_node(self, node: Node) -> None:
        """Take over a node's newest state."""
        view = self._node(node.metadata.name)
        if view.node is None:
            self._known = None
        view.become(node)

    def remove_node(self, name: str) -> None:
        """The node is gone; its pods stay until they go themselves."""
        view = self.nodes.get(name)
        if view is not None:
            view.become(None)
            self._known = None
            self._forget_if_empty(view)

    def set_pod(self, pod: Pod, node: str = "") -> None:
        """The pod is on its node, or promised to the one named; a finished pod takes nothing."""
        uid = pod.metadata.uid
        place = pod.spec.node_name or node
        if self.places.get(uid, place) != place or pod.terminal or not place:
            self.remove_pod(uid)
        if pod.terminal or not place:
            return
        self.places[uid] = place
        view = self._node(place)
        view.put(uid, tenant(pod, view.tenants.get(uid)))
        if has_anti_affinity(pod):
            self.guarded[uid] = pod

    def remove_pod(self, uid: str) -> None:
        """The pod is gone, or the promise did not hold."""
        place = self.places.pop(uid, None)
        self.guarded.pop(uid, None)
        if place is not None:
            view = self.nodes[place]
            view.drop(uid)
            self._forget_if_empty(view)

    def known_nodes(self) -> list[NodeView]:
        """The nodes that exist, by name."""
        if self._known is None:
            self._known = [
                self.nodes[name] for name in sorted(self.nodes) if self.nodes[name].node is not None
            ]
        return self._known

    def tenants(self) -> Iterator[tuple[NodeView, Pod]]:
        """Every pod with its node."""
        for view in self.known_nodes():
            for one in view.tenants.values():
                yield view, one.pod

    def _node(self, name: str) -> NodeView:
        if name not in self.nodes:
            self.nodes[name] = NodeView(name)
        return self.nodes[name]

    def _forget_if_empty(self, view: NodeView) -> None:
        if view.node is None and not view.tenants:
            self.nodes.pop(view.name, None)
