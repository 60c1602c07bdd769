"""Which object, and in which state of it; also of those that cannot be decoded."""

from __future__ import annotations

from typing import Any

import msgspec


class Identity(msgspec.Struct, gc=False, frozen=True):
    """What tells one object from another, and one state of it from the next."""

    namespace: str
    name: str
    uid: str
    resource_version: str


class Unreadable(msgspec.Struct, gc=False, frozen=True):
    """An object that cannot be decoded: which one it is, as far as it says, and why."""

    identity: Identity
    reason: str


def identity_of(obj: Any) -> Identity:
    """The identity of a dict or of a projection with `metadata`."""
    if isinstance(obj, dict):
        meta = obj.get("metadata", {})
        return Identity(
            meta.get("namespace", ""),
            meta.get("name", ""),
            meta.get("uid", ""),
            meta.get("resourceVersion", ""),
        )
    meta = obj.metadata
    return Identity(meta.namespace, meta.name, meta.uid, meta.resource_version)
