"""The strategy of EvictionRequests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vacate.admission.context import Context
from vacate.api import status as refusals
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.names import RESERVED_KEYS
from vacate.api.objects import Obj, dig, metadata, name_of
from vacate.api.types.core import TERMINAL_PHASES
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    ALLOW,
    FORBID,
    IGNORED_REGISTRATION,
    PUSHED_BY,
    RETRY,
    SKIP,
    SUPERSEDES,
)
from vacate.api.types.readable import is_complete
from vacate.api.untyped import child, mapping, text
from vacate.crds.evictionrequest import authority, status
from vacate.crds.evictionrequest.exclusion import refuse_second_request
from vacate.crds.evictionrequest.target import (
    live_pod,
    named_pod,
    registration_of,
    require_right_to_delete,
    target_errors,
)
from vacate.crds.strategy import DeclaredStrategy
from vacate.eviction.callers import CALLERS, POD_LABEL
from vacate.eviction.registration import Registration

_MAX_REASON = 4096


class EvictionRequestStrategy(DeclaredStrategy):
    """Answers for EvictionRequests and their status."""

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Rights first; then everything that the pod decides."""
        require_right_to_delete(obj, ctx)
        refuse_second_request(self.kind, obj, ctx)
        obj["status"] = {"message": "", "evictionRequestCancellationPolicy": ALLOW}
        self._refuse_given_interceptors(obj, ctx)
        take_labels(obj, {}, live_pod(obj, ctx), ctx)
        set_annotation(obj, ADMITTED_STAMP, "true")
        keep_pushes(obj, {}, ctx)
        keep_records(obj, {}, ctx)
        found = registration_of(obj, ctx)
        set_annotation(obj, IGNORED_REGISTRATION, ignored_registration(found))
        if found.interceptors:
            child(obj, "spec")["interceptors"] = [{"name": name} for name in found.interceptors]

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Rights first, those about the old target; status and stamp stay."""
        require_right_to_delete(old, ctx)
        super().prepare_spec(new, old, ctx)
        for key in (ADMITTED_STAMP, IGNORED_REGISTRATION):
            set_annotation(new, key, dig(old, "metadata", "annotations", key))
        keep_pushes(new, old, ctx)
        keep_records(new, old, ctx)
        if not is_complete(old) and named_pod(new) == named_pod(old):
            take_labels(new, old, live_pod(new, ctx), ctx)

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Nothing but the status changes, and of that not what the controller has written."""
        super().prepare_status(new, old, ctx)
        authority.keep_controller_conditions(new, old, ctx)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The schema, and what a new request says of its name and of its pod."""
        return [*self._spec_errors(obj), *_generated_name_errors(obj), *target_errors(obj, ctx)]

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The status by its schema, and the step where that finds nothing wrong with a field."""
        return with_others(super().status_errors(new, old, step, ctx), status.status_errors(new, old, ctx))

    def validate_delete(self, obj: Obj, ctx: Context) -> None:
        """Who may delete the pod may cancel, unless an interceptor has forbidden it."""
        require_right_to_delete(obj, ctx)
        policy = mapping(obj.get("status")).get("evictionRequestCancellationPolicy")
        if policy != FORBID or is_complete(obj):
            return
        pod = live_pod(obj, ctx)
        if pod is not None and dig(pod, "status", "phase") not in TERMINAL_PHASES:
            why = (
                "status.evictionRequestCancellationPolicy is Forbid and the eviction goes on as long as "
                f'pod "{name_of(pod)}" has not ended'
            )
            raise refusals.forbidden(self.kind, name_of(obj), why)

    def _refuse_given_interceptors(self, obj: Obj, ctx: Context) -> None:
        """Once the field is filled in nobody can tell who did it: the one error that is looked for here."""
        if mapping(obj.get("spec")).get("interceptors"):
            detail = "must not be set on creation, it is filled in from the pod"
            found = [*self.validate(obj, ctx), forbidden("spec.interceptors", detail)]
            raise refusals.invalid(self.kind, name_of(obj), found)


def with_others(found: list[FieldError], others: Sequence[FieldError]) -> list[FieldError]:
    """These errors, and the others about other fields."""
    named = {one.path for one in found}
    return [*found, *(one for one in others if one.path not in named)]


def _generated_name_errors(obj: Obj) -> list[FieldError]:
    if not text(metadata(obj).get("generateName")):
        return []
    return [forbidden("metadata.generateName", "not supported, the name must be the UID of the pod")]


def take_labels(new: Obj, old: Obj, pod: Obj | None, ctx: Context) -> None:
    """Merge the labels of the pod into those of its request; the pod's win."""
    theirs = dict(mapping(dig(pod, "metadata", "labels")))
    theirs.pop(POD_LABEL, None)  # the eviction bridge finds requests by it
    labels = {**_labels_that_count(new, old, ctx), **theirs}
    if labels:
        metadata(new)["labels"] = labels
    else:
        metadata(new).pop("labels", None)


def _labels_that_count(new: Obj, old: Obj, ctx: Context) -> dict[str, str]:
    """Those that were given. Vacate's own accounts label no request: of theirs, those of others stay.

    Admission plugins of others may have added some with a prefix. Who sets the label of the eviction bridge
    is for policies to say. A request that takes over from another has the labels of that one.
    """
    given, before = (mapping(dig(one, "metadata", "labels")) for one in (new, old))
    takes_over = not old and bool(dig(new, "metadata", "annotations", SUPERSEDES))
    if not ctx.authority.is_account(ctx.user) or (takes_over and ctx.authority.may_supersede(ctx.user)):
        return dict(given)
    kept = {key: value for key, value in before.items() if key != POD_LABEL}
    return {**kept, **{key: value for key, value in given.items() if key == POD_LABEL or _is_of_others(key)}}


def _is_of_others(key: str) -> bool:
    return "/" in key and not re.search(RESERVED_KEYS, key)


def keep_records(new: Obj, old: Obj, ctx: Context) -> None:
    """What others may not write: both annotations are taken for evidence.

    From the record of callers, which is the eviction bridge's, drains learn that a pod is gone. From the name
    of the request that another supersedes, which is the controller's, that its requesters were handed over.
    """
    writers = {CALLERS: ctx.authority.may_record_callers, SUPERSEDES: ctx.authority.may_supersede}
    for key, may_write in writers.items():
        if not may_write(ctx.user):
            set_annotation(new, key, dig(old, "metadata", "annotations", key))


def keep_pushes(new: Obj, old: Obj, ctx: Context) -> None:
    """Stamp who asks for another try, or skips an interceptor, with the name that the server knows.

    A new request has no such wishes, and an update that does not change them leaves the name.
    """
    after, before = (mapping(dig(one, "metadata", "annotations")) for one in (new, old))
    if not old:
        for key in (RETRY, SKIP, PUSHED_BY):
            set_annotation(new, key, None)
    elif any(after.get(key) != before.get(key) for key in (RETRY, SKIP)):
        set_annotation(new, PUSHED_BY, ctx.user.name)
    else:
        set_annotation(new, PUSHED_BY, before.get(PUSHED_BY))


def ignored_registration(found: Registration) -> str | None:
    """Why there are no interceptors although the pod names some."""
    return "; ".join(map(str, found.field_errors))[:_MAX_REASON] if found.field_errors else None


def set_annotation(obj: Obj, name: str, value: str | None) -> None:
    """What a user writes there does not count."""
    meta = metadata(obj)
    annotations = {key: text for key, text in mapping(meta.get("annotations")).items() if key != name}
    if value is not None:
        annotations[name] = value
    meta["annotations"] = annotations
    if not annotations:
        del meta["annotations"]
