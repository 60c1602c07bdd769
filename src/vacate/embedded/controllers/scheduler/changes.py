"""Which changes of the cluster are worth another try for pods that found no node."""

from __future__ import annotations

from vacate.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod
from vacate.kube.scheduling.placement import awaits_scheduling


def worth_trying(old: Pod | None, new: Pod) -> bool:
    """A pod that is new in line, or that asks for something else than before; its status does not matter."""
    if not awaits_scheduling(new):
        return False
    if old is None or not awaits_scheduling(old) or old.metadata.uid != new.metadata.uid:
        return True
    return old.spec != new.spec or old.metadata.labels != new.metadata.labels


def node_offers_more(old: Node | None, new: Node | None) -> bool:
    """Whether a node came or changed in a way that a scheduler looks at; heartbeats are not."""
    if new is None:
        return False
    if old is None:
        return True
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.status.allocatable != new.status.allocatable
    )


def pod_frees_resources(old: Pod | None, new: Pod | None) -> bool:
    """Whether a pod on a node was deleted, ended, or began to terminate."""
    if old is None or not old.spec.node_name:
        return False
    return new is None or (new.terminal and not old.terminal) or (new.terminating and not old.terminating)


def pod_came(old: Pod | None, new: Pod | None) -> bool:
    """Whether a pod got its node, or another set of labels on it."""
    if new is None or not new.spec.node_name:
        return False
    return old is None or not old.spec.node_name or old.metadata.labels != new.metadata.labels


def claim_was_bound(old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> bool:
    """Whether a claim came or got its volume."""
    return new is not None and (old is None or old.spec.volume_name != new.spec.volume_name)


def volume_came(old: PersistentVolume | None, new: PersistentVolume | None) -> bool:
    """Whether a volume came, or is for other nodes than before."""
    return new is not None and (old is None or old.spec.node_affinity != new.spec.node_affinity)


def depends_on_other_pods(pod: Pod) -> bool:
    """Whether where other pods are can make a place for this one."""
    return bool(pod.spec.affinity) or bool(pod.spec.topology_spread_constraints)
