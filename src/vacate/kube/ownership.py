"""Whose is this object? How a controller keeps, takes over and lets go what its selector names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from vacate.api.kinds import Kind
from vacate.api.selectors.labels import Selector
from vacate.api.types import ObjectMeta, OwnerReference


class Claim(Enum):
    """What a controller does about an object."""

    KEEP = "keep"
    ADOPT = "adopt"
    RELEASE = "release"
    IGNORE = "ignore"


def claim(owner: ObjectMeta, selector: Selector, candidate: ObjectMeta) -> Claim:
    """Keep what is ours and selected, release what is no longer selected, adopt selected orphans."""
    selected = selector.matches(candidate.labels)
    ref = candidate.controller
    if ref is not None and ref.uid != owner.uid:
        return Claim.IGNORE
    if ref is not None and selected:
        return Claim.KEEP
    if owner.deletion_timestamp is not None:
        return Claim.IGNORE
    if ref is not None:
        return Claim.RELEASE
    terminating = candidate.deletion_timestamp is not None
    elsewhere = candidate.namespace != owner.namespace
    return Claim.IGNORE if not selected or terminating or elsewhere else Claim.ADOPT


def controller_reference(kind: Kind, owner: ObjectMeta) -> dict[str, Any]:
    """The ownerReference of an object that this owner manages."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def adoption_patch(kind: Kind, owner: ObjectMeta, adopted: ObjectMeta) -> dict[str, Any]:
    """A strategic merge patch that adds the reference; the uid makes it miss a namesake."""
    return {
        "metadata": {"uid": adopted.uid, "ownerReferences": [controller_reference(kind, owner)]},
    }


def release_patch(owner_uid: str, released: ObjectMeta) -> dict[str, Any]:
    """A strategic merge patch that removes the one reference and leaves all others."""
    return {
        "metadata": {"uid": released.uid, "ownerReferences": [{"$patch": "delete", "uid": owner_uid}]},
    }


def refers_to(ref: OwnerReference | None, kind: Kind, owner: ObjectMeta) -> bool:
    """Whether the reference means this very object, not a namesake."""
    return ref is not None and ref.kind == kind.kind and ref.name == owner.name and ref.uid == owner.uid


def group_of(api_version: str) -> str:
    """The group of an `apiVersion`, empty for the core."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


def carried(source: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether all wanted pairs are in the source."""
    return all(source.get(key) == value for key, value in wanted.items())
