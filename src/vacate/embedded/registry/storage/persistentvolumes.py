"""PersistentVolumes: one source, a size, and for whom. What is behind the volume never changes."""

from __future__ import annotations

from typing import Any, ClassVar

from vacate.admission.checks import same, unchanged, unsupported
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, forbidden, invalid, required
from vacate.api.objects import Obj, metadata
from vacate.api.times import format_time
from vacate.api.untyped import child, fill, mapping, sequence, text
from vacate.embedded.registry.core.pods.defaults.volume import default_source
from vacate.embedded.registry.core.quantities import canonical_list, quantity_of

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
VOLUME_MODES = ("Block", "Filesystem")
PROTECTION = "kubernetes.io/pv-protection"
SOURCES = (
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume",
    "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs", "photonPersistentDisk",
    "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
)  # fmt: skip
_SOURCE = "spec.persistentvolumesource"


class PersistentVolumeStrategy(KindStrategy):
    """Answers for PersistentVolumes."""

    new_status: ClassVar[Obj | None] = {"phase": "Pending"}

    def default(self, obj: Obj, ctx: Context) -> None:
        """Data is kept, on a file system."""
        spec = child(obj, "spec")
        fill(spec, "persistentVolumeReclaimPolicy", "Retain")
        fill(spec, "volumeMode", "Filesystem")
        default_source(spec)
        canonical_list(spec.get("capacity"), self.kind)
        fill(child(obj, "status"), "phase", "Pending")

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Nobody uses it yet, and nobody removes it while it is used."""
        super().prepare_new(obj, ctx)
        obj["status"]["lastPhaseTransitionTime"] = format_time(ctx.now)
        protect(obj, PROTECTION)

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Spec stays; a new phase has a time."""
        keep(new, old, "spec")
        now, before = mapping(new.get("status")), mapping(old.get("status"))
        if now.get("phase") != before.get("phase"):
            now["lastPhaseTransitionTime"] = format_time(ctx.now)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Modes, size, source and words."""
        spec = mapping(obj.get("spec"))
        return [
            *_mode_errors(spec),
            *_capacity_errors(spec),
            *_source_errors(spec),
            *volume_mode_errors(spec),
        ]

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """What is behind it stays."""
        spec, before = mapping(new.get("spec")), mapping(old.get("spec"))
        found = [*step, *self.metadata_errors(new), *self.field_errors(new, ctx)]
        if not all(same(spec.get(key), before.get(key)) for key in SOURCES):
            found.append(forbidden(_SOURCE, f"{_SOURCE} is immutable after creation"))
        return found + unchanged("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def protect(obj: Obj, finalizer: str) -> None:
    """What uses the object is to end first: kube-apiserver's plugin StorageObjectInUseProtection."""
    meta = metadata(obj)
    known = sequence(meta.get("finalizers"))
    if finalizer not in known:
        meta["finalizers"] = [*known, finalizer]


def access_mode_errors(modes: list[Any]) -> list[FieldError]:
    """Words that Kubernetes does not know."""
    return [unsupported("spec.accessModes", one, ACCESS_MODES) for one in modes if one not in ACCESS_MODES]


def size_errors(size: Any, path: str) -> list[FieldError]:
    """More than nothing."""
    quantity = quantity_of(size)
    return [] if quantity.sign > 0 else [invalid(path, str(quantity), "must be greater than zero")]


def volume_mode_errors(spec: Obj) -> list[FieldError]:
    """A file system, or a device."""
    mode = spec.get("volumeMode")
    return [] if mode in (None, *VOLUME_MODES) else [unsupported("spec.volumeMode", mode, VOLUME_MODES)]


def _mode_errors(spec: Obj) -> list[FieldError]:
    modes = sequence(spec.get("accessModes"))
    return access_mode_errors(modes) if modes else [required("spec.accessModes")]


def _capacity_errors(spec: Obj) -> list[FieldError]:
    capacity = mapping(spec.get("capacity"))
    if not capacity:
        return [required("spec.capacity")]
    if list(capacity) != ["storage"]:
        return [unsupported("spec.capacity", _shown(capacity), ("storage",))]
    return size_errors(capacity["storage"], "spec.capacity[storage]")


def _shown(capacity: Obj) -> Any:
    return dict(sorted(capacity.items()))


def _source_errors(spec: Obj) -> list[FieldError]:
    named = [key for key in SOURCES if type(spec.get(key)) is dict]
    found = [forbidden(f"spec.{key}", "may not specify more than 1 volume type") for key in named[1:]]
    if not named:
        found.append(required("spec", "must specify a volume type"))
    policy = text(spec.get("persistentVolumeReclaimPolicy"))
    if policy and policy not in RECLAIM_POLICIES:
        found.append(unsupported("spec.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES))
    return found
