"""Volumes, claims and storage classes."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.objects import Obj, dig, name_of
from vacate.embedded.apiserver.printers.columns import (
    AGE,
    NAME,
    UNSET,
    Column,
    Printer,
    Read,
    field,
    wide,
)

_SHORT = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _modes(*path: str) -> Read:
    return lambda obj, _: ",".join(short for name, short in _SHORT if name in (dig(obj, *path) or ()))


def _capacity(*path: str) -> Read:
    return lambda obj, _: str(dig(obj, *path, "capacity", "storage") or "0")


def _phase(obj: Obj, _: dt.datetime) -> str:
    phase = dig(obj, "status", "phase") or ""
    return "Terminating" if dig(obj, "metadata", "deletionTimestamp") else str(phase)


def _claim(obj: Obj, _: dt.datetime) -> str:
    claim = dig(obj, "spec", "claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _if_bound(read: Read) -> Read:
    """Of a claim: what is known once it has a volume."""
    return lambda obj, now: read(obj, now) if dig(obj, "spec", "volumeName") else ""


def _class_name(obj: Obj, _: dt.datetime) -> Any:
    is_default = dig(obj, "metadata", "annotations", _DEFAULT_CLASS) == "true"
    return f"{name_of(obj)} (default)" if is_default else name_of(obj)


_CLASSES = (
    Column("StorageClass", "The class that the volume belongs to.", field("spec", "storageClassName")),
    Column(
        "VolumeAttributesClass", "The class of attributes of the volume.",
        field("spec", "volumeAttributesClassName", default=UNSET),
    ),
)  # fmt: skip
_VOLUME_MODE = wide(
    "VolumeMode",
    "Whether the volume is a file system or a device.",
    field("spec", "volumeMode", default=UNSET),
)

PERSISTENTVOLUMES = Printer(
    NAME,
    Column("Capacity", "How much the volume holds.", _capacity("spec")),
    Column("Access Modes", "In which ways it can be mounted.", _modes("spec", "accessModes")),
    Column(
        "Reclaim Policy", "What becomes of it when its claim is gone.",
        field("spec", "persistentVolumeReclaimPolicy"),
    ),
    Column("Status", "Whether it is free, bound or left behind.", _phase),
    Column("Claim", "The claim that it is bound to.", _claim),
    *_CLASSES,
    Column("Reason", "Why it is in this state.", field("status", "reason")),
    AGE,
    _VOLUME_MODE,
)  # fmt: skip
PERSISTENTVOLUMECLAIMS = Printer(
    NAME,
    Column("Status", "Whether the claim has its volume.", _phase),
    Column("Volume", "The volume that it is bound to.", field("spec", "volumeName")),
    Column("Capacity", "How much that volume holds.", _if_bound(_capacity("status"))),
    Column(
        "Access Modes", "In which ways that volume can be mounted.",
        _if_bound(_modes("status", "accessModes")),
    ),
    *_CLASSES,
    AGE,
    _VOLUME_MODE,
)  # fmt: skip
STORAGECLASSES = Printer(
    Column(NAME.name, NAME.description, _class_name, format=NAME.format),
    Column("Provisioner", "Who makes volumes of this class.", field("provisioner")),
    Column(
        "ReclaimPolicy", "What becomes of a volume when its claim is gone.",
        field("reclaimPolicy", default="Delete"),
    ),
    Column("VolumeBindingMode", "When a claim is bound.", field("volumeBindingMode", default="Immediate")),
    Column(
        "AllowVolumeExpansion", "Whether claims may ask for more.",
        field("allowVolumeExpansion", default=False),
    ),
    AGE,
)  # fmt: skip
