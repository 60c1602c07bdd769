"""Projections of volumes, of claims to them, and of storage classes."""

from __future__ import annotations

from typing import Any

import msgspec

from vacate.api.types.core import Resources
from vacate.api.types.meta import LabelSelector, ObjectMeta, Projection


class ClaimReference(Projection, frozen=True):
    """The claim that a volume is bound to, or kept for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeSpec(Projection, frozen=True):
    """What a volume is."""

    capacity: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    access_modes: list[str] = msgspec.field(default_factory=list)
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    claim_ref: ClaimReference | None = None
    node_affinity: dict[str, Any] | None = None
    persistent_volume_reclaim_policy: str = "Retain"
    host_path: dict[str, Any] | None = None
    local: dict[str, Any] | None = None
    csi: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    fc: dict[str, Any] | None = None


class PhaseStatus(Projection, frozen=True):
    """Whether it is bound."""

    phase: str = ""


class PersistentVolume(Projection, frozen=True):
    """A volume of the cluster."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PhaseStatus = msgspec.field(default_factory=PhaseStatus)


class PersistentVolumeClaimSpec(Projection, frozen=True):
    """What is wanted, and what was given."""

    access_modes: list[str] = msgspec.field(default_factory=list)
    resources: Resources = msgspec.field(default_factory=Resources)
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""


class PersistentVolumeClaim(Projection, frozen=True):
    """A claim to a volume."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PhaseStatus = msgspec.field(default_factory=PhaseStatus)


class StorageClass(Projection, frozen=True):
    """A class of volumes."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    volume_binding_mode: str = "Immediate"
