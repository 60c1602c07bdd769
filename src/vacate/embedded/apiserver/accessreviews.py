"""Questions about rights and identity as objects: created, answered, never stored."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import msgspec

from vacate.api import fielderrors as field
from vacate.api.fielderrors import FieldError
from vacate.api.identity import Access, User
from vacate.api.kinds import SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS, SUBJECTACCESSREVIEWS, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded.apiserver.auth.authorization import Authorizer, Decision
from vacate.embedded.apiserver.auth.rbacmessages import join_errors
from vacate.errors import BadRequest, Invalid

_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_BOTH_SELECTORS = "may not specified at the same time as requirements"


class _Selector(msgspec.Struct, rename="camel"):
    raw_selector: str | None = None
    requirements: list[dict[str, Any]] | None = None


class _ResourceAttributes(msgspec.Struct, rename="camel"):
    namespace: str | None = None
    verb: str | None = None
    group: str | None = None
    version: str | None = None
    resource: str | None = None
    subresource: str | None = None
    name: str | None = None
    field_selector: _Selector | None = None
    label_selector: _Selector | None = None


class _PathAttributes(msgspec.Struct):
    path: str | None = None
    verb: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    resource_attributes: _ResourceAttributes | None = None
    non_resource_attributes: _PathAttributes | None = None
    user: str | None = None
    groups: list[str] | None = None
    uid: str | None = None
    extra: dict[str, list[str] | None] | None = None

    def subject(self) -> User:
        """The user that is asked about, with no more groups than the question names."""
        extra = {key: tuple(values or ()) for key, values in (self.extra or {}).items()}
        return User(self.user or "", tuple(self.groups or ()), self.uid or "", extra)

    def access(self, user: User) -> Access:
        """The question itself."""
        asked = self.resource_attributes
        if asked is not None:
            return Access(
                user,
                asked.verb or "",
                asked.group or "",
                asked.version or "*",
                asked.resource or "",
                asked.subresource or "",
                asked.namespace or "",
                asked.name or "",
            )
        path = self.non_resource_attributes or _PathAttributes()
        return Access(user, path.verb or "", path=path.path or "")


def answer_review(kind: Kind, body: Obj, user: User, authorizer: Authorizer, now: dt.datetime) -> Obj:
    """Fill in the status of a review; Invalid where the question is incomplete."""
    return _ANSWERS[kind](body, user, authorizer, now)


def subject_access_review(body: Obj, _user: User, authorizer: Authorizer, _now: dt.datetime) -> Obj:
    """Whether the named user may do that."""
    spec = _spec(SUBJECTACCESSREVIEWS, body)
    field_errors = _access_errors(spec)
    if not spec.user and not spec.groups:
        why = "at least one of user or group must be specified"
        field_errors.insert(_union_errors(spec), field.invalid("spec.user", "", why))
    _refuse(SUBJECTACCESSREVIEWS, field_errors + _metadata_errors(body))
    return _answered(SUBJECTACCESSREVIEWS, body, _status(authorizer.authorize(spec.access(spec.subject()))))


def self_subject_access_review(body: Obj, user: User, authorizer: Authorizer, _now: dt.datetime) -> Obj:
    """May I do that? `kubectl auth can-i` asks this."""
    spec = _spec(SELFSUBJECTACCESSREVIEWS, body)
    _refuse(SELFSUBJECTACCESSREVIEWS, _access_errors(spec) + _metadata_errors(body))
    return _answered(SELFSUBJECTACCESSREVIEWS, body, _status(authorizer.authorize(spec.access(user))))


def self_subject_review(_body: Obj, user: User, _authorizer: Authorizer, now: dt.datetime) -> Obj:
    """Who am I? `kubectl auth whoami` asks this."""
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {
        "kind": SELFSUBJECTREVIEWS.kind,
        "apiVersion": SELFSUBJECTREVIEWS.api_version,
        "metadata": {"creationTimestamp": format_time(now)},
        "status": {"userInfo": info},
    }


_ANSWERS: dict[Kind, Callable[[Obj, User, Authorizer, dt.datetime], Obj]] = {
    SUBJECTACCESSREVIEWS: subject_access_review,
    SELFSUBJECTACCESSREVIEWS: self_subject_access_review,
    SELFSUBJECTREVIEWS: self_subject_review,
}


def _spec(kind: Kind, body: Obj) -> _Spec:
    try:
        return msgspec.convert(body.get("spec") or {}, _Spec)
    except msgspec.ValidationError as error:
        name = f'{kind.kind} in version "{kind.version}"'
        raise BadRequest(f"{name} cannot be handled as a {kind.kind}: {error}") from error


def _union_errors(spec: _Spec) -> int:
    """How many errors stand before the one about the user."""
    return int((spec.resource_attributes is None) == (spec.non_resource_attributes is None))


def _access_errors(spec: _Spec) -> list[FieldError]:
    asked, path = spec.resource_attributes, spec.non_resource_attributes
    field_errors = []
    if (asked is None) == (path is None):
        shown = None if path is None else {"Path": path.path or "", "Verb": path.verb or ""}
        field_errors.append(field.invalid("spec", shown, _ONE_OF))
    if asked is not None:
        field_errors += _selector_errors("spec.resourceAttributes.fieldSelector", asked.field_selector)
        field_errors += _selector_errors("spec.resourceAttributes.labelSelector", asked.label_selector)
    return field_errors


def _selector_errors(path: str, selector: _Selector | None) -> list[FieldError]:
    if selector is None:
        return []
    if selector.raw_selector and selector.requirements:
        return [field.invalid(f"{path}.rawSelector", selector.raw_selector, _BOTH_SELECTORS)]
    if not selector.raw_selector and not selector.requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        return [field.required(f"{path}.requirements", why)]
    return []


def _metadata_errors(body: Obj) -> list[FieldError]:
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        return []
    filled = {key: value for key, value in meta.items() if value and key != "managedFields"}
    return [field.invalid("metadata", filled, "must be empty")] if filled else []


def _refuse(kind: Kind, field_errors: list[FieldError]) -> None:
    """The real server knows the kind by its group only at this point, and says so."""
    if field_errors:
        details = {"group": kind.group, "causes": [field_error.cause() for field_error in field_errors]}
        raise Invalid(f'.{kind.group} "" is invalid: {join_errors(map(str, field_errors))}', details=details)


def _status(verdict: Decision) -> Obj:
    status: Obj = {"allowed": verdict.allowed}
    if verdict.reason:
        status["reason"] = verdict.reason
    return status


def _answered(kind: Kind, body: Obj, status: Obj) -> Obj:
    rest = {
        key: value for key, value in body.items() if key not in ("kind", "apiVersion", "metadata", "status")
    }
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {}, **rest, "status": status}
