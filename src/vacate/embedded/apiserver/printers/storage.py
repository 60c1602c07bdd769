"""Volumes, claims and storage classes."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer, wide
from vacate.api.objects import Obj, dig, name_of

_UNSET = "<unset>"
_SHORT = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _modes(modes: Any) -> str:
    known = modes or ()
    return ",".join(short for name, short in _SHORT if name in known)


def _phase(obj: Obj) -> str:
    phase = dig(obj, "status", "phase") or ""
    return "Terminating" if dig(obj, "metadata", "deletionTimestamp") else str(phase)


def _volume(obj: Obj, now: dt.datetime) -> list[Any]:
    spec, claim = obj.get("spec") or {}, dig(obj, "spec", "claimRef") or {}
    claimed = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    return [
        name_of(obj),
        str(dig(spec, "capacity", "storage") or "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        claimed,
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or _UNSET,
        dig(obj, "status", "reason") or "",
        age(obj, now),
        spec.get("volumeMode") or _UNSET,
    ]


def _claim(obj: Obj, now: dt.datetime) -> list[Any]:
    spec, volume = obj.get("spec") or {}, dig(obj, "spec", "volumeName") or ""
    capacity, modes = "", ""
    if volume:
        capacity = str(dig(obj, "status", "capacity", "storage") or "0")
        modes = _modes(dig(obj, "status", "accessModes"))
    return [
        name_of(obj), _phase(obj), volume, capacity, modes, spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or _UNSET, age(obj, now), spec.get("volumeMode") or _UNSET,
    ]  # fmt: skip


def _storage_class(obj: Obj, now: dt.datetime) -> list[Any]:
    is_default = dig(obj, "metadata", "annotations", _DEFAULT_CLASS) == "true"
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


_CLASS = Column("StorageClass", "The class that the volume belongs to.")
_ATTRIBUTES = Column("VolumeAttributesClass", "The class of attributes of the volume.")
_VOLUME_MODE = wide("VolumeMode", "Whether the volume is a file system or a device.")

PERSISTENTVOLUMES = Printer(
    (
        NAME,
        Column("Capacity", "How much the volume holds."),
        Column("Access Modes", "In which ways it can be mounted."),
        Column("Reclaim Policy", "What becomes of it when its claim is gone."),
        Column("Status", "Whether it is free, bound or left behind."),
        Column("Claim", "The claim that it is bound to."),
        _CLASS,
        _ATTRIBUTES,
        Column("Reason", "Why it is in this state."),
        AGE,
        _VOLUME_MODE,
    ),
    _volume,
)
PERSISTENTVOLUMECLAIMS = Printer(
    (
        NAME,
        Column("Status", "Whether the claim has its volume."),
        Column("Volume", "The volume that it is bound to."),
        Column("Capacity", "How much that volume holds."),
        Column("Access Modes", "In which ways that volume can be mounted."),
        _CLASS,
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    _claim,
)
STORAGECLASSES = Printer(
    (
        NAME,
        Column("Provisioner", "Who makes volumes of this class."),
        Column("ReclaimPolicy", "What becomes of a volume when its claim is gone."),
        Column("VolumeBindingMode", "When a claim is bound."),
        Column("AllowVolumeExpansion", "Whether claims may ask for more."),
        AGE,
    ),
    _storage_class,
)
