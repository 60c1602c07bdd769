"""What becomes of an object when its owners go: the rules of the garbage collector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from vacate.api.types import ObjectMeta, OwnerReference
from vacate.kube.patches import guarded

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class OwnerState(Enum):
    """How things stand with one owner of an object."""

    PRESENT = "present"
    # The owner is being deleted in the foreground and this object holds it up.
    WAITING = "waiting"
    # The server itself answered that there is no such owner.
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class DropReferences:
    """Forget these owners; others remain."""

    uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object with this propagation policy; `unblock` first where a circle would hold up itself."""

    policy: str
    unblock: bool = False


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Nothing holds the object any more."""

    name: str


@dataclass(frozen=True, slots=True)
class Release:
    """Take the object's reference from these dependents, then remove its finalizer."""

    dependents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Await:
    """Look at these dependents: the object waits for them to go."""

    dependents: tuple[str, ...]


Action = DropReferences | Delete | RemoveFinalizer | Release | Await | None


def is_deleting_dependents(meta: ObjectMeta) -> bool:
    """Whether the object goes once those that block it are gone."""
    return meta.deletion_timestamp is not None and FOREGROUND in meta.finalizers


def is_orphaning(meta: ObjectMeta) -> bool:
    """Whether the object goes once its dependents are released."""
    return meta.deletion_timestamp is not None and ORPHAN in meta.finalizers


def owner_state(ref: OwnerReference, owner: ObjectMeta | None) -> OwnerState:
    """The state of an owner that was found, or was certainly not found."""
    if owner is None or owner.uid != ref.uid:
        return OwnerState.ABSENT
    blocks = ref.block_owner_deletion and is_deleting_dependents(owner)
    return OwnerState.WAITING if blocks else OwnerState.PRESENT


def terminating_action(meta: ObjectMeta, dependents: Sequence[ObjectMeta]) -> Action:
    """What an object that is being deleted needs done for its dependents."""
    if is_orphaning(meta):
        return Release(tuple(one.uid for one in dependents if _refers(one, meta.uid)))
    if not is_deleting_dependents(meta):
        return None
    blocking = [one for one in dependents if _blocks(one, meta.uid)]
    if not blocking:
        return RemoveFinalizer(FOREGROUND)
    return Await(tuple(one.uid for one in blocking if not is_deleting_dependents(one)))


def _refers(dependent: ObjectMeta, owner: str) -> bool:
    return any(ref.uid == owner for ref in dependent.owner_references)


def _blocks(dependent: ObjectMeta, owner: str) -> bool:
    return any(ref.uid == owner and ref.block_owner_deletion for ref in dependent.owner_references)


def garbage_action(
    meta: ObjectMeta, owners: Sequence[tuple[OwnerReference, OwnerState]], dependents: Sequence[ObjectMeta]
) -> Action:
    """What to do about an object whose owners stand as given."""
    if meta.deletion_timestamp is not None or not owners:
        return None
    gone = tuple(ref.uid for ref, state in owners if state is not OwnerState.PRESENT)
    if not gone:
        return None
    if len(gone) < len(owners):
        return DropReferences(gone)
    waited_for = any(state is OwnerState.WAITING for _, state in owners)
    if waited_for and dependents:
        return Delete("Foreground", unblock=any(is_deleting_dependents(one) for one in dependents))
    return Delete(_policy_of(meta.finalizers))


def _policy_of(finalizers: Iterable[str]) -> str:
    """An object keeps the policy with which someone has marked it before."""
    marks = tuple(finalizers)
    if ORPHAN in marks:
        return "Orphan"
    return "Foreground" if FOREGROUND in marks else "Background"


def references_patch(meta: ObjectMeta, uids: Iterable[str]) -> dict[str, Any]:
    """A strategic merge patch that removes references to these owners from this very object."""
    gone = [{"$patch": "delete", "uid": uid} for uid in uids]
    return {"metadata": {"uid": meta.uid, "ownerReferences": gone}}


def unblock_patch(meta: ObjectMeta) -> dict[str, Any]:
    """A strategic merge patch after which the object holds up none of its owners."""
    free = [
        {"uid": ref.uid, "blockOwnerDeletion": False}
        for ref in meta.owner_references
        if ref.block_owner_deletion
    ]
    return {"metadata": {"uid": meta.uid, "ownerReferences": free}}


def finalizer_patch(meta: ObjectMeta, name: str) -> dict[str, Any]:
    """A merge patch that removes one finalizer from the object as it was read."""
    left = [one for one in meta.finalizers if one != name]
    return guarded(meta, {"metadata": {"finalizers": left or None}})
