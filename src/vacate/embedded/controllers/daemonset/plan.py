"""On which nodes a DaemonSet makes and deletes pods next.

As with StatefulSets, a node gets no new pod while the object of the old one exists: both would claim the same
ports and files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.terminationreason import DECOMMISSIONED, UPDATE
from vacate.api.times import LATEST
from vacate.api.types import DaemonSet, Node, Pod
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH
from vacate.embedded.controllers.daemonset.nodes import Eligibility, eligibility, expected_pod, target_node
from vacate.kube.availability import is_available
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value


@dataclass(frozen=True, slots=True)
class Deletion:
    """A pod to be deleted, with its own grace period."""

    pod: Pod
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NodePods:
    """A node and the daemon set's pods for it."""

    name: str
    eligible: Eligibility
    pods: Sequence[Pod]

    @property
    def active(self) -> list[Pod]:
        """The pods that neither ended nor terminate, the oldest first."""
        alive = [pod for pod in self.pods if not pod.terminal and not pod.terminating]
        return sorted(alive, key=lambda pod: (_born(pod), pod.metadata.name))


@dataclass(slots=True)
class DaemonSetPlan:
    """What is done now."""

    create: list[str] = field(default_factory=list)  # names of nodes
    delete: list[Deletion] = field(default_factory=list)


def pods_by_node(daemon_set: DaemonSet, nodes: Iterable[Node], pods: Iterable[Pod]) -> list[NodePods]:
    """Every node with the pods for it; pods for nodes that do not exist have a place where none stays."""
    by_node: dict[str, list[Pod]] = {}
    for pod in pods:
        by_node.setdefault(target_node(pod), []).append(pod)
    expected = expected_pod(daemon_set)
    found = [
        NodePods(node.metadata.name, eligibility(expected, node), by_node.pop(node.metadata.name, []))
        for node in nodes
    ]
    return found + [NodePods(name, Eligibility(False, False), rest) for name, rest in by_node.items()]


def plan_pods(
    daemon_set: DaemonSet, where: Sequence[NodePods], update: str, now: dt.datetime
) -> DaemonSetPlan:
    """The next step; `update` is the hash of the present template."""
    plan = DaemonSetPlan()
    if daemon_set.metadata.deletion_timestamp is not None:
        return plan
    for place in where:
        _fill(plan, place)
    if not plan.create and not plan.delete and daemon_set.spec.update_strategy.type == "RollingUpdate":
        _update(plan, daemon_set, where, update, now)
    return plan


def max_unavailable(daemon_set: DaemonSet, wanted: int) -> int:
    """On how many nodes the pod may be missing during an update: at least one, or it would never end."""
    rolling = daemon_set.spec.update_strategy.rolling_update
    value = rolling.max_unavailable if rolling and rolling.max_unavailable is not None else 1
    try:
        return max(1, scaled_value(value, wanted, round_up=True))
    except InvalidIntOrPercent:
        return 1


def _fill(plan: DaemonSetPlan, place: NodePods) -> None:
    if not place.eligible.stays:
        plan.delete += [Deletion(pod, DECOMMISSIONED) for pod in place.pods if not pod.terminating]
        return
    plan.delete += [Deletion(pod) for pod in place.pods if pod.terminal and not pod.terminating]
    plan.delete += [Deletion(pod, DECOMMISSIONED) for pod in place.active[1:]]
    if not place.pods and place.eligible.starts:
        plan.create.append(place.name)


def _update(
    plan: DaemonSetPlan, daemon_set: DaemonSet, where: Sequence[NodePods], update: str, now: dt.datetime
) -> None:
    wanted = [place for place in where if place.eligible.starts]
    unavailable = 0
    broken: list[Pod] = []
    candidates: list[Pod] = []
    for place in wanted:
        pod = next(iter(place.active), None)
        available = pod is not None and is_available(pod, daemon_set.spec.min_ready_seconds, now)
        unavailable += not available
        if pod is not None and pod.metadata.labels.get(REVISION_HASH) != update:
            (candidates if available else broken).append(pod)
    room = max(0, max_unavailable(daemon_set, len(wanted)) - unavailable)
    # A pod that serves nobody costs nothing to replace.
    plan.delete += [Deletion(pod, UPDATE) for pod in (*broken, *candidates[:room])]


def counts(place_list: Sequence[NodePods], update: str, wait: int, now: dt.datetime) -> Mapping[str, int]:
    """The numbers of the status."""
    wanted = [place for place in place_list if place.eligible.starts]
    oldest = [one for place in wanted if (one := next(iter(place.active), None)) is not None]
    available = sum(is_available(pod, wait, now) for pod in oldest)
    return {
        "desired_number_scheduled": len(wanted),
        "current_number_scheduled": sum(bool(place.pods) for place in wanted),
        "number_misscheduled": sum(bool(place.pods) for place in place_list if not place.eligible.starts),
        "number_ready": sum(pod.ready for pod in oldest),
        "number_available": available,
        "number_unavailable": len(wanted) - available,
        "updated_number_scheduled": sum(pod.metadata.labels.get(REVISION_HASH) == update for pod in oldest),
    }


def _born(pod: Pod) -> dt.datetime:
    return pod.metadata.creation_timestamp or LATEST
