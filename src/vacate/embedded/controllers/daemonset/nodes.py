"""Which nodes take a pod of a DaemonSet, and what the pod must say to get there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from vacate.api.kinds import DAEMONSETS
from vacate.api.objects import Obj, dig
from vacate.api.types import ControllerRevision, DaemonSet, Node, Pod, Toleration
from vacate.api.types.core import PodSpec
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH, hash_of
from vacate.kube.nodes import NOT_READY, UNREACHABLE, UNSCHEDULABLE
from vacate.kube.ownership import controller_reference
from vacate.kube.scheduling.nodeaffinity import wants_node
from vacate.kube.scheduling.taints import HARD_EFFECTS, untolerated

TEMPLATE_GENERATION = "pod-template-generation"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAME = "metadata.name"
_TOLERATED = (
    (NOT_READY, "NoExecute"),
    (UNREACHABLE, "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    (UNSCHEDULABLE, "NoSchedule"),
)
_ON_THE_HOSTS_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Whether a pod is started on a node, and whether one that runs there may stay."""

    starts: bool
    stays: bool


def expected_pod(daemon_set: DaemonSet) -> Pod:
    """A pod as every node would get it, to be held against nodes."""
    spec = msgspec.convert(_pod_spec(daemon_set), PodSpec, strict=False)
    tolerations = [*spec.tolerations, *_own_tolerations(_pod_spec(daemon_set))]
    return Pod(spec=msgspec.structs.replace(spec, tolerations=tolerations))


def eligibility(expected: Pod, node: Node) -> Eligibility:
    """By the pod's node selector, affinity and tolerations, and by the node's labels and taints."""
    if expected.spec.node_name not in ("", node.metadata.name) or not wants_node(expected, node):
        return Eligibility(False, False)
    tolerations, taints = expected.spec.tolerations, node.spec.taints
    return Eligibility(
        not untolerated(tolerations, taints, HARD_EFFECTS),
        not untolerated(tolerations, taints, ("NoExecute",)),
    )


def target_node(pod: Pod) -> str:
    """The node that the pod is on, or is meant for while it has none."""
    if pod.spec.node_name:
        return pod.spec.node_name
    for term in dig(pod.spec.affinity, "nodeAffinity", _REQUIRED, "nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            if one.get("key") == _NAME and one.get("operator") == "In" and len(one.get("values") or ()) == 1:
                return str(one["values"][0])
    return ""


def new_pod(daemon_set: DaemonSet, revision: ControllerRevision, generation: str, node: str) -> Obj:
    """A pod for this node, to be named by the server and bound by the scheduler."""
    meta, given = daemon_set.metadata, daemon_set.spec.template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), REVISION_HASH: hash_of(revision)}
    if generation:
        labels[TEMPLATE_GENERATION] = generation
    metadata: Obj = {
        "generateName": f"{meta.name}-",
        "namespace": meta.namespace,
        "labels": labels,
        "ownerReferences": [controller_reference(DAEMONSETS, meta)],
    }
    metadata |= {key: given[key] for key in ("annotations", "finalizers") if given.get(key)}
    spec = _pod_spec(daemon_set)
    tolerations = list(spec.get("tolerations") or [])
    for one in _own_tolerations(spec):
        added = {"key": one.key, "operator": "Exists", "effect": one.effect}
        if added not in tolerations:
            tolerations.append(added)
    affinity = dict(spec.get("affinity") or {})
    term = {"matchFields": [{"key": _NAME, "operator": "In", "values": [node]}]}
    affinity["nodeAffinity"] = {
        **(affinity.get("nodeAffinity") or {}),
        _REQUIRED: {"nodeSelectorTerms": [term]},
    }
    spec = {**spec, "affinity": affinity, "tolerations": tolerations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _own_tolerations(spec: dict[str, Any]) -> list[Toleration]:
    """What every pod of a daemon set puts up with: it belongs to the node, in whatever state that is."""
    wanted = (*_TOLERATED, _ON_THE_HOSTS_NETWORK) if spec.get("hostNetwork") else _TOLERATED
    return [Toleration(key=key, operator="Exists", effect=effect) for key, effect in wanted]


def _pod_spec(daemon_set: DaemonSet) -> dict[str, Any]:
    found = daemon_set.spec.template.get("spec")
    return found if isinstance(found, dict) else {}
