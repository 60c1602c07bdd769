"""Verdicts on EvictionRequests: the strategy of the embedded server, asked as a webhook is asked.

The mutating side runs the whole strategy, also for what the schema would find later: so every refusal lists
all errors at once. The validating side asks again, after all who may have changed the object since. Both
leave to the API server what it refuses by itself: an update of a version that is no longer the newest is a
conflict, whatever else is wrong with it.
"""

from __future__ import annotations

import msgspec

from vacate.admission.context import Context
from vacate.api import status
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.jsonpatch import json_patch
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.lenient import attempted_name, mapping, text
from vacate.api.objects import Obj, copied, dig, metadata, name_of
from vacate.api.types import ObjectMeta
from vacate.api.types.evictionrequest import ADMITTED_STAMP
from vacate.api.types.readable import decodes, readable_status
from vacate.crds.evictionrequest.strategy import EvictionRequestStrategy
from vacate.crds.evictionrequest.target import live_pod, registration_of, require_right_to_delete
from vacate.crds.schema import structure
from vacate.errors import BadRequest, Invalid
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, Verdict

_STAMP_PATH = f"metadata.annotations[{ADMITTED_STAMP}]"
_OF_THE_SERVER = ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_GENERATED = "xxxxx"  # stands for what the server will make up
_STRATEGY = EvictionRequestStrategy(KIND)


def mutate(request: AdmissionRequest, ctx: Context) -> Verdict:
    """Complete a request that is created or changed, or refuse it with all its errors."""
    if request.operation == "CREATE":
        return _create(request, ctx)
    if request.operation == "UPDATE":
        return _update(request, ctx)
    return ALLOWED


def validate(request: AdmissionRequest, ctx: Context) -> Verdict:
    """Check a request as it would be written, or whether it may go."""
    if request.operation == "CREATE":
        return _validate_create(request, ctx)
    if request.operation == "UPDATE" and not ctx.subresource:
        return _validate_update(request, ctx)
    if request.operation == "UPDATE":
        return _update(request, ctx)
    if request.operation == "DELETE":
        _STRATEGY.validate_delete(_old(request), ctx)
    return ALLOWED


def _create(request: AdmissionRequest, ctx: Context) -> Verdict:
    given = _new(request)
    _refuse_where_closed(given, ctx)
    ours = _made_before(given, ctx)
    if ours is not None:
        return _completed(request, given, ours)
    obj = _named(copied(given))
    _admit_new(obj, ctx)
    return _completed(request, given, obj)


def _update(request: AdmissionRequest, ctx: Context) -> Verdict:
    given, old = _new(request), _old(request)
    if not _of_newest(given, old):
        return ALLOWED
    new = copied(given)
    _STRATEGY.default(new, ctx)
    _STRATEGY.prepare_update(new, old, ctx)
    _refuse(name_of(old), _STRATEGY.validate_update(new, old, ctx))
    return Verdict(patch=_conditions(given, new) if ctx.subresource else _changes(given, new))


def _validate_create(request: AdmissionRequest, ctx: Context) -> Verdict:
    obj = _named(_new(request))
    _refuse_where_closed(obj, ctx)
    require_right_to_delete(obj, ctx)
    _STRATEGY.default(obj, ctx)
    _refuse(name_of(obj), [*_STRATEGY.validate(obj, ctx), *_changed_since(obj, ctx)])
    return ALLOWED


def _validate_update(request: AdmissionRequest, ctx: Context) -> Verdict:
    new, old = _new(request), _old(request)
    if not _of_newest(new, old):
        return ALLOWED
    require_right_to_delete(old, ctx)
    _STRATEGY.default(new, ctx)
    field_errors = _STRATEGY.validate_update(new, old, ctx)
    if _stamp(new) != _stamp(old):
        field_errors.append(forbidden(_STAMP_PATH, "may not change"))
    _refuse(name_of(old), field_errors)
    return ALLOWED


def _admit_new(obj: Obj, ctx: Context) -> None:
    """What the embedded server does with a new object, in the same order."""
    for field in _OF_THE_SERVER:
        metadata(obj).pop(field, None)
    _STRATEGY.default(obj, ctx)
    _STRATEGY.prepare_create(obj, ctx)
    _refuse(name_of(obj), _STRATEGY.validate(obj, ctx))


