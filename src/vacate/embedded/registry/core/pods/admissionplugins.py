"""What kube-apiserver's admission plugins do to pods: account, priority, tolerations."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.api import status
from vacate.api.kinds import PODS, PRIORITYCLASSES
from vacate.api.objects import Obj, dig, name_of
from vacate.api.untyped import attempted_name, integer, maps, sequence, text
from vacate.embedded.registry.core.pods.topology import add_topology

MIRROR = "kubernetes.io/config.mirror"
_SECONDS = 300
_UNREACHABLE_NODES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit_new(pod: Obj, spec: Obj, ctx: Context) -> None:
    """Everything that a new pod gets or is refused for."""
    if not spec.get("serviceAccountName") and dig(pod, "metadata", "annotations", MIRROR) is None:
        spec["serviceAccountName"] = spec["serviceAccount"] = "default"
    _settle_priority(pod, spec, ctx)
    tolerate_lost_nodes(spec)
    add_topology(pod, text(spec.get("nodeName")), ctx.lookup)


def admit_changed(spec: Obj, before: Obj) -> None:
    """What an update that leaves them out may not lose."""
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None:
            keep(spec, before, key)
    tolerate_lost_nodes(spec)


def tolerate_lost_nodes(spec: Obj) -> None:
    """Stay for five minutes on a node that is not ready or out of reach."""
    tolerated = maps(spec.get("tolerations"))
    missing = [key for key in _UNREACHABLE_NODES if not _tolerates(tolerated, key)]
    if missing:
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for key in missing
        ]
        spec["tolerations"] = sequence(spec.get("tolerations")) + added


def _tolerates(tolerations: list[Obj], key: str) -> bool:
    return any(
        (not entry.get("key") or entry["key"] == key)
        and (not entry.get("effect") or entry["effect"] == "NoExecute")
        for entry in tolerations
    )


def _settle_priority(pod: Obj, spec: Obj, ctx: Context) -> None:
    name, priority, policy = _priority_of(pod, text(spec.get("priorityClassName")), ctx)
    if name:
        spec["priorityClassName"] = name
    asked = spec.get("priority")
    if asked is not None and asked != priority:
        why = (
            f"the integer value of priority ({asked}) must not be provided in pod spec;"
            f" priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise status.forbidden(PODS, attempted_name(pod), why)
    spec["priority"] = priority
    if policy is None:
        return
    asked = spec.get("preemptionPolicy")
    if asked is not None and asked != policy:
        why = (
            f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec;"
            f" priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise status.forbidden(PODS, attempted_name(pod), why)
    spec["preemptionPolicy"] = policy


def _priority_of(pod: Obj, name: str, ctx: Context) -> tuple[str, int, str | None]:
    if name:
        found = ctx.lookup(PRIORITYCLASSES, "", name)
        if found is None:
            why = f"no PriorityClass with name {name} was found"
            raise status.forbidden(PODS, attempted_name(pod), why)
        return name, integer(found.get("value")), found.get("preemptionPolicy")
    found = ctx.default_priority_class()
    if found is None:
        return "", 0, "PreemptLowerPriority"
    return name_of(found), integer(found.get("value")), found.get("preemptionPolicy")
