"""Refuses objects that no server would ever hold, so that a test cannot prove something about nothing."""

from __future__ import annotations

from collections.abc import Iterator

from vacate.api.objects import Obj, dig
from vacate.api.types.core import TERMINAL_PHASES

PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


class InconsistentObject(AssertionError):
    """The object contradicts itself; the message says how, and every contradiction is named."""


def check(obj: Obj) -> None:
    """Raise InconsistentObject where the object contradicts itself."""
    field_errors = list(_errors(obj))
    if field_errors:
        named = f"{obj.get('kind')} {dig(obj, 'metadata', 'name')!r}"
        raise InconsistentObject(f"{named} could never exist: {'; '.join(field_errors)}")


def _errors(obj: Obj) -> Iterator[str]:
    yield from _metadata_errors(obj)
    kind = obj.get("kind")
    if kind == "Pod":
        yield from _pod_errors(obj)
    elif kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        yield from _replicated_errors(obj)
    elif kind == "PodDisruptionBudget":
        yield from _pdb_errors(obj)
    elif kind == "Node":
        yield from _node_errors(obj)


def _metadata_errors(obj: Obj) -> Iterator[str]:
    meta = obj.get("metadata", {})
    if not meta.get("name") and not meta.get("generateName"):
        yield "it has no name"
    if meta.get("deletionTimestamp") and not meta.get("uid"):
        yield "it is being deleted and was never stored (no uid)"
    if meta.get("deletionGracePeriodSeconds") is not None and not meta.get("deletionTimestamp"):
        yield "it has a deletion grace period and is not being deleted"
    owners = meta.get("ownerReferences") or []
    if sum(bool(ref.get("controller")) for ref in owners) > 1:
        yield "it has two controllers"
    if any(not ref.get("uid") for ref in owners):
        yield "an owner has no uid"


def _pod_errors(obj: Obj) -> Iterator[str]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    names = [one.get("name") for one in spec.get("containers") or ()]
    if not names:
        yield "it has no containers"
    if len(dict.fromkeys(names)) < len(names):
        yield "two containers have one name"
    phase = status.get("phase")
    if phase is not None and phase not in PHASES:
        yield f"there is no phase {phase!r}"
    if phase == "Running" and not spec.get("nodeName"):
        yield "it runs and has no node"
    yield from _readiness_errors(obj, str(phase or ""))


def _readiness_errors(obj: Obj, phase: str) -> Iterator[str]:
    conditions = dig(obj, "status", "conditions") or []
    types = [one.get("type") for one in conditions]
    if len(dict.fromkeys(types)) < len(types):
        yield "two conditions have one type"
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    if ready and phase != "Running":
        yield f"it is ready in phase {phase or 'none'}"
    statuses = dig(obj, "status", "containerStatuses") or []
    if phase in TERMINAL_PHASES and any(dig(one, "state", "running") for one in statuses):
        yield f"a container runs in phase {phase}"


def _replicated_errors(obj: Obj) -> Iterator[str]:
    spec = obj.get("spec", {})
    if spec.get("replicas", 1) < 0:
        yield "it wants fewer than no replicas"
    wanted = dig(spec, "selector", "matchLabels") or {}
    carried = dig(spec, "template", "metadata", "labels") or {}
    if any(carried.get(key) != value for key, value in wanted.items()):
        yield "its selector does not match its template"
    if dig(spec, "template", "spec", "nodeName") == "":
        yield "its template names an empty node"


def _pdb_errors(obj: Obj) -> Iterator[str]:
    spec = obj.get("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield "it has both minAvailable and maxUnavailable"
    allowed = dig(obj, "status", "disruptionsAllowed")
    if isinstance(allowed, int) and allowed < 0:
        yield "it allows fewer than no disruptions"


def _node_errors(obj: Obj) -> Iterator[str]:
    labels = dig(obj, "metadata", "labels") or {}
    capacity = dig(obj, "status", "capacity") or {}
    if labels.get("kubernetes.io/hostname") == "":
        yield "its hostname is empty"
    if any(key not in capacity for key in dig(obj, "status", "allocatable") or {}):
        yield "it can allocate what it has no capacity of"
