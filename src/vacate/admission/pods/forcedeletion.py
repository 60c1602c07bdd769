"""Who may remove a pod object with a grace period of 0 while its processes may still run.

A force deletion takes the pod out of the API at once. A client that takes the existence of the object for the
existence of the processes, as a StatefulSet does, then starts a second copy of them. So only those may force
who know that the processes are gone: the pod's own node, pod GC (for nodes that are gone or out of service),
and a person who says knowingly that it must be so, by an annotation that holds for this very pod.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.identity import User, node_user, service_account_user
from vacate.api.kinds import STATEFULSETS
from vacate.api.objects import Obj, dig, name_of, namespace_of, terminating
from vacate.api.types.core import TERMINAL_PHASES
from vacate.api.untyped import mapping

GATE = "PodForceDeleteGuard"
CONFIRMATION = "vacate.dev/confirm-force-delete"
"""The annotation by which a person confirms; its value is the UID of the pod, so that no template has it."""
GUARD_LABEL = "vacate.dev/force-delete-guard"
"""The label of a namespace that opts in or out."""
ENABLED, DISABLED = "enabled", "disabled"

SYSTEM_USERS: tuple[str, ...] = (
    service_account_user("kube-system", "pod-garbage-collector"),
    # These two begin graceful deletions only; they are named so that no guard can block a namespace for ever.
    service_account_user("kube-system", "generic-garbage-collector"),
    service_account_user("kube-system", "namespace-controller"),
    "system:kube-controller-manager",  # where its controllers share one identity
)
"""Users that may force by their identity."""


class ForceDeletionReason(enum.StrEnum):
    """Why a force deletion is allowed."""

    NODE = "node"  # the pod's own node, which has seen the processes end
    SYSTEM = "system"  # pod GC, garbage collector, namespace controller
    CONFIRMED = "confirmed"  # a person has annotated the pod or the eviction
    OWN_GRACE = "own-grace"  # a member of a StatefulSet whose own grace period is 0
    UNGUARDED = "unguarded"  # the namespace, or the cluster, does without the guard


@dataclass(frozen=True, slots=True)
class Guard:
    """How far the guard reaches in a cluster."""

    unlabelled: bool = False  # whether namespaces without the label are guarded
    users: tuple[str, ...] = SYSTEM_USERS


def may_leave_processes(pod: Obj, grace: int | None) -> bool:
    """Whether a deletion with this grace period removes the object while processes of the pod may run.

    `grace` is None where the deletion names none, and the pod's own counts. Not where the pod was never bound
    to a node, where its phase says that all containers have terminated, where the pod's own grace period is 0
    (its author has chosen that, which only a member of a StatefulSet should not), or where an earlier
    deletion had grace 0.
    """
    own = dig(pod, "spec", "terminationGracePeriodSeconds")
    if (own if grace is None else grace) != 0 or not dig(pod, "spec", "nodeName"):
        return False
    if dig(pod, "status", "phase") in TERMINAL_PHASES:
        return False
    if own == 0 and not is_member(pod):
        return False
    return not (terminating(pod) and not dig(pod, "metadata", "deletionGracePeriodSeconds"))


def is_member(pod: Obj) -> bool:
    """Whether a StatefulSet has made the pod, and takes its existence for that of its processes."""
    return any(dig(one, "kind") == STATEFULSETS.kind and dig(one, "controller") is True
               for one in dig(pod, "metadata", "ownerReferences") or ())  # fmt: skip


def guards_namespace(namespace: Obj | None, guard: Guard) -> bool:
    """Whether pods of the namespace are guarded: its label decides, else the cluster's setting."""
    label = mapping(dig(namespace or {}, "metadata", "labels")).get(GUARD_LABEL)
    return guard.unlabelled if label not in (ENABLED, DISABLED) else label == ENABLED


def review(
    pod: Obj, user: User, namespace: Obj | None, guard: Guard, also: Sequence[Obj] = ()
) -> ForceDeletionReason | None:
    """Why the user may force this pod out, None where the user may not.

    `also` are other objects that may carry the confirmation: the Eviction by which the deletion is requested.
    """
    if user.name == node_user(str(dig(pod, "spec", "nodeName"))):
        return ForceDeletionReason.NODE
    if user.name in guard.users:
        return ForceDeletionReason.SYSTEM
    uid = dig(pod, "metadata", "uid")
    if uid and any(_confirmation(obj) == uid for obj in (pod, *also)):
        return ForceDeletionReason.CONFIRMED
    if dig(pod, "spec", "terminationGracePeriodSeconds") == 0:
        return ForceDeletionReason.OWN_GRACE  # every deletion removes it at once, that of taint eviction too
    return None if guards_namespace(namespace, guard) else ForceDeletionReason.UNGUARDED


NO_GRACE = (
    "spec.terminationGracePeriodSeconds: with 0 every deletion, also by taint eviction, removes the pod "
    "without waiting for its node to confirm that its processes have ended: they may go on running, and a "
    "replacement with the same identity and the same volumes may start beside them and damage data. Set it "
    "to 1 or more in spec.template.spec of the StatefulSet, or label the namespace "
    f"{GUARD_LABEL}={DISABLED}"
)
"""Why a member of a StatefulSet is refused where the guard is on."""


def lacks_grace(pod: Obj) -> bool:
    """Whether it is a member of a StatefulSet that any deletion would remove at once."""
    return is_member(pod) and dig(pod, "spec", "terminationGracePeriodSeconds") == 0


def refusal(pod: Obj) -> str:
    """The consequences in words, and the two ways to confirm."""
    name, namespace = name_of(pod), namespace_of(pod)
    where = f" -n {namespace}" if namespace else ""
    return (
        f"force deletion removes the pod without waiting for node {dig(pod, 'spec', 'nodeName')} to confirm "
        "that its processes have ended: they may go on running, and a replacement with the same identity and "
        "the same volumes may start beside them and damage data. Delete it without --force, or with a grace "
        "period of 1 second or more, to let the node terminate it. If you know that the processes are gone, "
        f"confirm with: vacate delete pod {name}{where} --force --confirm; or: "
        f"kubectl annotate pod {name}{where} {CONFIRMATION}={dig(pod, 'metadata', 'uid')} and delete it again"
    )


def _confirmation(obj: Obj) -> object:
    return mapping(dig(obj, "metadata", "annotations")).get(CONFIRMATION)
