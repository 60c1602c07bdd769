"""The request itself: what it must say when it is created, and what stays as it was."""

from __future__ import annotations

from vacate.admission.checks import same, unchanged
from vacate.admission.context import Context
from vacate.admission.rules import Effect, table
from vacate.api.fielderrors import ErrorType, FieldError, complaints, forbidden, invalid, required
from vacate.api.lenient import mapping, maps, sequence, text
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, name_of
from vacate.api.types.evictionrequest import FORBID
from vacate.crds.evictionrequest.target import named_pod, target_errors
from vacate.eviction.registration import RESERVED, reserved_name

IMMUTABLE_FIELDS = ("type", "target", "interceptors", "heartbeatDeadlineSeconds")

RULES = table(
    "EvictionRequest",
    ("spec.type", Effect.DEFAULT, "Soft"),
    ("spec.heartbeatDeadlineSeconds", Effect.DEFAULT, "1800"),
    ("spec.interceptors", Effect.SET, "from the pod, on create: its field, else its annotations"),
    ("metadata.generateName", ErrorType.FORBIDDEN, "not settable"),
    ("metadata.name", ErrorType.INVALID, "the UID of the pod"),
    ("spec", ErrorType.REQUIRED, "not empty"),
    ("spec.type", ErrorType.NOT_SUPPORTED, "Soft"),
    ("spec.target", ErrorType.REQUIRED, "not empty"),
    ("spec.target.podRef", ErrorType.REQUIRED, "not empty"),
    ("spec.target.podRef.name", ErrorType.REQUIRED, "not empty"),
    ("spec.target.podRef.name#short", ErrorType.INVALID, "not an empty string"),
    ("spec.target.podRef.name", ErrorType.TOO_LONG, "at most 253 characters"),
    ("spec.target.podRef.name", ErrorType.NOT_FOUND, "a pod of the namespace, on create"),
    ("spec.target.podRef.uid", ErrorType.REQUIRED, "not empty"),
    ("spec.target.podRef.uid#short", ErrorType.INVALID, "not an empty string"),
    ("spec.target.podRef.uid", ErrorType.TOO_LONG, "at most 253 characters"),
    ("spec.target.podRef.uid", ErrorType.INVALID, "the UID of the pod of that name, on create"),
    ("spec.requesters", ErrorType.REQUIRED, "at least one, on create"),
    ("spec.requesters", ErrorType.TOO_MANY, "at most 100"),
    ("spec.requesters[]", ErrorType.DUPLICATE, "unique names"),
    ("spec.requesters[].name", ErrorType.REQUIRED, "not empty"),
    ("spec.requesters[].name", ErrorType.INVALID, "a DNS subdomain"),
    ("spec.requesters[].name", ErrorType.TOO_LONG, "at most 253 characters"),
    ("spec.requesters#forbid", ErrorType.FORBIDDEN, "no change while the cancellation policy is Forbid"),
    ("spec.requesters#complete", ErrorType.FORBIDDEN, "no change once the request is complete"),
    ("spec.interceptors", ErrorType.FORBIDDEN, "not settable on create"),
    ("spec.interceptors[].name", ErrorType.FORBIDDEN, "k8s.io only for known interceptors of Kubernetes"),
    ("spec.heartbeatDeadlineSeconds#least", ErrorType.INVALID, "at least 600"),
    ("spec.heartbeatDeadlineSeconds#most", ErrorType.INVALID, "at most 86400"),
    ("spec.type", ErrorType.INVALID, "an update never changes it"),
    ("spec.target", ErrorType.INVALID, "an update never changes it"),
    ("spec.interceptors", ErrorType.INVALID, "an update never changes them"),
    ("spec.heartbeatDeadlineSeconds", ErrorType.INVALID, "an update never changes it"),
)


def creation_errors(obj: Obj, ctx: Context) -> list[FieldError]:
    """What only a new request must say."""
    found = _name_errors(obj)
    spec = mapping(obj.get("spec"))
    if "spec" in obj and not sequence(spec.get("requesters")):
        found.append(required("spec.requesters", "at least one requester is required"))
    found += requester_errors(spec) + _interceptor_errors(spec, ctx)
    return found + target_errors(obj, ctx)


def requester_errors(spec: Obj) -> list[FieldError]:
    """The names of requesters."""
    found: list[FieldError] = []
    for index, requester in enumerate(maps(spec.get("requesters"))):
        if name := text(requester.get("name")):
            found += complaints(f"spec.requesters[{index}].name", name, _format(name))
    return found


def _interceptor_errors(spec: Obj, ctx: Context) -> list[FieldError]:
    """The names that the pod gave; later they are what they are, whatever names are allowed by then."""
    found: list[FieldError] = []
    for index, interceptor in enumerate(maps(spec.get("interceptors"))):
        name = text(interceptor.get("name"))
        path = f"spec.interceptors[{index}].name"
        found += complaints(path, name, _format(name)) if name else []
        if reserved_name(name, ctx.allowed_interceptors):
            found.append(forbidden(path, RESERVED))
    return found


def _format(name: str) -> list[str]:
    # The length is the schema's to check; here it would be reported twice.
    return dns1123_subdomain(name[:253].rstrip(".-") if len(name) > 253 else name)


def interceptors_given() -> FieldError:
    """The requester has named interceptors; only the pod may."""
    return forbidden("spec.interceptors", "must not be set on creation, it is filled in from the pod")


def _name_errors(obj: Obj) -> list[FieldError]:
    name, meta, uid = name_of(obj), mapping(obj.get("metadata")), named_pod(obj).uid
    if text(meta.get("generateName")):
        return [forbidden("metadata.generateName", "not supported, the name must be the UID of the pod")]
    if name and uid and name != uid:
        return [invalid("metadata.name", name, "must be equal to spec.target.podRef.uid")]
    return []


def change_errors(new: Obj, old: Obj, *, complete: bool) -> list[FieldError]:
    """What an update may not change."""
    spec, before = mapping(new.get("spec")), mapping(old.get("spec"))
    found: list[FieldError] = []
    for field in IMMUTABLE_FIELDS:
        found += unchanged(f"spec.{field}", spec.get(field), before.get(field))
    if not same(spec.get("requesters"), before.get("requesters")):
        policy = mapping(old.get("status")).get("evictionRequestCancellationPolicy")
        if complete:
            found.append(forbidden("spec.requesters", "may not change once the request is complete"))
        elif policy == FORBID:
            detail = "may not change while status.evictionRequestCancellationPolicy is Forbid"
            found.append(forbidden("spec.requesters", detail))
    return found
