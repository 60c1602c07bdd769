"""PURE. Which exclusive volumes a pod waits for, and who has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vacate.api.types import PersistentVolume, Pod
from vacate.errors import InvalidAttachment
from vacate.kube.exclusivevolumes import attachment_of, detached_of
from vacate.views.model import Explanation


def may_await_volumes(pod: Pod) -> bool:
    """Whether the pod has claims and has not started."""
    return bool(pod.claims) and pod.status.phase in ("", "Pending") and not pod.terminating


def with_awaited_volumes(
    explanation: Explanation, pod: Pod, volumes: Sequence[PersistentVolume]
) -> Explanation:
    """The explanation with the exclusive volumes of the pod that are not attached for it."""
    sentences = tuple(sentence for volume in volumes if (sentence := _awaited(pod, volume)))
    return replace(explanation, awaited=(*explanation.awaited, *sentences))


def _awaited(pod: Pod, volume: PersistentVolume) -> str:
    waits = f"Waiting for exclusive volume {volume.metadata.name}"
    try:
        found, taken = attachment_of(volume), detached_of(volume)
    except InvalidAttachment as error:
        return f"{waits}: {error}."
    node = pod.spec.node_name
    if node and (before := next((one for one in taken if one.node == node), None)) is not None:
        what = f"pod {before.pods[0]}" if before.pods else "what used it"
        by_hand = f"{waits}, which was taken from node {node} by hand"
        return f"{by_hand}: it is not known yet that {what} has terminated."
    if found is None:
        return f"{waits}, which is not attached to a node yet."
    if found.names(pod.metadata.uid):
        return ""
    where = f"node {found.node} has" if found.node else "is kept"
    holder = f"{where} for pod {found.pods[0]}"
    return (
        f"{waits}, which {holder}: it is attached to one node at a time, and stays until that pod has "
        "terminated."
    )
