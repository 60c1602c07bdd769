"""PersistentVolumeClaims: who wants how much. After creation a claim only gets its volume."""

from __future__ import annotations

from typing import Any, ClassVar

from vacate.admission.checks import same, selector_errors
from vacate.admission.context import Context
from vacate.admission.nameformats import name_is_subdomain
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, forbidden, required
from vacate.api.objects import Obj, dig
from vacate.api.untyped import child, fill, mapping, sequence, text
from vacate.embedded.registry.core.quantities import canonical_list
from vacate.embedded.registry.storage.persistentvolumes import (
    access_mode_errors,
    protect,
    size_errors,
    volume_mode_errors,
)

PROTECTION = "kubernetes.io/pvc-protection"
_REQUESTED = "spec.resources[storage]"


class ClaimStrategy(KindStrategy):
    """Answers for PersistentVolumeClaims."""

    new_status: ClassVar[Obj | None] = {"phase": "Pending"}

    def default(self, obj: Obj, ctx: Context) -> None:
        """A file system."""
        spec = child(obj, "spec")
        fill(spec, "volumeMode", "Filesystem")
        for key in ("requests", "limits"):
            canonical_list(dig(spec, "resources", key), self.kind)
        fill(child(obj, "status"), "phase", "Pending")

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Nothing is bound yet, and nobody removes it while pods use it."""
        super().prepare_new(obj, ctx)
        protect(obj, PROTECTION)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Modes, size, class and selector."""
        spec = mapping(obj.get("spec"))
        modes = sequence(spec.get("accessModes"))
        found = access_mode_errors(modes)
        if not modes:
            found.append(required("spec.accessModes", "at least 1 access mode is required"))
        found += selector_errors(spec.get("selector"), "spec.selector")
        requested = dig(spec, "resources", "requests", "storage")
        found += [required(_REQUESTED)] if requested is None else size_errors(requested, _REQUESTED)
        found += volume_mode_errors(spec)
        return found + _class_errors(spec.get("storageClassName"))

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """A claim gets a volume, a class where it had none, and more room; nothing else."""
        found = [*step, *self.metadata_errors(new), *self.field_errors(new, ctx)]
        spec, before = dict(mapping(new.get("spec"))), dict(mapping(old.get("spec")))
        for key in ("volumeName", "storageClassName"):
            if not before.get(key):
                spec.pop(key, None)
                before.pop(key, None)
        if dig(old, "status", "phase") == "Bound":
            spec.pop("resources", None)
            before.pop("resources", None)
        if not same(spec, before):
            found.append(forbidden("spec", _FIXED))
        return found


_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
    "claims"
)


def _class_errors(name: Any) -> list[FieldError]:
    if not text(name):
        return []
    return complaints("spec.storageClassName", name, name_is_subdomain(text(name), False))
