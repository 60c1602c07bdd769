"""PURE. Which exclusive volumes a pod waits for, and who has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from vacate.api.types import PersistentVolume, Pod
from vacate.errors import InvalidAttachment
from vacate.kube.exclusivevolumes import (
    Attachment,
    attachment_of,
    awaits_volumes,
    detached_of,
    uses_volumes,
)
from vacate.views.model import Explanation


@dataclass(frozen=True, slots=True)
class LostNodes:
    """Nodes that have volumes, by name: those that do not report, and those whose Node was deleted."""

    silent: Collection[str] = ()
    missing: Collection[str] = ()


NONE_LOST = LostNodes()


def with_awaited_volumes(
    explanation: Explanation, pod: Pod, volumes: Sequence[PersistentVolume], lost: LostNodes = NONE_LOST
) -> Explanation:
    """The explanation with the exclusive volumes of the pod that are not attached for it."""
    sentences = tuple(sentence for volume in volumes if (sentence := _awaited(pod, volume, lost)))
    return replace(explanation, awaited=(*explanation.awaited, *sentences))


def late_claim_sentence(claim: str, storage_class: str) -> str:
    """Why a claim keeps a pod at its scheduling gate without end, and what helps."""
    return (
        f"Claim {claim} of StorageClass {storage_class} gets a volume only when the pod has a node "
        "(WaitForFirstConsumer), and the pod no node before it is known whether the volume is exclusive. Use "
        "a StorageClass with volumeBindingMode Immediate, or name a volume in spec.volumeName of the claim."
    )


def with_late_claims(explanation: Explanation, claims: Sequence[tuple[str, str]]) -> Explanation:
    """The explanation of a pod at its gate, with claims that keep it there, each with its StorageClass."""
    sentences = tuple(late_claim_sentence(*one) for one in claims)
    return replace(explanation, awaited=(*explanation.awaited, *sentences))


def with_shared_volumes(
    explanation: Explanation, pod: Pod, volumes: Sequence[PersistentVolume], users: Sequence[Pod]
) -> Explanation:
    """The explanation of a pod that runs, with the pods on other nodes that run with its exclusive volumes.

    `users` are the pods of its namespace.
    """
    sentences = []
    for volume in volumes:
        claim = volume.spec.claim_ref.name if volume.spec.claim_ref is not None else ""
        others = [
            f"{one.metadata.namespace}/{one.metadata.name} on node {one.spec.node_name}"
            for one in users
            if claim in one.claims and uses_volumes(one) and one.spec.node_name != pod.spec.node_name
        ]
        if others:
            sentences.append(
                f"Exclusive volume {volume.metadata.name} is used at the same time by pod {', '.join(others)}"
                ": the data may be destroyed. Delete one of the pods."
            )
    return replace(explanation, awaited=(*explanation.awaited, *sentences))


def claims_on_several_nodes(pods: Sequence[Pod]) -> dict[tuple[str, str], list[Pod]]:
    """By namespace and claim, the pods that run with it, where that is on more than one node."""
    users: dict[tuple[str, str], list[Pod]] = {}
    for pod in pods:
        if uses_volumes(pod):
            for claim in set(pod.claims):
                users.setdefault((pod.metadata.namespace, claim), []).append(pod)
    return {key: found for key, found in users.items() if len({one.spec.node_name for one in found}) > 1}


def shared_volume_notes(volumes: Sequence[PersistentVolume], pods: Sequence[Pod]) -> list[str]:
    """A sentence for each of these exclusive volumes with which pods run on several nodes."""
    users, notes = claims_on_several_nodes(pods), []
    for volume in sorted(volumes, key=lambda one: one.metadata.name):
        claim = volume.spec.claim_ref
        if claim is not None and (found := users.get((claim.namespace, claim.name))):
            names = [f"{one.metadata.name} on node {one.spec.node_name}" for one in found]
            notes.append(
                f"Exclusive volume {volume.metadata.name} is used on several nodes at the same time, by pods "
                f"of namespace {claim.namespace}: {', '.join(sorted(names))}. The data may be destroyed: "
                "delete all but one of them."
            )
    return notes


def awaited_claims(pods: Sequence[Pod]) -> set[tuple[str, str]]:
    """The claims of the pods that have not started, by namespace and name."""
    return {(pod.metadata.namespace, claim) for pod in pods if awaits_volumes(pod) for claim in pod.claims}


def held_volume_notes(volumes: Sequence[PersistentVolume], pods: Sequence[Pod], lost: LostNodes) -> list[str]:
    """A sentence for each of these exclusive volumes for which pods wait until a person acts."""
    notes = []
    for volume in sorted(volumes, key=lambda one: one.metadata.name):
        claim = volume.spec.claim_ref
        waiting = [
            pod for pod in pods
            if claim is not None and awaits_volumes(pod) and claim.name in pod.claims
            and pod.metadata.namespace == claim.namespace
        ]  # fmt: skip
        try:
            found = attachment_of(volume)
        except InvalidAttachment:
            continue
        waiting = [pod for pod in waiting if found is not None and not found.names(pod.metadata.uid)]
        if found is not None and waiting and _is_stuck(found, lost):
            name = f"{waiting[0].metadata.namespace}/{waiting[0].metadata.name}"
            notes.append(
                f"Pod {name} waits for exclusive volume {volume.metadata.name}, which node {found.node} has "
                f"for pod {found.pods[0]}. {_remedies(volume, found, lost)}"
            )
    return notes


def _is_stuck(found: Attachment, lost: LostNodes) -> bool:
    """Whether the volume stays until a person acts."""
    return found.node in (*lost.silent, *lost.missing) or (bool(found.node) and found.pods[0].gone)


def _awaited(pod: Pod, volume: PersistentVolume, lost: LostNodes) -> str:
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
    if _is_stuck(found, lost):
        return f"{waits}, which {holder}. {_remedies(volume, found, lost)}"
    return (
        f"{waits}, which {holder}: it is attached to one node at a time, and stays until that pod has "
        "terminated."
    )


def _remedies(volume: PersistentVolume, found: Attachment, lost: LostNodes) -> str:
    """What helps where the node that has the volume does not report, or the pod is gone unconfirmed."""
    first, commands = found.pods[0], [f"vacate detach {volume.metadata.name} --confirm"]
    fence = f" fence it: vacate fence {found.node}."
    if found.node in lost.missing:
        state = f"Node {found.node} was deleted without a confirmation that its machine is off."
        fence = ""
    elif found.node in lost.silent:
        state = f"Node {found.node} does not report, and what runs there may still write: bring it back, or"
    else:
        state = f"That pod is gone, but node {found.node} has not confirmed that its processes have ended:"
    if not first.gone:
        commands.insert(0, f"vacate delete pod {first.name} -n {first.namespace}")
    return f"{state}{fence} If you know that nothing there writes to the volume: {'; '.join(commands)}."
