"""PURE. Which volume a claim is bound to: the smallest that offers what is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.quantity import ZERO, Quantity, parse_quantity
from vacate.api.selectors.labels import selector_of
from vacate.api.types import PersistentVolume, PersistentVolumeClaim, StorageClass

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def best_volume(claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> PersistentVolume | None:
    """The volume for the claim; one that is kept for it before all others."""
    fitting = [one for one in volumes if is_free_for(one, claim) and _offers(one, claim)]
    return min(
        fitting,
        key=lambda one: (one.spec.claim_ref is None, _size(one).value(), one.metadata.name),
        default=None,
    )


def is_free_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether nobody else has the volume."""
    owner, meta = volume.spec.claim_ref, claim.metadata
    if volume.metadata.deletion_timestamp is not None:
        return False
    if owner is None:
        return True
    return (owner.namespace, owner.name) == (meta.namespace, meta.name) and owner.uid in ("", meta.uid)


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The class of claims that name none: of several the newest."""
    marked = [one for one in classes if one.metadata.annotations.get(DEFAULT_CLASS) == "true"]
    return max(
        marked, key=lambda one: (str(one.metadata.creation_timestamp), one.metadata.name), default=None
    )


def _offers(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    spec, wanted = volume.spec, claim.spec
    if wanted.volume_name and wanted.volume_name != volume.metadata.name:
        return False
    if wanted.selector is not None and not selector_of(wanted.selector).matches(volume.metadata.labels):
        return False
    asked = _quantity(wanted.resources.requests.get("storage"))
    return (
        spec.storage_class_name == (wanted.storage_class_name or "")
        and spec.volume_mode == wanted.volume_mode
        and set(wanted.access_modes) <= set(spec.access_modes)
        and not _size(volume) < asked
    )


def _size(volume: PersistentVolume) -> Quantity:
    return _quantity(volume.spec.capacity.get("storage"))


def _quantity(text: str | int | float | None) -> Quantity:
    try:
        return ZERO if text is None else parse_quantity(text)
    except ValueError:
        return ZERO
