"""What hampers drains anywhere in a cluster: a look at a snapshot, node by node; nothing is run. Pure.

Which pods go, what holds them and what helps are the rules of a drain; here they are asked of every pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeVar

import msgspec

from vacate.api.kinds import (
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    NAMESPACES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vacate.api.objects import Obj, dig
from vacate.api.types import (
    Deployment,
    EvictionRequest,
    HorizontalPodAutoscaler,
    Node,
    Pod,
    PodDisruptionBudget,
)
from vacate.api.types.nodemaintenance import Blocker, BlockerRemedy, PodRules
from vacate.api.untyped import controller_of
from vacate.api.workloads import DELETE_PREPARED
from vacate.client.codec import codec_for
from vacate.interceptors.forecast import forecast_of, may_go_prepared
from vacate.kube.minreplicas import scales
from vacate.kube.workloads import Workload
from vacate.maintenance.blockerrecords import blocker
from vacate.maintenance.blockers import (
    blocking,
    from_absent,
    from_budgets,
    from_room,
    from_unready,
    from_verdict,
)
from vacate.maintenance.pods import Treatment, assess_pod, selector_from
from vacate.maintenance.relocation import without_room_by_node
from vacate.plan.fields import WEBHOOKS
from vacate.plan.loading import has_vacate, load_objects, workload_of
from vacate.plan.remedies import commands_of
from vacate.plan.snapshot import Snapshot
from vacate.views.budgets import Means, covering, never_allows, would_refuse
from vacate.views.interceptors import interceptor_summaries
from vacate.views.model import Remedy
from vacate.views.phrases import command_line
from vacate.views.replacing import deployment_name, interceptors_on, start_first

T = TypeVar("T")
_NEVER_DOWN = ("DaemonSet", "Job", "Node")  # one pod of these is no service
_OPTIONS = {
    "UnmanagedPod": "--force",
    "LocalData": "--delete-emptydir-data",
    "DaemonSetPod": "--ignore-daemonsets",
}


class Harm(Enum):
    """What a finding does to a drain; the worst first."""

    BLOCKS = "Blocks"  # until someone changes something
    WAITS = "Waits"  # as long as pods are not healthy
    NO_ROOM = "NoRoom"
    FAILS_CLOSED = "FailsClosed"
    DOWN = "Down"
    SLOW = "Slow"
    REFUSED = "Refused"  # without an option


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One cause, wherever it is found."""

    harm: Harm
    what: str
    message: str
    nodes: tuple[str, ...]  # none where it is about all of them
    pods: int
    remedy: str
    commands: tuple[str, ...] = ()
    remedies: tuple[BlockerRemedy, ...] = ()  # the same, one by one: the one that costs least first


class Health(msgspec.Struct, frozen=True, rename="camel"):
    """What was found in a cluster, by what hurts most."""

    nodes: int
    blocked: int  # nodes that could not be drained now, with any options
    findings: tuple[Finding, ...]
    unknown: Mapping[str, str] = msgspec.field(default_factory=dict)
    installed: bool = True  # whether Vacate is, without which its annotations have no effect


def examine(snapshot: Snapshot, rules: PodRules) -> Health:
    """Look for what would hamper the drain of any node, with these rules for its pods."""
    look = _Look(snapshot, rules)
    found: dict[tuple[Harm, str, str], list[tuple[Blocker, tuple[str, ...]]]] = {}
    for harm, what, one, commands in look.all_of_it():
        found.setdefault((harm, what, one.remedy), []).append((one, commands))
    findings = [
        Finding(
            harm,
            what,
            same[0][0].message,
            tuple(sorted({one.node for one, _ in same} - {""})),
            len({(one.namespace, one.pod) for one, _ in same if one.pod}),
            same[0][0].remedy,
            same[0][1],
            tuple(same[0][0].remedies),
        )
        for (harm, what, _), same in found.items()
    ]
    order = list(Harm)
    findings.sort(key=lambda one: (order.index(one.harm), -len(one.nodes), one.what))
    blocked = {node for one in findings if one.harm in (Harm.BLOCKS, Harm.WAITS) for node in one.nodes}
    return Health(len(look.nodes), len(blocked), tuple(findings), snapshot.missing, has_vacate(snapshot))


