"""A snapshot as the stored objects of a simulated cluster: same names, same UIDs, no admission. Pure."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from vacate.admission.context import Context
from vacate.api.identity import User
from vacate.api.kinds import (
    DAEMONSETS,
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    NAMESPACES,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vacate.api.objects import Obj, copied, dig
from vacate.api.times import format_time
from vacate.api.types import PodDisruptionBudget, condition
from vacate.api.types.core import TERMINAL_PHASES
from vacate.api.untyped import controller_of, has_condition, integer
from vacate.client.codec import codec_for
from vacate.embedded.apiserver.response.stored import encoder, key_of
from vacate.embedded.nodes.nodeobjects import NodeShape
from vacate.embedded.registry.strategies import strategy_for
from vacate.embedded.store.log import FIRST_REVISION, Record
from vacate.errors import ConfigError
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.features import FeatureGates
from vacate.kube.budgets import DISRUPTION_ALLOWED, SYNC_FAILED, desired_healthy, selects
from vacate.kube.intorpercent import InvalidIntOrPercent
from vacate.kube.scheduling.clusterview import HOSTNAME
from vacate.plan.fields import WEBHOOKS
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import is_overdue

OWNER_LABEL = "plan.vacate.dev/re-creates"
"""On pods of controllers that are not simulated: what stands for their controller selects them by it."""
_NEVER_RECREATED = (DAEMONSETS.kind, NODES.kind)
_FOR_EVER_SECONDS = 200 * 365 * 86400
MAX_MISSING_PODS = 20_000
"""So many pods that workloads want, and that are not there, are created in a plan."""
MAX_DAEMON_PODS = 2_000_000


ADDED = "plan.vacate.dev/added"
"""On nodes that the cluster does not have."""


def with_added_nodes(snapshot: Snapshot, count: int, like: str) -> Snapshot:
    """The snapshot with so many empty nodes more, which are as one of its nodes was when it was new."""
    nodes = snapshot.of(NODES)
    model = next(one for one in nodes if one["metadata"]["name"] == like)
    there = {one["metadata"]["name"] for one in nodes}
    names = [name for name in (f"added-{n}" for n in range(1, count + len(nodes) + 1)) if name not in there]
    return snapshot.having(NODES, [*nodes, *(_added(model, name) for name in names[:count])])


def _added(model: Obj, name: str) -> Obj:
    meta, spec = model["metadata"], model["spec"]
    given = spec.get("taints", ())
    taints = [one for one in given if not one.get("key", "").startswith("node.kubernetes.io/")]
    labels = {**meta.get("labels", {}), HOSTNAME: name, ADDED: "true"}
    return {
        **model,
        "metadata": {"name": name, "uid": f"plan-{name}", "labels": labels},
        "spec": {"taints": taints} if taints else {},
        "status": {
            **model["status"],
            "conditions": [{"type": "Ready", "status": "True"}],
            "volumesInUse": [],
        },
    }


@dataclass(frozen=True, slots=True)
class Loaded:
    """What goes into the simulated cluster, and what was assumed to get it there."""

    objects: Sequence[tuple[Kind, Obj]]
    shapes: Sequence[NodeShape]  # of the nodes that report
    workloads: dict[str, str]  # by the uid of a controller: the workload, as NAMESPACE Kind/NAME
    recreated: dict[str, int] = field(default_factory=dict)  # by a kind that is not simulated: its pods


def load_objects(snapshot: Snapshot) -> Loaded:
    """Make the objects with which the simulated cluster begins."""
    snapshot = _consistent(snapshot)
    known = {
        str(one["metadata"]["uid"]): (kind, one)
        for kind in (DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS)
        for one in snapshot.of(kind)
    }
    workloads = {uid: _workload(kind, one, known) for uid, (kind, one) in known.items()}
    recreated: dict[str, int] = {}
    pods, stands_in = [], []
    for pod in (_held_for_good(one) if is_overdue(one, snapshot.taken) else one for one in snapshot.of(PODS)):
        owner = controller_of(pod)
        if not owner or owner["uid"] in known or owner["kind"] in _NEVER_RECREATED:
            pods.append(pod)
            continue
        made, controller = _recreated(pod, owner)
        unknown = f"{owner['kind']} ({owner.get('apiVersion')})"
        recreated[unknown] = recreated.get(unknown, 0) + 1
        uid = controller["metadata"]["uid"]
        workloads[uid] = f"{pod['metadata']['namespace']} {owner['kind']}/{owner['name']}"
        pods.append(made)
        if dig(pod, "status", "phase") not in TERMINAL_PHASES:
            stands_in.append(controller)
    objects: list[tuple[Kind, Obj]] = [(PODS, pod) for pod in pods]
    objects += [(REPLICASETS, one) for one in stands_in]
    for kind, found in snapshot.objects.items():
        if kind is STATEFULSETS or kind is DAEMONSETS:
            objects += [(kind, _never_rolled_out(one)) for one in found]
        elif kind is PODDISRUPTIONBUDGETS:
            objects += [(kind, _counted(one, pods)) for one in found]
        elif kind is not PODS and kind not in WEBHOOKS:
            objects += [(kind, one) for one in found]
    objects += _missing_namespaces(snapshot, objects)
    objects += _missing_priorities(snapshot)
    nodes = [one for one in snapshot.of(NODES) if has_condition(one, "Ready")]
    shapes = [NodeShape(one["metadata"]["name"], number) for number, one in enumerate(nodes)]
    return Loaded(objects, shapes, workloads, recreated)


def check_wanted(snapshot: Snapshot) -> None:
    """A ConfigError where workloads want so many pods more than there are that no plan could make them."""
    pods = Counter(str(controller_of(one).get("uid")) for one in snapshot.of(PODS))
    scaled = Counter[str]()
    for one in snapshot.of(REPLICASETS):
        scaled[str(controller_of(one).get("uid"))] += integer(dig(one, "spec", "replicas"), 1)
    floors = {
        (one["metadata"]["namespace"], dig(one, "spec", "scaleTargetRef", "name")): integer(
            dig(one, "spec", "minReplicas"), 1
        )
        for one in snapshot.of(HORIZONTALPODAUTOSCALERS)
    }
    missing: list[tuple[int, str]] = []
    for kind, there in ((DEPLOYMENTS, scaled), (REPLICASETS, pods), (STATEFULSETS, pods), (JOBS, pods)):
        for one in snapshot.of(kind):
            meta = one["metadata"]
            wanted = _wanted(kind, one)
            if wanted and kind in (DEPLOYMENTS, STATEFULSETS):
                wanted = max(wanted, floors.get((meta["namespace"], meta["name"]), 0))
            missing.append((wanted - there[str(meta["uid"])], _workload(kind, one, {})))
    most = max(missing, default=(0, ""))
    if (total := sum(max(count, 0) for count, _ in missing)) > MAX_MISSING_PODS:
        raise ConfigError(
            f"workloads want {total:,} pods more than there are, {most[1]} alone {most[0]:,}: "
            f"a plan makes up to {MAX_MISSING_PODS:,}"
        )
    if len(snapshot.of(DAEMONSETS)) * len(snapshot.of(NODES)) > MAX_DAEMON_PODS:
        raise ConfigError(
            f"{len(snapshot.of(DAEMONSETS)):,} DaemonSets on {len(snapshot.of(NODES)):,} nodes are too many "
            f"to plan"
        )


def _wanted(kind: Kind, workload: Obj) -> int:
    spec = workload.get("spec") or {}
    if kind is not JOBS:
        return integer(spec.get("replicas"), 1)
    ends = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
    if spec.get("suspend") or any(has_condition(workload, one) for one in ends):
        return 0
    at_once = integer(spec.get("parallelism"), 1)
    return min(at_once, integer(spec.get("completions"), at_once))


def records_of(objects: Iterable[tuple[Kind, Obj]], now: dt.datetime) -> Iterator[Record]:
    """The objects as rows of a log, one revision each.

    Defaults fill what the snapshot does not keep: else the first change of an object would change its spec.
    """
    context = Context(User(""), now, FeatureGates(), lambda _kind, _namespace, _name: None)
    for revision, (kind, obj) in enumerate(objects, FIRST_REVISION + 1):
        copy = copied(obj)
        strategy_for(kind).default(copy, context)
        key, value = key_of(kind, copy), encoder(copy)(revision)
        yield Record(revision, kind.resource, key.namespace, key.name, False, revision, value)


def workload_of(pod: Obj, workloads: dict[str, str]) -> str:
    """What the pod belongs to, as people name it: NAMESPACE Kind/NAME."""
    owner, meta = controller_of(pod), pod["metadata"]
    if not owner:
        return f"{meta['namespace']} Pod/{meta['name']}"
    found = workloads.get(str(owner.get("uid")))
    return found or f"{meta['namespace']} {owner.get('kind')}/{owner.get('name')}"


def _workload(kind: Kind, obj: Obj, known: dict[str, tuple[Kind, Obj]]) -> str:
    owner = known.get(str(controller_of(obj).get("uid")))
    if owner is not None:
        return _workload(*owner, known={})
    meta = obj["metadata"]
    return f"{meta['namespace']} {kind.kind}/{meta['name']}"


def _consistent(snapshot: Snapshot) -> Snapshot:
    """The snapshot without what would be taken for a fault because its counterpart could not be read.

    A Deployment without its ReplicaSets would make new pods, and a claim without its volume hold all of them.
    """
    if REPLICASETS.resource in snapshot.missing:
        snapshot = snapshot.having(DEPLOYMENTS, ())
    if {PERSISTENTVOLUMES.resource, PERSISTENTVOLUMECLAIMS.resource} & snapshot.missing.keys():
        for kind in (PODS, DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS):
            snapshot = snapshot.having(kind, [_without_claims(one) for one in snapshot.of(kind)])
    return snapshot


def _without_claims(obj: Obj) -> Obj:
    spec = {key: value for key, value in obj["spec"].items() if key != "volumeClaimTemplates"}
    if "template" in spec:
        spec["template"] = _without_claims(spec["template"])
    if "volumes" in spec:
        spec["volumes"] = [one for one in spec["volumes"] if "persistentVolumeClaim" not in one]
    return {**obj, "spec": spec}


def _recreated(pod: Obj, owner: Obj) -> tuple[Obj, Obj]:
    """The pod of a controller that is not simulated, and a ReplicaSet of one that makes it anew."""
    meta, spec = pod["metadata"], pod["spec"]
    uid = f"plan-{meta['uid']}"
    labels = {**meta.get("labels", {}), OWNER_LABEL: str(meta["uid"])[:63]}
    reference = {
        "apiVersion": REPLICASETS.api_version, "kind": REPLICASETS.kind, "name": meta["name"], "uid": uid,
        "controller": True,
    }  # fmt: skip
    made = {**pod, "metadata": {**meta, "labels": labels, "ownerReferences": [reference]}}
    template_meta = {"labels": labels, "annotations": meta.get("annotations", {})}
    template_spec = {key: value for key, value in spec.items() if key not in ("nodeName", "priority")}
    controller = {
        "kind": REPLICASETS.kind,
        "apiVersion": REPLICASETS.api_version,
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": uid,
            "creationTimestamp": meta.get("creationTimestamp"),
            "generation": 1,
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {OWNER_LABEL: labels[OWNER_LABEL]}},
            "template": {
                "metadata": template_meta,
                "spec": {**template_spec, "restartPolicy": "Always"},
            },
        },
        "status": {"replicas": 1, "observedGeneration": 1},
    }
    return made, controller


def _counted(budget: Obj, pods: Sequence[Obj]) -> Obj:
    """The budget as the cluster counts it, where it has pods of controllers that are not simulated.

    These controllers have no scale here from which to count. A budget that the cluster cannot count either
    needs all of its pods.
    """
    typed = codec_for(PodDisruptionBudget).convert(budget)
    if typed.spec.max_unavailable is None and isinstance(typed.spec.min_available, int):
        return budget
    namespace = typed.metadata.namespace
    labels = [one["metadata"].get("labels", {}) for one in pods if one["metadata"]["namespace"] == namespace]
    covered = [one for one in labels if selects(typed, one)]
    if not any(OWNER_LABEL in one for one in covered):
        return budget
    refusal = condition(typed.status.conditions, DISRUPTION_ALLOWED)
    needed = len(covered)
    if refusal is None or refusal.reason != SYNC_FAILED:
        with contextlib.suppress(InvalidIntOrPercent):
            needed = desired_healthy(typed, typed.status.expected_pods)
    rest = {key: value for key, value in budget["spec"].items() if key != "maxUnavailable"}
    return {**budget, "spec": {**rest, "minAvailable": needed}}


def _held_for_good(pod: Obj) -> Obj:
    """Its node would kill it a grace period after the beginning, and has not done so in reality."""
    return {**pod, "metadata": {**pod["metadata"], "deletionGracePeriodSeconds": _FOR_EVER_SECONDS}}


def _never_rolled_out(workload: Obj) -> Obj:
    """Revisions are not read: without this every pod would look outdated, and be replaced."""
    return {**workload, "spec": {**workload["spec"], "updateStrategy": {"type": "OnDelete"}}}


def _missing_namespaces(snapshot: Snapshot, objects: Sequence[tuple[Kind, Obj]]) -> list[tuple[Kind, Obj]]:
    there = {one["metadata"]["name"] for one in snapshot.of(NAMESPACES)}
    named = {one["metadata"]["namespace"] for kind, one in objects if kind.namespaced} - there
    created = format_time(snapshot.taken)
    return [
        (
            NAMESPACES,
            {
                "metadata": {
                    "name": name,
                    "uid": f"plan-{name}",
                    "creationTimestamp": created,
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            },
        )
        for name in sorted(named)
    ]


def _missing_priorities(snapshot: Snapshot) -> list[tuple[Kind, Obj]]:
    there = {one["metadata"]["name"] for one in snapshot.of(PRIORITYCLASSES)}
    found: dict[str, int] = {}
    for pod in snapshot.of(PODS):
        name = dig(pod, "spec", "priorityClassName")
        if name and name not in there:
            found[name] = int(dig(pod, "spec", "priority") or 0)
    created = format_time(snapshot.taken)
    return [
        (
            PRIORITYCLASSES,
            {"metadata": {"name": name, "uid": f"plan-{name}", "creationTimestamp": created}, "value": value},
        )
        for name, value in sorted(found.items())
    ]


def has_vacate(snapshot: Snapshot) -> bool:
    """Whether the cluster serves Vacate's kinds, as far as it said so."""
    if snapshot.apis is not None:
        return EVICTION_REQUEST.name in snapshot.apis
    return NODEMAINTENANCES in snapshot.objects or NODEMAINTENANCES.resource in snapshot.missing
