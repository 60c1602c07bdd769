"""The strategy of Evacuations. Steps of the status are held by the rules of EvictionRequests."""

from __future__ import annotations

from dataclasses import replace

from vacate.admission.context import Context
from vacate.api import status as refusals
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj, dig, name_of
from vacate.api.types.evictionrequest import ADMITTED_STAMP, FORBID, IGNORED_REGISTRATION
from vacate.api.types.readable import is_complete
from vacate.api.untyped import child, mapping
from vacate.crds.evacuation.spec import change_errors, creation_errors, merged_evacuators
from vacate.crds.evictionrequest import status
from vacate.crds.evictionrequest.authority import keep_controller_conditions
from vacate.crds.evictionrequest.exclusion import refuse_second_request
from vacate.crds.evictionrequest.strategy import (
    ignored_registration,
    keep_pushes,
    keep_records,
    set_annotation,
    take_labels,
    with_others,
)
from vacate.crds.evictionrequest.target import live_pod, named_pod, require_right_to_delete
from vacate.crds.strategy import DeclaredStrategy
from vacate.eviction.dialects.evacuation.translation import (
    evacuation_path,
    evacuation_text,
    record_object,
)
from vacate.eviction.registration import Registration, resolve_evacuators


class EvacuationStrategy(DeclaredStrategy):
    """Answers for Evacuations and their status."""

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Rights first; then everything that the pod decides."""
        record = record_object(obj)
        require_right_to_delete(record, ctx, self.kind)
        refuse_second_request(self.kind, record, ctx)
        super().prepare_new(obj, ctx)
        pod = live_pod(record, ctx)
        take_labels(obj, {}, pod, ctx)
        set_annotation(obj, ADMITTED_STAMP, "true")
        keep_records(obj, {}, ctx)
        keep_pushes(obj, {}, ctx)
        found = registration_of(pod, ctx)
        set_annotation(obj, IGNORED_REGISTRATION, ignored_registration(found))
        if evacuators := merged_evacuators(obj, found):
            child(obj, "spec")["evacuators"] = evacuators

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Rights first, those about the old pod; status and stamp stay."""
        record = record_object(old)
        require_right_to_delete(record, ctx, self.kind)
        super().prepare_spec(new, old, ctx)
        for key in (ADMITTED_STAMP, IGNORED_REGISTRATION):
            set_annotation(new, key, dig(old, "metadata", "annotations", key))
        keep_records(new, old, ctx)
        keep_pushes(new, old, ctx)
        if not is_complete(old) and named_pod(record_object(new)) == named_pod(record):
            take_labels(new, old, live_pod(record, ctx), ctx)

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Nothing but the status changes, and of that not what the controller has written."""
        super().prepare_status(new, old, ctx)
        keep_controller_conditions(new, old, ctx)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The schema, then what it cannot say."""
        return [*self._spec_errors(obj), *creation_errors(obj, ctx)]

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again, and what must stay."""
        return [*super().update_errors(new, old, step, ctx), *change_errors(new, old)]

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The status by its schema, and the step, as that of a record."""
        found = status.status_errors(record_object(new), record_object(old), ctx)
        return with_others(super().status_errors(new, old, step, ctx), [*map(_as_evacuation, found)])

    def validate_delete(self, obj: Obj, ctx: Context) -> None:
        """Who may delete the pod may cancel, unless an evacuator has forbidden it and the pod exists."""
        record = record_object(obj)
        require_right_to_delete(record, ctx, self.kind)
        if mapping(obj.get("status")).get("evacuationCancellationPolicy") != FORBID:
            return
        pod = live_pod(record, ctx)
        if pod is not None:
            why = (
                "status.evacuationCancellationPolicy is Forbid and the evacuation goes on as long as "
                f'pod "{name_of(pod)}" exists'
            )
            raise refusals.forbidden(self.kind, name_of(obj), why)


def registration_of(pod: Obj | None, ctx: Context) -> Registration:
    """The evacuators that the pod asks for: none where its registration is malformed."""
    found = resolve_evacuators(pod, ctx.allowed_interceptors) if pod is not None else Registration()
    return Registration((), found.field_errors) if found.field_errors else found


def _as_evacuation(one: FieldError) -> FieldError:
    """The error in the words of this API."""
    return replace(one, path=evacuation_path(one.path), detail=evacuation_text(one.detail))
