"""What holds drains and evictions, by cause: one for each budget, interceptor, policy or node.

The facts are those that the controller has recorded in the blockers of NodeMaintenances; blockers of requests
outside a drain are made by the same function, `vacate.maintenance.blockers.blocking`. Nothing is worded here
but the headings: sentences, remedies and consequences are the blockers' own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from vacate.api.times import LATEST
from vacate.api.types.core import Pod
from vacate.api.types.nodemaintenance import (
    AUTOMATIC,
    DELETE,
    DRAINED,
    Blocker,
    NodeMaintenance,
)
from vacate.api.types.policy import PodDisruptionBudget
from vacate.kube.budgets import selects
from vacate.views.managerhealth import ManagerHealth, ManagerState
from vacate.views.model import Remedy
from vacate.views.phrases import advice, clock, counted
from vacate.views.replacing import interceptors_on

SELF_EXPECTED = dt.timedelta(minutes=10)
"""What should end by itself and stands for so long, with no time known at which it ends, needs a person."""

_BUDGET, _INTERCEPTORS = "DisruptionBudget", ("Interceptor", "Responder")
_NAMESPACED = frozenset({_BUDGET, "RequestPinned"})
_Labels = frozenset[tuple[str, str]]
_Member = tuple[NodeMaintenance | None, Blocker]


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod, or a node without one, that a cause holds."""

    namespace: str
    pod: str  # empty where the node itself is held
    node: str
    since: dt.datetime | None
    maintenance: str  # empty for a request outside a drain


