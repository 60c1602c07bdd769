"""PURE. Why a pod is about to be ended, as far as its deletion shows: by whom, and what its owner looks like.

For clusters whose API server has no field for a termination reason: those who end pods there give none, so
that it is concluded from who they are. Where it cannot be, there is no reason: a wrong one is worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vacate.api.identity import INSTALLED_CONTROLLER, INSTALLED_SHUTDOWN_AGENT, User
from vacate.api.kinds import DAEMONSETS, DEPLOYMENTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.terminationreason import (
    ANNOTATION,
    DECOMMISSIONED,
    EVICTION,
    INTOLERABLE_TAINT,
    SOURCE_ANNOTATION,
    UPDATE,
)
from vacate.api.untyped import controller_of, mapping

NODES_GROUP = "system:nodes"
WEBHOOK_SOURCE = "webhook"

_CONTROLLER = "system:serviceaccount:kube-system:"
_TAINT_EVICTION = frozenset((f"{_CONTROLLER}taint-eviction-controller", f"{_CONTROLLER}node-controller"))
_REPLICASET = f"{_CONTROLLER}replicaset-controller"
_STATEFULSET = f"{_CONTROLLER}statefulset-controller"
_DAEMONSET = f"{_CONTROLLER}daemon-set-controller"
_HASH = "controller-revision-hash"
_POD_GENERATION, _GENERATION = "pod-template-generation", "deprecated.daemonset.template.generation"
_REVISION = "deployment.kubernetes.io/revision"

Find = Callable[[Kind, str, str], Obj | None]


@dataclass(frozen=True, slots=True)
class PodDeletion:
    """A DELETE of a pod, or an eviction of it, before it is carried out."""

    user: User
    eviction: bool
    options: Obj = field(default_factory=dict)  # DeleteOptions, as the caller sent them
    dry_run: bool = False
    evicting: tuple[str, ...] = (INSTALLED_CONTROLLER, INSTALLED_SHUTDOWN_AGENT)
    """User names of those who delete pods only to evict them: managers and shutdown agents."""

    @property
    def untouched(self) -> bool:
        """Whether the pod must not be written for it, or has no use for a reason."""
        if self.dry_run or self.options.get("dryRun") or NODES_GROUP in self.user.groups:
            return True
        # Without a grace period no hook runs, and a precondition on the version would fail after a write.
        preconditions = mapping(self.options.get("preconditions"))
        return self.options.get("gracePeriodSeconds") == 0 or bool(preconditions.get("resourceVersion"))

    def is_about(self, pod: Obj) -> bool:
        """Whether the preconditions hold for the pod."""
        uid = mapping(self.options.get("preconditions")).get("uid")
        return uid is None or uid == dig(pod, "metadata", "uid")


def reason_change(deletion: PodDeletion, pod: Obj, find: Find) -> dict[str, str | None]:
    """What to change about the pod's annotations, as a merge patch has it; empty where nothing is.

    A reason that its author gave stays. One that was concluded may be left over from an eviction that was
    refused in the end: it is replaced, or removed where the new cause is not known.
    """
    meta = mapping(pod.get("metadata"))
    if deletion.untouched or not deletion.is_about(pod) or meta.get("deletionTimestamp") is not None:
        return {}
    annotations = mapping(meta.get("annotations"))
    concluded = SOURCE_ANNOTATION in annotations
    if ANNOTATION in annotations and not concluded:
        return {}
    reason = _reason(deletion, pod, find)
    if reason == annotations.get(ANNOTATION, ""):
        return {}
    if not reason:
        return dict.fromkeys((ANNOTATION, SOURCE_ANNOTATION))
    return {ANNOTATION: reason, SOURCE_ANNOTATION: WEBHOOK_SOURCE}


def _reason(deletion: PodDeletion, pod: Obj, find: Find) -> str:
    if deletion.eviction or deletion.user.name in deletion.evicting:
        return EVICTION
    if deletion.user.name in _TAINT_EVICTION:
        return INTOLERABLE_TAINT
    if deletion.user.name == _REPLICASET:
        return _replica_set_reason(pod, find)
    if deletion.user.name == _STATEFULSET:
        return _stateful_set_reason(pod, find)
    if deletion.user.name == _DAEMONSET:
        return _daemon_set_reason(pod, find)
    return ""


def _replica_set_reason(pod: Obj, find: Find) -> str:
    """A replica set deletes pods where it has more than it wants: its deployment tells why."""
    replica_set = _owner(pod, REPLICASETS, find)
    if replica_set is None:
        return ""
    if not controller_of(replica_set):
        return DECOMMISSIONED
    deployment = _owner(replica_set, DEPLOYMENTS, find)
    if deployment is None or dig(deployment, "metadata", "deletionTimestamp") is not None:
        return ""
    if dig(deployment, "spec", "replicas") == 0:
        return DECOMMISSIONED
    # Older replica sets shrink for the newest; the strategy Recreate empties that one before the next exists.
    older = _revision(replica_set) < _revision(deployment)
    return UPDATE if older or dig(replica_set, "spec", "replicas") == 0 else DECOMMISSIONED


def _stateful_set_reason(pod: Obj, find: Find) -> str:
    """Ordinals beyond the count go for good; others are replaced, by another revision or after a failure."""
    found = _owner(pod, STATEFULSETS, find)
    ordinal = str(dig(pod, "metadata", "name") or "").rpartition("-")[2]
    if found is None or not (ordinal.isascii() and ordinal.isdigit()) or len(ordinal) > 9:
        return ""
    start, replicas = dig(found, "spec", "ordinals", "start") or 0, dig(found, "spec", "replicas")
    if not isinstance(start, int) or not isinstance(replicas, int):
        return ""
    if not start <= int(ordinal) < start + replicas:
        return DECOMMISSIONED
    newest = dig(found, "status", "updateRevision")
    return UPDATE if newest and dig(pod, "metadata", "labels", _HASH) != newest else ""


def _daemon_set_reason(pod: Obj, find: Find) -> str:
    found = _owner(pod, DAEMONSETS, find)
    newest = dig(found or {}, "metadata", "annotations", _GENERATION)
    return UPDATE if newest and dig(pod, "metadata", "labels", _POD_GENERATION) != newest else ""


def _owner(obj: Obj, kind: Kind, find: Find) -> Obj | None:
    """The controlling owner, if it is of the kind and the object that is meant."""
    reference = controller_of(obj)
    if reference.get("kind") != kind.kind or reference.get("apiVersion") != kind.api_version:
        return None
    namespace = str(dig(obj, "metadata", "namespace") or "")
    found = find(kind, namespace, str(reference.get("name") or ""))
    return found if found is not None and dig(found, "metadata", "uid") == reference.get("uid") else None


def _revision(obj: Obj) -> int:
    text = mapping(dig(obj, "metadata", "annotations")).get(_REVISION)
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 20 else 0
