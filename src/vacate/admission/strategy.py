"""The frame of a strategy: what kube-apiserver does around the part that each kind answers for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from vacate.admission import metadata as meta
from vacate.admission.checks import not_negative, same
from vacate.admission.context import Context, Traits
from vacate.admission.nameformats import name_is_path_segment, name_is_subdomain
from vacate.api.fielderrors import FieldError
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, metadata
from vacate.api.untyped import mapping


class KindStrategy:
    """Base of all strategies; a kind overrides what stands under `what a kind answers`."""

    # What the verbs of the server must know about the kind.
    traits: Traits = Traits()
    # Whether spec changes are counted in metadata.generation.
    counts_generations: ClassVar[bool] = False
    # What the status of a new object is; None where the kind has none that this decides.
    new_status: ClassVar[Obj | None] = None
    # Numbers of the status, none of which is below zero.
    counts: ClassVar[tuple[str, ...]] = ()
    # Whether the kind itself looks at metadata, or leaves it to what is common to all.
    checks_metadata: ClassVar[bool] = True
    # Whether finalizers without a prefix must be standard ones.
    checks_finalizers: ClassVar[bool] = True

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def name_format(self, name: str, prefix: bool) -> Sequence[str]:
        """Complaints about a name, or about the prefix of one."""
        return name_is_subdomain(name, prefix)

    # --- the protocol

    def default(self, obj: Obj, ctx: Context) -> None:
        """Fill in what the user left out."""

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        """Drop and set what a creator may not decide."""
        meta.prepare_create(obj, 1 if self.counts_generations else None)
        self.prepare_new(obj, ctx)

    def prepare_update(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Carry over what this (sub)resource may not change, and count spec changes."""
        meta.keep(metadata(new), metadata(old), "generation")
        if ctx.subresource == "status":
            self.prepare_status(new, old, ctx)
        else:
            self.prepare_spec(new, old, ctx)
        meta.prepare_update(new, old)

    def validate(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Every rule that a new object breaks."""
        found = self.metadata_errors(obj) if self.checks_metadata else []
        found += self.field_errors(obj, ctx)
        return found or self._common_errors(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        """Every rule that the new object, or the step to it, breaks."""
        step = meta.step_errors(metadata(new), metadata(old))
        found = [*meta.name_errors(metadata(new), name_is_path_segment), *self._content_errors(new), *step]
        if self.checks_finalizers:
            step += self._finalizer_errors(new)
        if ctx.subresource == "status":
            return found + self.status_errors(new, old, step, ctx)
        return found + self.update_errors(new, old, step, ctx)

    def validate_delete(self, obj: Obj, ctx: Context) -> None:
        """Most objects may always be deleted by those who have the right."""

    # --- what a kind answers

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The kind's part of `prepare_create`."""
        if self.new_status is not None:
            obj["status"] = dict(self.new_status)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """The kind's part of `prepare_update` for the object itself."""
        if self.new_status is not None:
            meta.keep(new, old, "status")
        if self.counts_generations:
            count_generation(new, old, not same(new.get("spec"), old.get("spec")))

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """The kind's part of `prepare_update` for the status subresource."""
        meta.keep(new, old, "spec")

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The kind's part of `validate`, after metadata."""
        return []

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The kind's part of `validate_update`; `step` has the errors of the step in metadata."""
        return step

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The kind's part of `validate_update` for the status subresource."""
        status = mapping(new.get("status"))
        return step + [error for key in self.counts for error in not_negative("status", status, key)]

    # --- shared by kinds

    def metadata_errors(self, obj: Obj) -> list[FieldError]:
        """The metadata by the rules of this kind."""
        found = meta.name_errors(metadata(obj), self.name_format)
        found += self._content_errors(obj)
        if self.checks_finalizers:
            found += self._finalizer_errors(obj)
        return found

    def _common_errors(self, obj: Obj) -> list[FieldError]:
        # Names that pass a kind's own format are path segments already.
        if self.checks_metadata:
            return []
        return meta.name_errors(metadata(obj), name_is_path_segment) + self._content_errors(obj)

    def _content_errors(self, obj: Obj) -> list[FieldError]:
        return meta.content_errors(metadata(obj), self.kind.namespaced)

    def _finalizer_errors(self, obj: Obj) -> list[FieldError]:
        named = meta.texts(metadata(obj), "finalizers")
        return meta.standard_finalizer_errors(named, "metadata.finalizers") if named else []


def count_generation(new: Obj, old: Obj, changed: bool) -> None:
    """One more generation where the spec is not what it was."""
    if changed:
        before = metadata(old).get("generation")
        metadata(new)["generation"] = (before if type(before) is int else 0) + 1
