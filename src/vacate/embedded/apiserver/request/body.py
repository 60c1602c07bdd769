"""Bodies: from bytes to an object of the expected kind, or one clear refusal."""

from __future__ import annotations

from typing import Any

import orjson

from vacate.api.kinds import Kind
from vacate.api.objects import Obj, copied
from vacate.embedded import schema
from vacate.embedded.apiserver.fieldvalidation import FieldValidation
from vacate.embedded.apiserver.lenientjson import mended
from vacate.embedded.apiserver.limits import check_size, may_be_large
from vacate.embedded.apiserver.request.negotiation import check_content_type
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.schema import protobuf
from vacate.embedded.schema.mismatch import mismatch
from vacate.errors import BadRequest
from vacate.wire.json import check_depth, may_nest_deeply
from vacate.wire.mediatypes import media_type
from vacate.wire.message import Request

_SERVED = {(kind.api_version, kind.kind): kind for kind in SERVED_KINDS}
_SUMMARY_BYTES = 30


class Unreadable(BadRequest):
    """Bytes in which no object can be seen."""

    def of(self, kind: str, body: bytes) -> BadRequest:
        """The refusal, with the kind that was expected and a glance at what came."""
        message = f"the object provided is unrecognized (must be of type {kind}): {self.message}"
        return BadRequest(f"{message} ({_summary(body)})")


def read_body(request: Request) -> Any:
    """The body's value, within limits: JSON, or the protobuf form that Go clients send."""
    content_type = request.headers.get("Content-Type", "")
    if media_type(content_type) == protobuf.MEDIA_TYPE:
        value = _parse_protobuf(request.body)
        check_size(value)
        return value
    check_content_type(content_type)
    value = parse_json(request.body)
    if may_be_large(request.body):
        check_size(value)
    return value


def _parse_protobuf(body: bytes) -> Any:
    try:
        return protobuf.decode_object(body)
    except protobuf.ProtobufError as error:
        raise BadRequest(f"the object provided is unrecognized: {error}") from None


def parse_json(body: bytes) -> Any:
    """JSON as a server of Go reads it, with a limit on nesting; BadRequest for everything else."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        value = _parse_odd(body, str(error))
    if may_nest_deeply(body):
        check_depth(value)
    return value


def _parse_odd(body: bytes, why: str) -> Any:
    """What orjson does not read: mostly no JSON at all, and at times JSON that Go reads with less care."""
    try:
        return mended(body)
    except orjson.JSONDecodeError:
        raise Unreadable(f"couldn't get version/kind; json parse error: {why}") from None


def read_object(request: Request, kind: Kind, validation: FieldValidation | None = None) -> Obj:
    """The body as an object of the kind; missing kind and apiVersion are taken from the address.

    Fields that the kind does not have are dropped, and refused or noted where the client wants it.
    """
    try:
        return typed(read_body(request), kind, validation)
    except Unreadable as error:
        raise error.of(kind.kind, request.body) from None


def typed(value: Any, kind: Kind, validation: FieldValidation | None = None) -> Obj:
    """An object of the kind with fields of the right JSON types and no nulls, or BadRequest."""
    unknown = None if validation is None else validation.unknown
    obj = schema.decode(kind, identified(value, kind), unknown)
    if validation is not None and validation.refusal:
        raise schema.refusal(kind, validation.refusal)
    obj.setdefault("metadata", {})
    return obj


def identified(value: Any, kind: Kind) -> Obj:
    """An object that says it is of the kind, or says nothing of the sort; BadRequest otherwise."""
    check_object(value)
    obj: Obj = {"kind": _text(value, "kind") or kind.kind}
    obj["apiVersion"] = _text(value, "apiVersion") or kind.api_version
    obj.update((key, item) for key, item in value.items() if key not in obj)
    _check_identity(obj, kind)
    return obj


def check_object(value: Any) -> None:
    """Refuse JSON that is no object."""
    if not isinstance(value, dict):
        raise Unreadable(f"couldn't get version/kind; json parse error: {mismatch('struct', value)}")


def _check_identity(obj: Obj, kind: Kind) -> None:
    given, version = obj["kind"], obj["apiVersion"]
    if why := misfit(obj, kind):
        short = version.rpartition("/")[2]
        raise BadRequest(f'{given} in version "{short}" cannot be handled as a {kind.kind}: {why}')


def misfit(obj: Obj, kind: Kind) -> str:
    """Why an object is not one of the kind by its own words, or nothing.

    It is read as what it says that it is, and so the errors of that come first.
    """
    version, given = obj["apiVersion"], obj["kind"]
    if (version, given) == (kind.api_version, kind.kind):
        return ""
    other = _SERVED.get((version, given))
    if other is None:
        return f'no kind "{given}" is registered for version "{version}"'
    if field_errors := schema.settle(other, copied(obj)):
        return field_errors[0]
    return f"expected the kind {kind.kind} of {kind.api_version}"


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    more = " ..." if len(body) > _SUMMARY_BYTES else ""
    start = body[:_SUMMARY_BYTES]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return f"{shown}{more}"


def _text(value: Obj, field: str) -> str:
    found = value.get(field, "")
    if not isinstance(found, str):
        raise Unreadable(f"couldn't get version/kind; json parse error: {mismatch('string', found, field)}")
    return found
