"""AdmissionReviews of admission.k8s.io/v1: what comes in, and the answer that goes out."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import orjson

from vacate.api.identity import User
from vacate.api.objects import Obj, encode
from vacate.api.status import shortened, to_status
from vacate.errors import ApiError, BadRequest
from vacate.wire.json import parse_json

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
MAX_ERRORS = 20
"""How many errors a refusal lists."""
MAX_USER_BYTES = 256 * 1024
"""More than the name, groups and extras of a user take; API servers read them from headers and tokens."""
_NOTHING = msgspec.Raw(b"null")


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


class AdmissionRequest(msgspec.Struct, rename="camel", frozen=True, dict=True):
    """One write that waits for a verdict. Its objects are decoded when they are first read."""

    uid: str
    resource: Resource
    operation: str
    encoded_user_info: msgspec.Raw = msgspec.field(name="userInfo")
    sub_resource: str | None = None
    name: str | None = None
    namespace: str | None = None
    encoded_object: msgspec.Raw = msgspec.field(default=_NOTHING, name="object")
    encoded_old_object: msgspec.Raw = msgspec.field(default=_NOTHING, name="oldObject")
    encoded_options: msgspec.Raw = msgspec.field(default=_NOTHING, name="options")
    dry_run: bool | None = None

    @cached_property
    def user_info(self) -> UserInfo:
        """Who asks, as the review has it; BadRequest where it is not readable, or larger than any is."""
        if len(self.encoded_user_info) > MAX_USER_BYTES:
            raise BadRequest(f"the userInfo of the review has more than {MAX_USER_BYTES} bytes")
        return msgspec.json.decode(self.encoded_user_info, type=UserInfo)

    @property
    def user(self) -> User:
        """Who asks."""
        return self.user_info.user()

    @property
    def size(self) -> int:
        """The bytes of its objects: what it costs to look at them."""
        return len(self.encoded_object) + len(self.encoded_old_object) + len(self.encoded_options)

    @cached_property
    def object(self) -> Obj | None:
        """The object as it would be written, not to be changed; BadRequest where it is none."""
        return _decoded(self.encoded_object, "object")

    @cached_property
    def old_object(self) -> Obj | None:
        """The object as it is, likewise."""
        return _decoded(self.encoded_old_object, "oldObject")

    @cached_property
    def options(self) -> Obj | None:
        """The options of the write, likewise."""
        return _decoded(self.encoded_options, "options")

    def decode(self) -> None:
        """Look at all of it now."""
        _ = self.object, self.old_object, self.options

    def new(self) -> Obj:
        """The object as it would be written; BadRequest where the review has none."""
        return _present(self.object, "object")

    def old(self) -> Obj:
        """The object as it is; BadRequest where the review has none."""
        return _present(self.old_object, "oldObject")


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
_DECODER = msgspec.json.Decoder(_Review)


def read_review(body: bytes) -> AdmissionRequest:
    """The request within a review, or BadRequest."""
    try:
        review = _DECODER.decode(body)
        _ = review.request.user_info
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body is not an {KIND}: {error}") from None
    except msgspec.DecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        given = f"{review.kind[:100]} of {review.api_version[:100]}"
        raise BadRequest(f"the body is a {given}, and only {KIND} of {API_VERSION} is answered")
    return review.request


def write_review(uid: str, verdict: ReviewResult) -> bytes:
    """The review with the answer, ready to send."""
    response: Obj = {"uid": uid, "allowed": verdict.allowed}
    if verdict.refusal is not None:
        response["status"] = shortened(to_status(verdict.refusal), MAX_ERRORS)
    elif verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(list(verdict.patch))).decode()
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    return encode({"kind": KIND, "apiVersion": API_VERSION, "response": response})


def _decoded(encoded: msgspec.Raw, field: str) -> Obj | None:
    found = parse_json(bytes(encoded))
    if not isinstance(found, dict | None):
        raise BadRequest(f"the {field} of the review is no object")
    return found


def _present(found: Obj | None, field: str) -> Obj:
    if found is None:
        raise BadRequest(f"the review has no {field}")
    return found