_Found = tuple[Harm, str, Blocker, tuple[str, ...]]


class _Look:
    def __init__(self, snapshot: Snapshot, rules: PodRules) -> None:
        self._snapshot, self._rules = snapshot, rules
        self.nodes = self._typed(NODES, Node)
        self._raw = [one for one in snapshot.of(PODS) if one["spec"].get("nodeName")]
        self._pods = [codec_for(Pod).convert(one) for one in self._raw]
        self._budgets: dict[str, list[PodDisruptionBudget]] = {}
        for budget in self._typed(PODDISRUPTIONBUDGETS, PodDisruptionBudget):
            self._budgets.setdefault(budget.metadata.namespace, []).append(budget)
        workloads = load_objects(snapshot).workloads
        self._workloads = {one["metadata"]["uid"]: workload_of(one, workloads) for one in self._raw}
        self._sizes = Counter(self._workloads[one.metadata.uid] for one in self._pods if not one.terminal)
        summaries = interceptor_summaries((), self._typed(EVICTIONREQUESTS, EvictionRequest))
        self._absent = {one.name for one in summaries if one.state == "NeverAnswered"}
        self._commands: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._deployments = {
            (one.metadata.namespace, one.metadata.name): one for one in self._typed(DEPLOYMENTS, Deployment)
        }
        self._autoscalers = self._typed(HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler)
        self._owners = {
            one["metadata"]["uid"]: one
            for kind in (DEPLOYMENTS, REPLICASETS, STATEFULSETS)
            for one in snapshot.of(kind)
        }

    def _typed(self, kind: Kind, into: type[T]) -> list[T]:
        return [codec_for(into).convert(one) for one in self._snapshot.of(kind)]

    def all_of_it(self) -> Iterator[_Found]:
        yield from self._of_nodes()
        going: dict[str, list[Pod]] = {}
        selector = selector_from(self._rules.selector)
        for pod in self._pods:
            verdict = assess_pod(pod, self._rules, selector)
            if verdict.treatment is Treatment.HOLD:
                held, option = from_verdict(pod, verdict), _OPTIONS[verdict.kind]
                alone = verdict.kind == "UnmanagedPod"
                what = f"pod {held.namespace}/{held.pod}" if alone else f"pods that need {option}"
                node = pod.spec.node_name if alone else "NODE"
                yield Harm.REFUSED, what, held, (command_line("vacate", "drain", node, option),)
            elif verdict.treatment is not Treatment.STAY:
                going.setdefault(pod.spec.node_name, []).append(pod)
                yield from self._of_pod(pod)
        yield from self._of_room(going)
        yield from self._of_webhooks()

    def _of_nodes(self) -> Iterator[_Found]:
        for node in self.nodes:
            if (held := from_unready(node)) is not None:
                look = command_line("kubectl", "describe", "node", held.node)
                yield Harm.BLOCKS, f"node {held.node}", held, (look,)

    def _of_pod(self, pod: Pod) -> Iterator[_Found]:
        meta = pod.metadata
        if (late := blocking(pod, None, (), self._snapshot.taken)) is not None:
            look = command_line("kubectl", "get", "pod", meta.name, "-n", meta.namespace, "-o", "yaml")
            yield Harm.BLOCKS, f"pod {meta.namespace}/{meta.name}", late, (look,)
        if pod.terminating:
            return
        registered = interceptors_on(pod)
        known = self._workload_of(pod)
        found = covering(self._budgets.get(meta.namespace, ()), meta.namespace, meta.labels)
        means = forecast_of(pod, registered - self._absent, found, known, self._snapshot.taken).means
        if means is Means.EVICT and may_go_prepared(registered, found) and self._allows_prepared(pod):
            means = Means.DELETE_PREPARED
        moved = means is Means.REPLACE
        refused = bool(found) and means is Means.EVICT and bool(would_refuse(pod, found))
        if refused:
            held = from_budgets(pod, found, workload=known)
            for_ever = len(found) > 1 or never_allows(found[0])
            what = f"budget {held.namespace}/{held.name.replace(',', ', ')}"
            yield Harm.BLOCKS if for_ever else Harm.WAITS, what, held, self._commands_of(held)
        owner, workload = meta.controller, self._workloads[meta.uid]
        single = owner is not None and owner.kind not in _NEVER_DOWN and self._sizes[workload] == 1
        if single and not refused and not moved:
            way = start_first(pod, known) or Remedy("add replicas, or accept it")
            text = "it has one pod, and none from its eviction until another one is ready"
            held = blocker(pod, "SinglePod", text, [way], sentence=way.text)
            yield Harm.DOWN, workload, held, (way.command,) if way.command else ()
        for name in sorted(registered & self._absent):
            yield Harm.SLOW, f"interceptor {name}", from_absent(pod, name), ("vacate interceptors -A",)

    def _workload_of(self, pod: Pod) -> Workload | None:
        """What the snapshot has of the Deployment of a pod; None where it has none."""
        meta, name = pod.metadata, deployment_name(pod)
        deployment = self._deployments.get((meta.namespace, name)) if name else None
        if deployment is None:
            return None
        around = [one for one in self._autoscalers if one.metadata.namespace == meta.namespace]
        return Workload(deployment, [one for one in around if scales(one, name)])

    def _allows_prepared(self, pod: Pod) -> bool:
        """Whether the owner of its workload lets a prepared pod go past its own budget."""
        owner = pod.metadata.controller
        found = self._owners.get(owner.uid) if owner is not None else None
        if found is not None:
            # A ReplicaSet has an owner that counts; what owns a Deployment is not known here.
            found = self._owners.get(controller_of(found).get("uid"), found)
        return bool(dig(found or {}, "metadata", "annotations", DELETE_PREPARED) == "true")

    def _of_room(self, going: Mapping[str, Sequence[Pod]]) -> Iterator[_Found]:
        labels = {
            one["metadata"]["name"]: one["metadata"].get("labels", {})
            for one in self._snapshot.of(NAMESPACES)
        }
        crowded = without_room_by_node(going, self.nodes, self._pods, labels)
        for node, misfits in crowded.items():
            command = command_line("vacate", "plan", node, "--add-nodes", f"1={node}")
            for pod in going[node]:
                if (why := misfits.get(pod.metadata.uid)) is not None:
                    yield Harm.NO_ROOM, self._workloads[pod.metadata.uid], from_room(pod, why), (command,)

    def _of_webhooks(self) -> Iterator[_Found]:
        for kind in WEBHOOKS:
            for configuration in self._snapshot.of(kind):
                for one in configuration.get("webhooks", ()):
                    if one.get("failurePolicy", "Fail") == "Fail" and _reviews_evictions(one):
                        name, seconds = configuration["metadata"]["name"], one.get("timeoutSeconds", 10)
                        text = f"evictions are refused while it does not answer them within {seconds} s"
                        remedy = "run what serves it on several nodes, or set its failurePolicy to Ignore"
                        held = Blocker(kind="Webhook", message=text, remedy=remedy)
                        look = command_line("kubectl", "get", kind.plural, name, "-o", "yaml")
                        yield Harm.FAILS_CLOSED, f"webhook {one.get('name')}", held, (look,)

    def _commands_of(self, held: Blocker) -> tuple[str, ...]:
        """Made once for each budget; the pods of one may belong to several workloads."""
        key = held.namespace, held.name, held.remedy
        if key not in self._commands:
            names = held.name.split(",")
            look = command_line("kubectl", "get", "pdb", *names, "-n", held.namespace, "-o", "yaml")
            found = tuple(command for command, _ in commands_of(held, self._snapshot))
            self._commands[key] = found or (look,)
        return self._commands[key]


def _reviews_evictions(webhook: Obj) -> bool:
    return any(
        {"*", "CREATE"} & {*rule.get("operations", ())}
        and {"*", ""} & {*rule.get("apiGroups", ())}
        and {"*/*", "pods/*", "*/eviction", "pods/eviction"} & {*rule.get("resources", ())}
        for rule in webhook.get("rules", ())
        if isinstance(rule, dict)
    )
