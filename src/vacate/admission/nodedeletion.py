"""When the deletion of a Node needs a confirmation: what must run once may otherwise run twice.

Pod GC removes the pods of a Node that is gone, without waiting for the machine. So deleting a Node that is
not ready declares its machine gone for good. That is asked about where the guard against force deletion is on
for the whole cluster, and the node has a pod of a StatefulSet, or a volume that one node at a time may use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vacate.admission.pods.forcedeletion import CONFIRMATION, DISABLED, GUARD_LABEL, SYSTEM_USERS, Guard
from vacate.api.identity import User, service_account_user
from vacate.api.kinds import STATEFULSETS
from vacate.api.objects import Obj, dig, name_of
from vacate.api.types import PersistentVolume, Pod
from vacate.api.untyped import mapping
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.kube.podend import has_ended

NODE_REMOVERS = (
    *SYSTEM_USERS,
    "system:cloud-controller-manager",
    *(
        service_account_user("kube-system", name)
        for name in ("node-controller", "cloud-controller-manager", "cloud-node-lifecycle-controller")
    ),
)
"""They delete Nodes whose machines the cloud no longer has."""

REFUSAL = (
    "node NAME is not ready, and has pods of StatefulSets or exclusive volumes, as far as is known. Deleting "
    "it declares that its machine is gone for good: its pods are removed without waiting for it to confirm "
    "that its processes have ended: they may go on running, and a replacement with the same identity and the "
    "same volumes may start beside them and damage data. Fence it first: vacate fence NAME. If you know that "
    "the machine is off, confirm with: vacate delete node NAME --confirm; or: "
    f"kubectl annotate node NAME {CONFIRMATION}=UID and delete it again"
)
"""With the name and the UID of the Node in their places."""


def may_ask(node: Obj, user: User, guard: Guard) -> bool:
    """Whether a confirmation is needed, if the node has anything that must not run twice."""
    if not guard.unlabelled or user.name in NODE_REMOVERS:
        return False
    if is_confirmed(dig(node, "metadata", "uid"), mapping(dig(node, "metadata", "annotations"))):
        return False
    if mapping(dig(node, "metadata", "labels")).get(GUARD_LABEL) == DISABLED:
        return False
    if any(dig(taint, "key") == OUT_OF_SERVICE for taint in dig(node, "spec", "taints") or ()):
        return False
    ready = [one for one in dig(node, "status", "conditions") or () if dig(one, "type") == "Ready"]
    return any(dig(one, "status") != "True" for one in ready)


def runs_once(pod: Pod, exclusive: Iterable[PersistentVolume]) -> bool:
    """Whether a second copy of the pod would harm, and the first may still run; by its exclusive volumes."""
    owner = pod.metadata.controller
    return not has_ended(pod) and (any(exclusive) or (owner is not None and owner.kind == STATEFULSETS.kind))


def refusal(node: Obj) -> str:
    """The consequences in words, and how to confirm."""
    return REFUSAL.replace("NAME", name_of(node)).replace("UID", str(dig(node, "metadata", "uid")))


def is_confirmed(uid: object, annotations: Mapping[str, object]) -> bool:
    """Whether a person has confirmed, of this very Node, that its machine is off."""
    return bool(uid) and annotations.get(CONFIRMATION) == uid
