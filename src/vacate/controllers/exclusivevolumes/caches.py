"""What the controllers see: their informers, and which volumes a change concerns."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from vacate.errors import InvalidAttachment
from vacate.kube.exclusivevolumes import (
    EXCLUSIVE,
    Attachment,
    attachment_of,
    awaits_volumes,
    binds_late,
    detached_of,
    has_started,
    is_exclusive,
    names_in_use,
    waits_at_gate,
)
from vacate.kube.nodes import out_of_service
from vacate.kube.podend import is_given_up
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Key

CLAIM, HOLDER, ATTACHED_TO, CLASS, IN_USE = "claim", "holder", "attached-to", "class", "in-use"
UNREADABLE = "unreadable"


class VolumeCaches:
    """The caches, as the controllers ask them."""

    def __init__(self, deps: Dependencies) -> None:
        informers = deps.informers
        self.volumes = informers.informer(
            PERSISTENTVOLUMES,
            PersistentVolume,
            indexes={
                HOLDER: _holders,
                ATTACHED_TO: attached_to,
                CLASS: lambda one: (one.spec.storage_class_name,),
                IN_USE: names_in_use,
                UNREADABLE: lambda one: ("",) if is_unreadable(one) else (),
            },
        )
        self.claims = informers.informer(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim)
        self.classes = informers.informer(STORAGECLASSES, StorageClass)
        self.pods = informers.informer(PODS, Pod, indexes={CLAIM: _claims})
        self.nodes = informers.informer(NODES, Node, indexes={IN_USE: lambda one: one.status.volumes_in_use})

    def volume(self, name: str) -> PersistentVolume | None:
        """A volume."""
        return self.volumes.reader.get("", name)

    def exclusive(self, volume: PersistentVolume) -> bool:
        """Whether the volume or its class is marked."""
        return is_exclusive(volume, self.classes.reader.get("", volume.spec.storage_class_name))

    def users(self, volume: PersistentVolume) -> list[Pod]:
        """The pods that use the volume by the claim that is bound to it."""
        claim = volume.spec.claim_ref
        bound = self.claims.reader.get(claim.namespace, claim.name) if claim else None
        if claim is None or bound is None or bound.spec.volume_name != volume.metadata.name:
            return []
        return self.claimants(claim.namespace, claim.name)

    def claimants(self, namespace: str, claim: str) -> list[Pod]:
        """The pods that use a claim."""
        return self.pods.reader.by_index(CLAIM, f"{namespace}/{claim}")

    def bound_volume(self, namespace: str, claim: str) -> PersistentVolume | None:
        """The volume of a claim; None while it has none."""
        found = self.claims.reader.get(namespace, claim)
        return self.volume(found.spec.volume_name) if found is not None else None

    def class_that_binds_late(self, namespace: str, claim: str) -> StorageClass | None:
        """The class of a claim that has no volume before its pod has a node; None for all other claims."""
        found = self.claims.reader.get(namespace, claim)
        chosen = self.classes.reader.get("", found.spec.storage_class_name or "") if found else None
        return chosen if found is not None and binds_late(found, chosen) else None

    def may_get_exclusive(self, namespace: str, claim: str, storage_class: StorageClass) -> bool:
        """Whether a claim without a volume may get an exclusive one: a new one, or one that is there."""
        if storage_class.metadata.annotations.get(EXCLUSIVE) == "true":
            return True
        there = self.volumes.reader.by_index(CLASS, storage_class.metadata.name)
        owners = [one.spec.claim_ref for one in there if self.exclusive(one)]
        return any(one is None or (one.namespace, one.name) == (namespace, claim) for one in owners)

    def exclusive_volumes(self, pod: Pod) -> list[PersistentVolume]:
        """The exclusive volumes of a pod, in the order of their names."""
        bound = (self.bound_volume(pod.metadata.namespace, claim) for claim in set(pod.claims))
        found = [volume for volume in bound if volume is not None and self.exclusive(volume)]
        return sorted(found, key=lambda volume: volume.metadata.name)

    def listing(self, volume: PersistentVolume) -> set[str]:
        """The names of the nodes that report that they use the volume, and are not fenced."""
        found = [node for name in names_in_use(volume) for node in self.nodes.reader.by_index(IN_USE, name)]
        return {one.metadata.name for one in found if not out_of_service(one)}

    def keeps_volumes(self, node: Node) -> bool:
        """Whether the node may have an exclusive volume: also by a record that nobody can read."""
        volumes = self.volumes.reader
        if volumes.by_index(ATTACHED_TO, node.metadata.name) or volumes.by_index(UNREADABLE, ""):
            return True
        used = (one for name in node.status.volumes_in_use for one in volumes.by_index(IN_USE, name))
        return any(map(self.exclusive, used))

    def nodes_awaited_by(self, pod: Pod) -> set[str]:
        """The nodes that have an exclusive volume for which the pod waits."""
        if not awaits_volumes(pod):
            return set()
        found = [_held_elsewhere(pod, volume) for volume in self.exclusive_volumes(pod)]
        return {node for node in found if node}

    def pods_awaiting(self, node: str) -> list[Pod]:
        """The pods that wait for an exclusive volume which this node has."""
        found = {
            pod.metadata.uid: pod
            for volume in self.volumes.reader.by_index(ATTACHED_TO, node)
            for pod in self.users(volume)
            if node in self.nodes_awaited_by(pod)
        }
        return sorted(found.values(), key=lambda pod: (pod.metadata.namespace, pod.metadata.name))

    # Which volumes a change concerns

    def of_pod(self, pod: Pod) -> Iterable[Key]:
        """The volumes that the pod uses, and those whose record names it."""
        bound = [self.bound_volume(pod.metadata.namespace, claim) for claim in pod.claims]
        named = self.volumes.reader.by_index(HOLDER, pod.metadata.uid)
        return [Key("", one.metadata.name) for one in (*bound, *named) if one is not None]

    def of_claim(self, claim: PersistentVolumeClaim) -> Iterable[Key]:
        """The volume of the claim."""
        return (Key("", claim.spec.volume_name),) if claim.spec.volume_name else ()

    def of_class(self, storage_class: StorageClass) -> Iterable[Key]:
        """The volumes of the class, and those that are taken after one of them."""
        for volume in self.volumes.reader.by_index(CLASS, storage_class.metadata.name):
            yield Key("", volume.metadata.name)
            yield from self.neighbours(volume)

    def of_node(self, node: Node) -> Iterable[Key]:
        """The volumes that are attached to the node, or that it uses."""
        found = self.volumes.reader.by_index(ATTACHED_TO, node.metadata.name)
        for name in node.status.volumes_in_use:
            found = [*found, *self.volumes.reader.by_index(IN_USE, name)]
        return [Key("", one.metadata.name) for one in found]

    def neighbours(self, volume: PersistentVolume) -> Iterable[Key]:
        """The other volumes of the pods that use this one: they are taken in order."""
        return [key for pod in self.users(volume) for key in self.of_pod(pod)]

    # Which pods at the gate a change concerns

    def gated_by_volume(self, volume: PersistentVolume) -> Iterable[Key]:
        """The pods at the gate that use the volume."""
        claim = volume.spec.claim_ref
        return self._gated(claim.namespace, claim.name) if claim is not None else ()

    def gated_by_claim(self, claim: PersistentVolumeClaim) -> Iterable[Key]:
        """The pods at the gate that use the claim."""
        return self._gated(claim.metadata.namespace, claim.metadata.name)

    def _gated(self, namespace: str, claim: str) -> list[Key]:
        pods = self.claimants(namespace, claim)
        return [Key(namespace, pod.metadata.name) for pod in pods if waits_at_gate(pod)]

    def gated_by_class(self, storage_class: StorageClass) -> Iterable[Key]:
        """The pods at the gate that use claims of the class."""
        for claim in self.claims.reader.list():
            if claim.spec.storage_class_name == storage_class.metadata.name:
                yield from self.gated_by_claim(claim)


def pod_matters(old: Pod | None, new: Pod | None) -> bool:
    """Whether the change of a pod could change a record."""
    pod = new or old
    if pod is None or not pod.claims:
        return False
    return old is None or new is None or _state(old) != _state(new)


def _state(pod: Pod) -> tuple[object, ...]:
    return pod.terminating, pod.status.phase, has_started(pod), is_given_up(pod), pod.spec


def node_matters(old: Node | None, new: Node | None) -> bool:
    """Whether a node came, went, was restarted or fenced, or uses other volumes than before."""
    return old is None or new is None or _declared(old) != _declared(new)


def class_matters(old: StorageClass | None, new: StorageClass | None) -> bool:
    """Whether volumes of the class are exclusive now, or are not any more."""
    return old is None or new is None or old.metadata.annotations != new.metadata.annotations


def _declared(node: Node) -> tuple[object, ...]:
    return out_of_service(node), node.status.node_info.boot_id, node.status.volumes_in_use


def _held_elsewhere(pod: Pod, volume: PersistentVolume) -> str:
    """The node that has the volume and not for this pod, or nothing."""
    try:
        found = attachment_of(volume)
    except InvalidAttachment:
        return ""
    return found.node if found is not None and not found.names(pod.metadata.uid) else ""


def _claims(pod: Pod) -> Iterable[str]:
    return [f"{pod.metadata.namespace}/{claim}" for claim in pod.claims]


def _holders(volume: PersistentVolume) -> Iterable[str]:
    return [holder.uid for found in _readable_records(volume) for holder in found.pods]


def attached_to(volume: PersistentVolume) -> Iterable[str]:
    """The nodes that have the volume, or from which a person took it and which have not confirmed."""
    return [found.node for found in _readable_records(volume) if found.node]


def is_unreadable(volume: PersistentVolume) -> bool:
    """Whether nobody can read where the volume is attached: any node may have it."""
    try:
        attachment_of(volume)
        detached_of(volume)
    except InvalidAttachment:
        return True
    return False


def _readable_records(volume: PersistentVolume) -> list[Attachment]:
    """Where the volume is attached and from where it was taken, as far as that can be read."""
    try:
        found = attachment_of(volume)
        return [*detached_of(volume), *([found] if found is not None else ())]
    except InvalidAttachment:
        return []
