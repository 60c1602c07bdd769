"""PURE. Whether a pod has ended for certain, so that its volume may go to another node.

Only a confirmation counts: of the pod's node, of a fence, or of a person. That an object is missing, that
a node is ready, or that time has passed confirms nothing.
"""

from __future__ import annotations

from vacate.api.types import Node, PersistentVolume, Pod
from vacate.kube.exclusivevolumes import ALL_LISTED, CLOSED, Attachment, Holder, lists
from vacate.kube.nodes import out_of_service

USES = "the pod uses it"


def why_unconfirmed(pod: Pod, where: str) -> str:
    """What is missing before a pod that the API server has counts as ended; empty where nothing is."""
    if pod.terminal:
        return ""  # the node reports a terminal phase only when no container runs any more
    if not pod.terminating:
        return USES
    return (
        f"node {where} has not confirmed that the pod has terminated" if where else "the pod is terminating"
    )


def why_gone_unconfirmed(
    volume: PersistentVolume, record: Attachment, holder: Holder, node: Node | None, *, seen_to_end: bool
) -> str:
    """The same of a pod that is gone. `node` is the Node of the record, read just now.

    `seen_to_end`: this process saw that the pod's node reported the end, or that the pod never got a node.
    """
    if seen_to_end:
        return ""
    way_out = (
        f"if you know that nothing writes to the volume, run: vacate detach {volume.metadata.name} --confirm"
    )
    if not record.node:
        if record.gate == CLOSED:
            return ""  # pods with a scheduling gate get no node, and the record is changed before it opens
        return f"the pod is gone, and it is not known on which node it ran; {way_out}"
    if node is None:
        return ""  # the Node was deleted, which declares the machine gone for good
    if out_of_service(node):
        return ""  # fenced: nothing runs there
    if not lists(node, volume) and (record.listed or ALL_LISTED in node.status.volumes_in_use):
        return ""  # the node has reported that nothing uses the volume any more
    if holder.boot and node.status.node_info.boot_id not in ("", holder.boot):
        return ""  # the machine was restarted after the pod was gone
    return (
        f"the pod is gone, but node {record.node} has not confirmed that its processes have ended; fence the "
        f"node: vacate fence {record.node}; or, {way_out}"
    )
