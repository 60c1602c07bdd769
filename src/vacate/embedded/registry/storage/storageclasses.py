"""StorageClasses: after creation only what hangs on them changes."""

from __future__ import annotations

from vacate.admission.checks import unchanged, unsupported
from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, forbidden, required
from vacate.api.objects import Obj
from vacate.api.untyped import text

RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


class StorageClassStrategy(KindStrategy):
    """Answers for StorageClasses."""

    def default(self, obj: Obj, ctx: Context) -> None:
        """Volumes go with their claims, and are bound at once."""
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """A provisioner, and known words."""
        found: list[FieldError] = []
        if not text(obj.get("provisioner")):
            found.append(required("provisioner"))
        policy, mode = text(obj.get("reclaimPolicy")), text(obj.get("volumeBindingMode"))
        if policy not in RECLAIM_POLICIES:
            found.append(unsupported("reclaimPolicy", policy, RECLAIM_POLICIES))
        if mode not in BINDING_MODES:
            found.append(unsupported("volumeBindingMode", mode, BINDING_MODES))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """What volumes were made by stays."""
        found = list(step)
        if (new.get("parameters") or {}) != (old.get("parameters") or {}):
            found.append(forbidden("parameters", "updates to parameters are forbidden."))
        for key in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            found += unchanged(key, new.get(key), old.get(key))
        return found
