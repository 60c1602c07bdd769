"""What the controller sees: its informers, and which change concerns a policy."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import FENCINGPOLICIES, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.types import Node, PersistentVolume, Pod, PodDisruptionBudget
from vacate.api.types.fencingpolicy import FAILED, FencingPolicy
from vacate.cache.indexes import NODE, PLACED, SELECTING, budgets_of
from vacate.controllers.exclusivevolumes.caches import VolumeCaches as Volumes
from vacate.controllers.exclusivevolumes.caches import attached_to
from vacate.fencing.annotations import owner_policy
from vacate.kube.nodes import readiness
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Key


class FencingCaches:
    """The caches, as the controller asks them."""

    def __init__(self, deps: Dependencies) -> None:
        informers = deps.informers
        self.policies = informers.informer(FENCINGPOLICIES, FencingPolicy)
        self.nodes = informers.informer(NODES, Node)
        self.pods = informers.informer(PODS, Pod, indexes=PLACED)
        self.budgets = informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget, indexes=SELECTING)
        self.volumes = Volumes(deps) if deps.gates.enabled("ExclusiveVolumes") else None

    def policy(self, name: str) -> FencingPolicy | None:
        """A policy."""
        return self.policies.reader.get("", name)

    def node(self, name: str) -> Node | None:
        """A node."""
        return self.nodes.reader.get("", name)

    def pods_on(self, node: str) -> list[Pod]:
        """The pods of a node."""
        return self.pods.reader.by_index(NODE, node)

    def pods_awaiting(self, node: str) -> list[Pod]:
        """The pods that wait for an exclusive volume which the node has."""
        return self.volumes.pods_awaiting(node) if self.volumes is not None else []

    def budget_spent(self, pod: Pod) -> bool:
        """Whether a disruption budget of the pod allows no further disruption."""
        return any(
            budget.status.disruptions_allowed <= 0
            for budget in budgets_of(self.budgets.reader, pod.metadata.namespace, pod.metadata.labels)
        )

    # Which policies a change concerns

    def of_node(self, _: Node) -> Iterable[Key]:
        """All: how many nodes are healthy matters to each of them."""
        return self._all()

    def of_pod(self, pod: Pod) -> Iterable[Key]:
        """None while the pod's node reports, and each that has a volume for which the pod waits."""
        names = {pod.spec.node_name} - {""}
        if self.volumes is not None:
            names |= self.volumes.nodes_awaited_by(pod)
        return self._all() if any(map(self._does_not_report, names)) else ()

    def of_volume(self, volume: PersistentVolume) -> Iterable[Key]:
        """None while the node that has the volume reports."""
        found = attached_to(volume)
        return self._all() if any(map(self._does_not_report, found)) else ()

    def of_budget(self, _: PodDisruptionBudget) -> Iterable[Key]:
        """Those that wait less long for pods whose budget is spent, while any node does not report."""
        hasty = [one for one in self.policies.reader.list() if one.spec.budget_spent_seconds is not None]
        waiting = hasty and any(readiness(one) != "True" for one in self.nodes.reader.list())
        return [Key("", one.metadata.name) for one in hasty] if waiting else ()

    def _does_not_report(self, name: str) -> bool:
        node = self.node(name)
        return node is not None and readiness(node) != "True"

    def _all(self) -> list[Key]:
        """Also those that are gone and have left a mark on a node."""
        names = {one.metadata.name for one in self.policies.reader.list()}
        names |= {owner for one in self.nodes.reader.list() if (owner := owner_policy(one))}
        return [Key("", name) for name in sorted(names)]


def fencing_now(policies: Iterable[FencingPolicy]) -> frozenset[str]:
    """The nodes that any policy fences or has fenced; one that failed and is on does not count."""
    return frozenset(
        row.name
        for policy in policies
        for row in policy.status.nodes
        if row.under_way and not (row.phase == FAILED and row.power in ("", "on"))
    )


def node_matters(old: Node | None, new: Node | None) -> bool:
    """Whether a change of a node could change a decision: most are heartbeats."""
    if old is None or new is None:
        return True
    return (
        old.metadata.uid != new.metadata.uid
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations != new.metadata.annotations
        or old.spec.taints != new.spec.taints
        or readiness(old) != readiness(new)
        or old.status.node_info != new.status.node_info
    )


def budget_matters(old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> bool:
    """Whether a budget is spent that was not, or covers other pods."""
    return new is not None and (old is None or _spent(new) != _spent(old))


def _spent(budget: PodDisruptionBudget) -> tuple[object, ...]:
    return budget.status.disruptions_allowed <= 0, budget.spec.selector


def pod_matters(old: Pod | None, new: Pod | None) -> bool:
    """Whether a change of a pod could change a decision."""
    if old is None or new is None:
        return True
    return (
        old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or (old.terminal, old.status.phase) != (new.terminal, new.status.phase)
        or old.spec.node_name != new.spec.node_name
    )