def _made_before(given: Obj, ctx: Context) -> Obj | None:
    """The object once more, where it has all that this webhook would put there.

    The API server asks again after others have changed an object. What was put there the first time must not
    look like interceptors that the requester has named.
    """
    listed = mapping(given.get("spec")).get("interceptors")
    if not listed or _stamp(given) != "true":
        return None
    again = _named(copied(given))
    del again["spec"]["interceptors"]
    try:
        _admit_new(again, ctx)
    except Invalid:
        return None  # refused below with everything that is wrong, the interceptors included
    return again if mapping(again.get("spec")).get("interceptors") == listed else None


def _changed_since(obj: Obj, ctx: Context) -> list[FieldError]:
    """What others did after the mutating side to what only it decides."""
    found: list[FieldError] = []
    if _stamp(obj) != "true":
        found.append(forbidden(_STAMP_PATH, "must not change: it was set on admission"))
    if live_pod(obj, ctx) is None:
        return found
    expected = [{"name": name} for name in registration_of(obj, ctx).interceptors]
    if (mapping(obj.get("spec")).get("interceptors") or []) != expected:
        found.append(forbidden("spec.interceptors", "must not change: they were filled in from the pod"))
    return found


def _new(request: AdmissionRequest) -> Obj:
    """The object in the namespace of its address."""
    obj = _readable(request.new(), "object")
    if request.namespace:
        metadata(obj)["namespace"] = request.namespace
    return obj


def _old(request: AdmissionRequest) -> Obj:
    """The object as it is stored, without fields of its status that cannot be decoded.

    Strategies rely on its shape. What was stored past our rules must not keep anyone from putting it right.
    """
    obj = _readable(request.old(), "oldObject")
    if not decodes(obj):
        obj["status"] = readable_status(obj.get("status"))
    if not decodes(obj):
        raise BadRequest(f"oldObject is no {KIND.kind}: its spec cannot be decoded")
    return obj


def _readable(given: Obj, where: str) -> Obj:
    """The object without fields that the kind does not have, its metadata of the right types."""
    obj = copied(given)
    found = (obj.setdefault("apiVersion", KIND.api_version), obj.setdefault("kind", KIND.kind))
    if found != (KIND.api_version, KIND.kind):
        raise BadRequest(f"{where} is a {found[1]} of {found[0]}, not a {KIND.kind} of {KIND.api_version}")
    structure(KIND).prune(obj)
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    try:
        msgspec.convert(obj["metadata"], ObjectMeta)
    except msgspec.ValidationError as error:
        raise BadRequest(f"{where}.metadata: {error}") from None
    return obj


def _named(obj: Obj) -> Obj:
    """A name that is yet to be made up counts as one: what is wrong with it is that it is made up."""
    meta = metadata(obj)
    if not meta.get("name") and (base := text(meta.get("generateName"))):
        meta["name"] = base[:58] + _GENERATED
    return obj


def _of_newest(new: Obj, old: Obj) -> bool:
    return metadata(new).get("resourceVersion") == metadata(old).get("resourceVersion")


def _completed(request: AdmissionRequest, given: Obj, after: Obj) -> Verdict:
    """Allowed with these changes, and what the object is then."""
    result = copied(request.new())
    result["spec"] = after.get("spec") or {}
    for field in ("labels", "annotations"):
        if (value := dig(after, "metadata", field)) is not None:
            metadata(result)[field] = value
    return Verdict(patch=_changes(given, after), result=result)


def _changes(before: Obj, after: Obj) -> list[Obj]:
    """Only what a webhook decides. What it does not know is never taken away."""
    found = json_patch(before.get("spec") or {}, after.get("spec") or {}, "/spec")
    for field in ("labels", "annotations"):
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


def _stamp(obj: Obj) -> str:
    return text(mapping(metadata(obj).get("annotations")).get(ADMITTED_STAMP))


def _refuse(name: str, field_errors: list[FieldError]) -> None:
    if field_errors:
        raise status.invalid(KIND, name, field_errors)


def _refuse_where_closed(obj: Obj, ctx: Context) -> None:
    if not ctx.gates.enabled(KIND.gate):
        why = f"the feature {KIND.gate} is switched off in this cluster"
        raise status.forbidden(KIND, attempted_name(obj), why)
