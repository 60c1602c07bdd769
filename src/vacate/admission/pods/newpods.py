"""New pods of workloads that have opted in: their interceptors are registered when they are created.

What is not seen here, because the webhook was away or the workload opted in later, is annotated by the
registration controller. The responders of Kubernetes' own API are a field, which stays as a pod is created.
"""

from __future__ import annotations

from collections.abc import Mapping

from vacate.admission.context import Context
from vacate.admission.pods.interceptors import FIELD, GATE, MAX_RESPONDERS, RESPONDERS
from vacate.admission.pods.workloads import WORKLOADS, is_opted_in, registration_change, responders
from vacate.api.kinds import NAMESPACES, Kind
from vacate.api.objects import Obj, dig
from vacate.api.untyped import mapping, maps, text
from vacate.eviction.registration import annotations_of


def added_annotations(pod: Obj, namespace: str, ctx: Context) -> dict[str, str]:
    """The annotations that register the workload's interceptors on a new pod; empty where there are none.

    A pod that lists interceptors in its spec keeps to those: the annotations would not count.
    """
    if not ctx.gates.enabled(GATE) or dig(pod, "spec", FIELD):
        return {}
    wanted = _of_workload(pod, namespace, ctx)
    if not wanted:
        return {}
    change = registration_change(annotations_of(pod), wanted, opted_in=True)
    return {key: value for key, value in change.items() if value is not None}


def added_responders(pod: Obj, namespace: str, ctx: Context) -> list[Obj]:
    """The responders of a new pod with those of its workload; empty where none are to be added.

    Kubernetes refuses the field for pods of scheduling groups, and longer lists. The responder of autoscalers
    is always among them: whether one scales the workload when the pod is evicted is not known yet.
    """
    if not ctx.gates.enabled("LifecycleAPI") or dig(pod, "spec", "schedulingGroup"):
        return []
    wanted = responders(_of_workload(pod, namespace, ctx, {}))
    given = maps(dig(pod, "spec", RESPONDERS))
    names = {text(one.get("name")) for one in given}
    if not wanted or names & wanted.keys() or len(names) + len(wanted) > MAX_RESPONDERS:
        return []
    return [*given, *({"name": name, "priority": priority} for name, priority in wanted.items())]


def _of_workload(
    pod: Obj, namespace: str, ctx: Context, autoscaler: Mapping[str, str] | None = None
) -> dict[str, str]:
    """How the pod's workload registers its interceptors, where it has opted in."""
    for workload in WORKLOADS:
        owner: Obj | None = pod
        for kind in workload.owners:
            owner = None if owner is None else _owner(owner, kind, namespace, ctx)
        if owner is not None:
            wanted = workload.registration(ctx.gates, autoscaler)
            return wanted if wanted and _is_opted_in(owner, namespace, ctx) else {}
    return {}


def _owner(obj: Obj, kind: Kind, namespace: str, ctx: Context) -> Obj | None:
    """What controls an object, if it is of the kind. It is what the creator says: uid and all."""
    for ref in maps(dig(obj, "metadata", "ownerReferences")):
        if ref.get("controller") is True and ref.get("kind") == kind.kind:
            if ref.get("apiVersion") != kind.api_version or not text(ref.get("name")):
                return None
            found = ctx.lookup(kind, namespace, text(ref.get("name")))
            return found if found is not None and dig(found, "metadata", "uid") == ref.get("uid") else None
    return None


def _is_opted_in(workload: Obj, namespace: str, ctx: Context) -> bool:
    found = ctx.lookup(NAMESPACES, "", namespace) or {}
    labels = mapping(dig(found, "metadata", "labels"))
    return is_opted_in(labels, annotations_of(workload))
