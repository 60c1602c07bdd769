"""AdmissionReviews of admission.k8s.io/v1: what comes in, and the answer that goes out."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from vacate.api.identity import User
from vacate.api.objects import Obj, copied, encode
from vacate.api.status import to_status
from vacate.errors import ApiError, BadRequest
from vacate.wire.json import parse_json

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"


class Resource(msgspec.Struct, frozen=True):
    """Which collection a review is about."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks, as the API server identified them."""

    username: str = ""
    uid: str | None = None
    groups: list[str] | None = None
    extra: dict[str, list[str] | None] | None = None

    def user(self) -> User:
        """The same as everyone here knows users."""
        extra = {key: tuple(values or ()) for key, values in (self.extra or {}).items()}
        return User(self.username, tuple(self.groups or ()), self.uid or "", extra)


class AdmissionRequest(msgspec.Struct, rename="camel", frozen=True):
    """One write that waits for a verdict."""

    uid: str
    resource: Resource
    operation: str
    user_info: UserInfo
    sub_resource: str | None = None
    name: str | None = None
    namespace: str | None = None
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    dry_run: bool | None = None

    @property
    def user(self) -> User:
        """Who asks."""
        return self.user_info.user()

    def new(self) -> Obj:
        """The object as it would be written, a copy; BadRequest where the review has none."""
        return _copied(self.object, "object")

    def old(self) -> Obj:
        """The object as it is, a copy; BadRequest where the review has none."""
        return _copied(self.old_object, "oldObject")


class _Review(msgspec.Struct, rename="camel", frozen=True):
    api_version: str
    kind: str
    request: AdmissionRequest


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The answer: yes, yes with changes, or no and why."""

    refusal: ApiError | None = None
    patch: Sequence[Obj] = ()
    result: Obj | None = None  # the object as the patch leaves it; None where it is left as it was
    warnings: Sequence[str] = ()

    @property
    def allowed(self) -> bool:
        """Whether the write may go on."""
        return self.refusal is None


ALLOWED = ReviewResult()


def read_review(body: bytes) -> AdmissionRequest:
    """The request within a review, or BadRequest."""
    try:
        review = msgspec.convert(parse_json(body), _Review)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body is not an {KIND}: {error}") from None
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        given = f"{review.kind[:100]} of {review.api_version[:100]}"
        raise BadRequest(f"the body is a {given}, and only {KIND} of {API_VERSION} is answered")
    return review.request


def write_review(uid: str, verdict: ReviewResult) -> bytes:
    """The review with the answer, ready to send."""
    response: Obj = {"uid": uid, "allowed": verdict.allowed}
    if verdict.refusal is not None:
        response["status"] = to_status(verdict.refusal)
    elif verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(list(verdict.patch))).decode()
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    return encode({"kind": KIND, "apiVersion": API_VERSION, "response": response})


def _copied(found: Obj | None, field: str) -> Obj:
    if found is None:
        raise BadRequest(f"the review has no {field}")
    return copied(found)
