"""Verdicts on requests of any API: the pipeline of the embedded server, called as a webhook is called.

The mutating side runs the whole pipeline, also for what the schema would find later: so a refusal lists those
errors together with ours. The rules in CEL of the definition are left to the API server, which evaluates them
after this. The validating side checks again, after all who may have changed the object since.

An update of another version than the newest is a conflict, whatever else is wrong with it. API servers find
that out between the two sides: the mutating side leaves such updates to them, and the validating side, which
is never asked about one, reviews every update.
"""

from __future__ import annotations

import abc
from typing import Any

import msgspec

from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.pipeline import (
    admit_create,
    admit_update,
    generated_base,
    generated_name,
    recheck_create,
    recheck_update,
)
from vacate.admission.strategy import KindStrategy
from vacate.api import status
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.integers import parse_version
from vacate.api.jsonpatch import json_patch
from vacate.api.kinds import PODS, Kind
from vacate.api.objects import Obj, copied, dig, metadata
from vacate.api.types import ObjectMeta
from vacate.api.types.evictionrequest import ADMITTED_STAMP
from vacate.api.types.readable import decodes, is_complete, readable_status
from vacate.api.untyped import attempted_name, mapping, text
from vacate.crds.evictionrequest.exclusion import requests_by_others
from vacate.crds.evictionrequest.target import deletion_of, live_pod, named_pod, require_right_to_delete
from vacate.crds.schema import structure
from vacate.errors import BadRequest
from vacate.features import FeatureGates
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult
from vacate.webhook.lookups import AccessCheck, ObjectLookup

_STAMP_PATH = f"metadata.annotations[{ADMITTED_STAMP}]"
_GENERATED = "xxxxx"  # stands for what the server will make up
_DECIDED = ("labels", "annotations")  # of metadata
_MAX_NAME = 253


