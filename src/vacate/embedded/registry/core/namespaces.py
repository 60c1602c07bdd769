"""Namespaces: kept by the finalizer `kubernetes` until they are empty, labelled with their own name."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.admission.context import Context
from vacate.admission.metadata import keep, standard_finalizer_errors, texts
from vacate.admission.nameformats import label_key, name_is_label
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, invalid
from vacate.api.objects import Obj, dig, metadata
from vacate.api.untyped import child, mapping, text

NAME_LABEL = "kubernetes.io/metadata.name"
_KUBERNETES = "kubernetes"


class NamespaceStrategy(KindStrategy):
    """Answers for namespaces and their subresources status and finalize."""

    def name_format(self, name: str, prefix: bool) -> Sequence[str]:
        """A DNS label."""
        return name_is_label(name, prefix)

    def default(self, obj: Obj, ctx: Context) -> None:
        """The name as a label, so that selectors can choose a namespace; the phase."""
        _label(obj)
        status = child(obj, "status")
        if not status.get("phase"):
            status["phase"] = "Active"

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Active, and kept by Kubernetes' own finalizer."""
        _label(obj)
        obj["status"] = {"phase": "Active"}
        spec = child(obj, "spec")
        finalizers = texts(spec, "finalizers")
        if _KUBERNETES not in finalizers:
            spec["finalizers"] = [*finalizers, _KUBERNETES]

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; finalizers too, unless this is the finalize subresource."""
        keep(new, old, "status")
        if ctx.subresource != "finalize":
            keep(child(new, "spec"), mapping(old.get("spec")), "finalizers")

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec's finalizers."""
        found: list[FieldError] = []
        for name in texts(mapping(obj.get("spec")), "finalizers"):
            found += _finalizer_errors(name, "spec.finalizers")
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again, or the finalizers alone for the finalize subresource."""
        if ctx.subresource != "finalize":
            return self.metadata_errors(new) + self.field_errors(new, ctx) + step
        found = list(step)
        for index, name in enumerate(texts(mapping(new.get("spec")), "finalizers")):
            found += _finalizer_errors(name, f"spec.finalizers[{index}]")
        return found

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The phase says whether deletion has begun."""
        phase = text(dig(new, "status", "phase"))
        if not metadata(new).get("deletionTimestamp"):
            wrong, detail = phase != "Active", "may only be 'Active' if `deletionTimestamp` is empty"
        else:
            wrong = phase != "Terminating"
            detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        return [*step, invalid("status.Phase", phase, detail)] if wrong else step


def _label(obj: Obj) -> None:
    if name := metadata(obj).get("name"):
        child(metadata(obj), "labels")[NAME_LABEL] = name


def _finalizer_errors(name: str, path: str) -> list[FieldError]:
    found = complaints(path, name, label_key(name))
    found += [
        invalid(path, field_error.value, field_error.detail)
        for field_error in standard_finalizer_errors([name], path)
    ]
    return found
