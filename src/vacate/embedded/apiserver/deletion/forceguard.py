"""The guard against unsafe force deletion of pods, on this server: it asks the rule, counts and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from vacate.admission import nodedeletion
from vacate.admission.pods import forcedeletion
from vacate.admission.pods.forcedeletion import ForceDeletionReason
from vacate.admission.pods.forcedeletionevents import force_deletion_event
from vacate.api import status
from vacate.api.kinds import (
    EVENTS,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STORAGECLASSES,
    Kind,
)
from vacate.api.objects import Obj, dig, name_of
from vacate.api.options import DeleteOptions
from vacate.api.types import Node, PersistentVolume, Pod, StorageClass
from vacate.client.codec import codec_for
from vacate.controllers.exclusivevolumes.caches import attached_to, is_unreadable
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs import create
from vacate.embedded.store.commit import Write
from vacate.errors import ApiError
from vacate.kube.exclusivevolumes import is_exclusive, lists

T = TypeVar("T")


def admit(
    storage: Storage, call: Call, pod: Obj, options: DeleteOptions, also: Sequence[Obj] = ()
) -> ForceDeletionReason | None:
    """Why this deletion may take the pod out at once; None where it is no force deletion. Else Forbidden."""
    if call.kind != PODS or not storage.gates.enabled(forcedeletion.GATE):
        return None
    if not forcedeletion.may_leave_processes(pod, options.grace_period_seconds):
        return None
    namespace = storage.lookup(NAMESPACES, "", call.namespace)
    ground = forcedeletion.review(pod, call.user, namespace, storage.force_guard, also)
    if not options.is_dry_run:
        storage.count_force_deletion("refused" if ground is None else str(ground))
    if ground is None:
        raise status.forbidden(PODS, name_of(pod), forcedeletion.refusal(pod))
    return ground


def admit_node(storage: Storage, call: Call, node: Obj) -> None:
    """Forbidden where the node has what must not run twice, and its machine may still run it."""
    if call.kind != NODES or not storage.gates.enabled(forcedeletion.GATE):
        return
    if not nodedeletion.may_ask(node, call.user, storage.force_guard):
        return
    if _runs_once(storage, codec_for(Node).convert(node)):
        raise status.forbidden(NODES, name_of(node), nodedeletion.refusal(node))


def _runs_once(storage: Storage, node: Node) -> bool:
    """Whether the node may have an exclusive volume, or has a pod that must not run twice."""
    volumes = {one.metadata.name: one for one in _all(storage, PERSISTENTVOLUMES, PersistentVolume)}
    name = node.metadata.name
    if any(is_unreadable(one) or name in attached_to(one) for one in volumes.values()):
        return True
    classes = {one.metadata.name: one for one in _all(storage, STORAGECLASSES, StorageClass)}

    def marked(volume: PersistentVolume) -> bool:
        return is_exclusive(volume, classes.get(volume.spec.storage_class_name))

    if any(lists(node, one) and marked(one) for one in volumes.values()):
        return True

    def exclusive(pod: Pod) -> Iterator[PersistentVolume]:
        for claimed in pod.claims:
            claim = storage.lookup(PERSISTENTVOLUMECLAIMS, pod.metadata.namespace, claimed)
            volume = volumes.get(str(dig(claim, "spec", "volumeName"))) if claim else None
            if volume is not None and marked(volume):
                yield volume

    pods = (pod for pod in _all(storage, PODS, Pod) if pod.spec.node_name == name)
    return any(nodedeletion.runs_once(pod, exclusive(pod)) for pod in pods)


def _all(storage: Storage, kind: Kind, into: type[T]) -> Iterator[T]:
    for entry in storage.store.list(kind.resource).entries:
        yield codec_for(into).convert(decode(kind, entry))


def stage_event(storage: Storage, call: Call, pod: Obj, ground: ForceDeletionReason | None) -> list[Write]:
    """Report who has forced the pod out. A namespace that takes no more Events prevents no deletion."""
    if ground is None or (ground is ForceDeletionReason.UNGUARDED and not storage.force_guard.unlabelled):
        return []  # where the whole cluster does without the guard, no Event was asked for
    event = force_deletion_event(pod, call.user.name, ground, call.now)
    if event is None:
        return []
    try:
        return [create.stage(storage, replace(call, kind=EVENTS, name="", subresource=""), event)]
    except ApiError:
        return []