class RequestReviews(abc.ABC):
    """Reviews of one kind. What differs between the APIs is in the three methods that subclasses have."""

    def __init__(
        self, kind: Kind, strategy: KindStrategy, wire: type[msgspec.Struct], status: type[Any]
    ) -> None:
        self.kind = kind
        self.strategy = strategy
        self._wire = wire
        self._status = status

    @abc.abstractmethod
    def record(self, obj: Obj) -> Obj:
        """The object in the shape of an EvictionRequest, which names its pod in one way."""

    @abc.abstractmethod
    def made_before(self, given: Obj, ctx: Context) -> Obj | None:
        """The object once more, where it has all that this webhook would put there."""

    @abc.abstractmethod
    def changed_since(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """What others did after the mutating side to those who prepare the eviction."""

    def mutate(self, request: AdmissionRequest, ctx: Context) -> ReviewResult:
        """Complete a request that is created or changed, or refuse it with all its errors."""
        if request.operation == "CREATE":
            return self._create(request, ctx)
        if request.operation == "UPDATE" and not _conflicts(request):
            return self._update(request, ctx)
        return ALLOWED

    def validate(self, request: AdmissionRequest, ctx: Context) -> ReviewResult:
        """Check a request as it would be written, or whether it may go."""
        if request.operation == "CREATE":
            return self._validate_create(request, ctx)
        if request.operation == "UPDATE":
            return self._validate_update(request, ctx)
        if request.operation == "DELETE":
            self.strategy.validate_delete(self._old(request), ctx)
        return ALLOWED

    def questions(
        self, request: AdmissionRequest, gates: FeatureGates, *, mutating: bool
    ) -> list[AccessCheck | ObjectLookup]:
        """What a side asks, as far as the review itself tells: the right before all that shows the pod.

        Sizes come before everything: Invalid for an object that has more of anything than it may have.
        """
        step = request.operation
        if step in ("CREATE", "UPDATE"):
            self._check_sizes(request)
        asks = ("CREATE", "UPDATE") if mutating else ("CREATE", "UPDATE", "DELETE")
        if step not in asks or request.sub_resource or (mutating and _conflicts(request)):
            return []
        new, old = request.object or {}, request.old_object or {}
        namespace = request.namespace if step == "CREATE" else dig(old, "metadata", "namespace")
        subject = {**(new if step == "CREATE" else old), "metadata": {"namespace": text(namespace)}}
        pod = named_pod(self.record(subject))
        if not pod.name:
            return []
        right = AccessCheck.about(deletion_of(pod, request.user))
        if step == "UPDATE" and (is_complete(old) or not mutating):
            return [right]
        others = requests_by_others(self.kind, pod, gates) if step == "CREATE" and mutating else []
        objects = [(PODS, pod.name), *others]
        return [right, *(ObjectLookup(kind, pod.namespace, name) for kind, name in objects)]

    def _check_sizes(self, request: AdmissionRequest) -> None:
        if found := structure(self._wire).sizes.field_errors(request.encoded_object):
            raise status.invalid(self.kind, (request.name or "")[:_MAX_NAME], found)

    def _create(self, request: AdmissionRequest, ctx: Context) -> ReviewResult:
        given = self._new(request)
        self._refuse_where_closed(given, ctx)
        ours = self.made_before(given, ctx)
        if ours is not None:
            return _completed(request, given, ours)
        return _completed(request, given, admit_create(self.strategy, named(given), ctx))

    def _update(self, request: AdmissionRequest, ctx: Context) -> ReviewResult:
        given, old = self._step(request)
        new = admit_update(self.strategy, given, old, ctx)
        return ReviewResult(patch=_conditions(given, new) if ctx.subresource else _changes(given, new))

    def _validate_create(self, request: AdmissionRequest, ctx: Context) -> ReviewResult:
        obj = named(self._new(request))
        self._refuse_where_closed(obj, ctx)
        require_right_to_delete(self.record(obj), ctx, self.kind)
        recheck_create(self.strategy, obj, ctx, lambda checked: self._changed(checked, ctx))
        return ALLOWED

    def _validate_update(self, request: AdmissionRequest, ctx: Context) -> ReviewResult:
        new, old = self._step(request)
        if not ctx.subresource:  # interceptors report in the status, and may not delete the pod
            require_right_to_delete(self.record(old), ctx, self.kind)
        recheck_update(self.strategy, new, old, ctx, lambda checked: _restamped(checked, old))
        return ALLOWED

    def _changed(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """What others did after the mutating side to what only it decides."""
        found: list[FieldError] = []
        if stamp(obj) != "true":
            found.append(forbidden(_STAMP_PATH, "must not change: it was set on admission"))
        if live_pod(self.record(obj), ctx) is None:
            return found
        return [*found, *self.changed_since(obj, ctx)]

    def _step(self, request: AdmissionRequest) -> tuple[Obj, Obj]:
        """The object as it would be and as it is. Whatever version it names, it is a change of the newest."""
        new, old = self._new(request), self._old(request)
        keep(metadata(new), metadata(old), "resourceVersion")
        return new, old

    def _new(self, request: AdmissionRequest) -> Obj:
        """The object in the namespace of its address."""
        obj = self._readable(request.new(), "object")
        if request.namespace:
            metadata(obj)["namespace"] = request.namespace
        return obj

    def _old(self, request: AdmissionRequest) -> Obj:
        """The object as it is stored, without fields of its status that cannot be decoded.

        Strategies rely on its shape. What was stored past our rules must not keep anyone from putting it
        right.
        """
        obj = self._readable(request.old(), "oldObject")
        if not decodes(obj, self._wire):
            obj["status"] = readable_status(obj.get("status"), self._status)
        if not decodes(obj, self._wire):
            raise BadRequest(f"oldObject is not of kind {self.kind.kind}: its spec cannot be decoded")
        return obj

    def _readable(self, given: Obj, where: str) -> Obj:
        """The object without fields that the kind does not have, its metadata of the right types."""
        obj = copied(given)
        found = (obj.setdefault("apiVersion", self.kind.api_version), obj.setdefault("kind", self.kind.kind))
        if found != (self.kind.api_version, self.kind.kind):
            raise BadRequest(
                f"{where} is a {found[1]} of {found[0]}, not a {self.kind.kind} of {self.kind.api_version}"
            )
        structure(self._wire).prune(obj)
        if obj.get("metadata") is None:
            obj["metadata"] = {}
        if isinstance(meta := obj["metadata"], dict):  # what is applied may have nulls, which mean nothing
            obj["metadata"] = {key: value for key, value in meta.items() if value is not None}
        try:
            msgspec.convert(obj["metadata"], ObjectMeta)
        except msgspec.ValidationError as error:
            raise BadRequest(f"{where}.metadata: {error}") from None
        return obj

    def _refuse_where_closed(self, obj: Obj, ctx: Context) -> None:
        if not ctx.gates.enabled(self.kind.gate):
            why = f"the feature {self.kind.gate} is switched off in this cluster"
            raise status.forbidden(self.kind, attempted_name(obj), why)


def named(given: Obj) -> Obj:
    """A name that is yet to be made up counts as one: what is wrong with it is that it is made up."""
    base = generated_base(given)
    if not base:
        return given
    return {**given, "metadata": {**given["metadata"], "name": generated_name(base, _GENERATED)}}


def _restamped(new: Obj, old: Obj) -> list[FieldError]:
    """The mark of our admission stays as it is."""
    return [forbidden(_STAMP_PATH, "may not change")] if stamp(new) != stamp(old) else []


def _conflicts(request: AdmissionRequest) -> bool:
    """Whether the update is of another version than the newest, which API servers refuse.

    They read versions as numbers, and fill in missing ones: where there is any doubt, the update is reviewed.
    """
    wanted, newest = (
        parse_version(dig(one, "metadata", "resourceVersion")) for one in (request.object, request.old_object)
    )
    return wanted is not None and newest is not None and wanted != newest


def _completed(request: AdmissionRequest, given: Obj, after: Obj) -> ReviewResult:
    """Allowed with these changes, and what the object is then."""
    kept = {field: value for field in _DECIDED if (value := dig(after, "metadata", field)) is not None}
    meta = {**mapping(request.new().get("metadata")), **kept}
    result = {**request.new(), "metadata": meta, "spec": after.get("spec") or {}}
    return ReviewResult(patch=_changes(given, after), result=result)


def _changes(before: Obj, after: Obj) -> list[Obj]:
    """Only what a webhook decides. What it does not know is never taken away."""
    found = json_patch(before.get("spec") or {}, after.get("spec") or {}, "/spec")
    for field in _DECIDED:
        old, new = (dig(one, "metadata", field) for one in (before, after))
        if old is None and new is not None:
            found.append({"op": "add", "path": f"/metadata/{field}", "value": new})
        elif old is not None:
            found += json_patch(old, new or {}, f"/metadata/{field}")
    return found


def _conditions(before: Obj, after: Obj) -> list[Obj]:
    """The controller's conditions, put back where a writer of the status has left them out."""
    old, new = (mapping(one.get("status")).get("conditions") for one in (before, after))
    if not new or old == new:
        return []
    return [{"op": "replace" if old is not None else "add", "path": "/status/conditions", "value": new}]


def stamp(obj: Obj) -> str:
    """The mark of our admission, which the object carries."""
    return text(mapping(metadata(obj).get("annotations")).get(ADMITTED_STAMP))