@dataclass(frozen=True, slots=True)
class Heading:
    """What holds, in three parts, so that the name can be a link: `Interceptor`, its name, `is silent`."""

    what: str
    name: str
    verdict: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.name, self.verdict) if part)


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that holds pods or nodes, with all that wait for it."""

    kind: str  # that of the blockers
    namespace: str  # of what holds; empty where it has none
    name: str  # of what holds; empty where it is many pods alike
    heading: Heading
    since: dt.datetime | None
    needs_person: bool
    end: dt.datetime | None  # when the last of them ends without anyone, where that is known
    message: str  # why, with its numbers, as a sentence
    remedies: tuple[Remedy, ...]  # the one that costs least first
    waiting: tuple[WaitingPod, ...]  # the longest first
    more: tuple[WaitingPod, ...]  # pods that will wait for the same, as far as is known
    otherwise: str  # what happens if nobody acts, as a sentence

    @property
    def key(self) -> str:
        """What identifies it among others, also later."""
        return "/".join((self.kind, self.namespace, self.name))


@dataclass(frozen=True)
class Ahead:
    """What is known of pods that are not held yet: those of nodes that are drained or will be."""

    pods: Sequence[tuple[str, Pod]] = ()  # each with the maintenance that wants it gone
    budgets: Sequence[PodDisruptionBudget] = ()

    # Hundreds of causes and ten thousand pods: each cause looks only at those that it may concern.
    @cached_property
    def by_labels(self) -> Mapping[str, Mapping[_Labels, Sequence[tuple[str, Pod]]]]:
        """The pods of each namespace that are to go, by their labels, which many of them share."""
        found: dict[str, dict[_Labels, list[tuple[str, Pod]]]] = {}
        for one in self._going:
            meta = one[1].metadata
            found.setdefault(meta.namespace, {}).setdefault(frozenset(meta.labels.items()), []).append(one)
        return found

    @cached_property
    def by_interceptor(self) -> Mapping[str, Sequence[tuple[str, Pod]]]:
        """The pods that are to go and name each interceptor; pods of one workload name the same ones."""
        found: dict[str, list[tuple[str, Pod]]] = {}
        known: dict[tuple[_Labels, tuple[str, ...]], set[str]] = {}
        for one in self._going:
            pod = one[1]
            if not pod.metadata.annotations and not pod.spec.eviction_interceptors:
                continue
            listed = tuple(named.name for named in pod.spec.eviction_interceptors)
            alike = (frozenset(pod.metadata.annotations.items()), listed)
            if alike not in known:
                known[alike] = interceptors_on(pod)
            for name in known[alike]:
                found.setdefault(name, []).append(one)
        return found

    @cached_property
    def _going(self) -> Sequence[tuple[str, Pod]]:
        return [one for one in self.pods if not (one[1].terminating or one[1].terminal or _stays(one[1]))]

    @cached_property
    def budgets_by_name(self) -> Mapping[tuple[str, str], PodDisruptionBudget]:
        """The budgets by namespace and name."""
        return {(one.metadata.namespace, one.metadata.name): one for one in self.budgets}


def causes_of(
    maintenances: Iterable[NodeMaintenance],
    now: dt.datetime,
    *,
    held: Iterable[Blocker] = (),
    ahead: Ahead | None = None,
) -> tuple[Cause, ...]:
    """The causes, those that need a person first, each group from the longest.

    `held` are blockers of requests outside the drains. Reported in a drain too, the drain's counts. A pod
    waits for one thing once in each drain, however many requests about it that thing holds.
    """
    groups: dict[tuple[str, str, str], dict[tuple[str, str, str, str], _Member]] = {}
    seen: set[tuple[str, str]] = set()

    def add(maintenance: NodeMaintenance | None, one: Blocker) -> None:
        name = maintenance.metadata.name if maintenance is not None else ""
        group, who = groups.setdefault(_key(one), {}), (name, one.node, one.namespace, one.pod)
        known = group.get(who)
        if known is None or (one.since or now) < (known[1].since or now):
            group[who] = (maintenance, one)

    for maintenance in maintenances:
        if maintenance.metadata.deletion_timestamp is not None:
            continue
        for one in maintenance.status.blockers:
            add(maintenance, one)
            seen.add((one.namespace, one.pod))
    for one in held:
        if (one.namespace, one.pod) not in seen:
            add(None, one)
    found = [_cause(key, tuple(members.values()), now, ahead or Ahead()) for key, members in groups.items()]
    return tuple(sorted(found, key=lambda one: (not one.needs_person, one.since or LATEST, one.key)))


def manager_cause(health: ManagerHealth) -> Cause:
    """That no manager works on what waits for one, which no blocker can say: managers write those."""
    return Cause(
        kind="Manager",
        namespace="",
        name="",
        heading=Heading("", "", _MANAGERS.get(health.state, "The manager does not work")),
        since=None,
        needs_person=True,
        end=None,
        message=health.text,
        remedies=health.remedies,
        waiting=(),
        more=(),
        otherwise="No drain and no eviction goes on.",
    )


def draining_nodes(maintenance: NodeMaintenance) -> list[str]:
    """The nodes that are drained, or will be: their pods wait, or will."""
    if maintenance.metadata.deletion_timestamp is not None:
        return []
    return [row.name for row in maintenance.status.nodes if row.phase != DRAINED]


def needs_person(one: Blocker, now: dt.datetime) -> bool:
    """Whether somebody has to act: what should end by itself does not count, until it has stood for long."""
    if one.resolution != AUTOMATIC:
        return True
    if one.kind == "Turn" or one.end_time is not None:
        return False
    return one.since is not None and now - one.since >= SELF_EXPECTED


def _key(one: Blocker) -> tuple[str, str, str]:
    name = one.name or (one.node if one.kind in _OF_NODE else "")
    return one.kind, one.namespace if one.kind in _NAMESPACED else "", name


def _cause(
    key: tuple[str, str, str],
    members: Sequence[_Member],
    now: dt.datetime,
    ahead: Ahead,
) -> Cause:
    kind, namespace, name = key
    members = sorted(members, key=lambda one: (one[1].since or now, one[1].namespace, one[1].pod))
    rows = [one for _, one in members]
    person = any(needs_person(one, now) for one in rows)
    first = next((one for one in rows if needs_person(one, now)), rows[0])
    waiting = tuple(
        WaitingPod(one.namespace, one.pod, one.node, one.since, own.metadata.name if own is not None else "")
        for own, one in members
    )
    return Cause(
        kind=kind,
        namespace=namespace,
        name=name,
        heading=_heading(first, namespace, name, len(rows)),
        since=rows[0].since,
        needs_person=person,
        end=max((one.end_time for one in rows if one.end_time is not None), default=None),
        message=advice(first.message),
        remedies=blocker_remedies(first),
        waiting=waiting,
        more=_more(kind, namespace, name, waiting, ahead),
        otherwise=_otherwise(members, first, person=person),
    )


def blocker_remedies(one: Blocker) -> tuple[Remedy, ...]:
    """What helps, each as a sentence with its command."""
    if not one.remedies:  # recorded by an older manager
        return (Remedy(advice(one.remedy)),) if one.remedy else ()
    return tuple(Remedy(advice(way.text), way.command) for way in one.remedies)


def _heading(one: Blocker, namespace: str, name: str, count: int) -> Heading:
    kind, own, pods = one.kind, f"{namespace}/{name}" if namespace else name, counted(count, "pod")
    if kind == _BUDGET and "," in name:
        return Heading("Disruption budgets", own, "select the same pods")
    if kind == _BUDGET:
        automatic = one.resolution == AUTOMATIC
        verdict = "allows no eviction now" if automatic else "never allows an eviction"
        return Heading("Disruption budget", own, verdict)
    if kind in _INTERCEPTORS:
        return Heading(kind, own, "has failed" if " has failed" in one.message else "is silent")
    if kind in _REFUSED and one.name:
        return Heading("", own, f"refuses {_REFUSED[kind]}")
    if kind == "Terminating" and one.name:
        return Heading("Finalizer", own, f"keeps {pods}")
    if kind in _OF_NODE:
        return Heading("Node", one.node, _NODES.get(kind, "could not be changed").format(pods=pods))
    return Heading("", "", _PODS.get(kind, "{pods} cannot go").format(pods=pods))


_REFUSED = {
    "RequestRefused": "requests of evictions",
    "WriteRefused": "what Vacate writes for evictions",
    "EvictionRefused": "evictions",
    "DeletionRefused": "deletions",
    "WithdrawalRefused": "withdrawals of requests",
    "CordonRefused": "to cordon nodes",
    "ReleaseRefused": "to release nodes",
    "ConditionsRefused": "conditions of nodes",
}
_NODES = {
    "Terminating": "has not reported the end of {pods}",
    "NodeNotReady": "is not ready",
    "NodeNotFound": "does not exist",
    "DeadlinePassed": "is past its deadline",
    "Turn": "waits for another drain",
}
_PODS = {
    "Replacement": "No room for what replaces {pods}",
    "NowhereToGo": "No room for what replaces {pods}",
    "UnmanagedPod": "{pods} without a controller would be lost",
    "LocalData": "{pods} with local data would lose it",
    "DaemonSetPod": "{pods} of DaemonSets would come back",
    "NotAdmitted": "The request for {pods} is not processed",
    "RequestPinned": "The request for {pods} is over and cannot be replaced",
}
_MANAGERS = {
    ManagerState.ABSENT: "No manager works",
    ManagerState.STOPPED: "No manager works",
    ManagerState.UNKNOWN: "Perhaps no manager works",
    ManagerState.HELD_UP: "The manager is held up",
    ManagerState.SILENT: "The manager reports nothing",
}
_OF_NODE = frozenset({*_NODES, "CordonRefused", "ReleaseRefused", "ConditionsRefused"})


def _more(
    kind: str, namespace: str, name: str, waiting: Sequence[WaitingPod], ahead: Ahead
) -> tuple[WaitingPod, ...]:
    """Pods that will be held by the same budget or interceptor when their turn comes."""
    there = {(one.namespace, one.pod) for one in waiting}
    budget = ahead.budgets_by_name.get((namespace, name)) if kind == _BUDGET else None
    coming: Iterable[tuple[str, Pod]] = ()
    if budget is not None:
        alike = ahead.by_labels.get(namespace, {})
        coming = (one for labels, pods in alike.items() if selects(budget, dict(labels)) for one in pods)
    elif kind in _INTERCEPTORS:
        coming = ahead.by_interceptor.get(name, ())
    found = []
    for maintenance, pod in coming:
        meta = pod.metadata
        if (meta.namespace, meta.name) not in there:
            there.add((meta.namespace, meta.name))
            found.append(WaitingPod(meta.namespace, meta.name, pod.spec.node_name, None, maintenance))
    return tuple(sorted(found, key=lambda one: (one.node, one.namespace, one.pod)))


def _stays(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "DaemonSet"


def _otherwise(members: Sequence[_Member], first: Blocker, *, person: bool) -> str:
    """What happens if nobody acts: a deadline that deletes comes before all else."""
    deadlines = sorted(
        row.deadline_time
        for maintenance, one in members
        if maintenance is not None and maintenance.spec.on_deadline == DELETE and one.pod
        for row in maintenance.status.nodes
        if row.name == one.node and row.deadline_time is not None
    )
    nodes = list(
        dict.fromkeys(one.node for maintenance, one in members if maintenance is not None and one.node)
    )
    texts = []
    if first.consequence:
        texts.append(advice(first.consequence))
    if deadlines:
        texts.append(
            f"At {clock(min(deadlines))}, the deadline of its node, the pod is deleted past what protects it."
        )
    if texts or not person:
        return " ".join(texts) or "It ends by itself."
    if not nodes:
        return "The pod is not evicted."
    names = nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {counted(len(nodes) - 1, 'other node')}"
    return f"{names} {'is' if len(nodes) == 1 else 'are'} never drained."
