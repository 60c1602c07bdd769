"""PURE. Whether a pod has ended for certain, so that its volume may go to another node.

Only a confirmation counts: of the pod's node, of a fence, or of a person. That an object is missing, that
a node is ready, or that time has passed confirms nothing. Nor does the phase that pod GC writes.
"""

from __future__ import annotations

from vacate.admission.nodedeletion import is_confirmed
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.kube.exclusivevolumes import ALL_LISTED, CLOSED, Attachment, Holder, lists
from vacate.kube.nodes import out_of_service, readiness
from vacate.kube.podend import has_ended

USES = "the pod uses it"
FENCED, CONFIRMED = "fenced", "confirmed"


def why_unconfirmed(pod: Pod, where: str) -> str:
    """What is missing before a pod that the API server has counts as ended; empty where nothing is."""
    if has_ended(pod):
        return ""
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
        if record.deleted:
            return ""
        return (
            f"the pod is gone, and Node {record.node} was deleted without a confirmation that its machine is "
            f"off; {way_out}"
        )
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


def known_off(node: Node) -> str:
    """How it is known of a Node that is deleted in this state that its machine is off; empty where it is not.

    By a fence, or by the person who deletes it. Who deletes it otherwise may not know: of a node that is
    ready nobody does.
    """
    meta = node.metadata
    if readiness(node) != "True" and is_confirmed(meta.uid, meta.annotations):
        return CONFIRMED
    return FENCED if out_of_service(node) else ""
