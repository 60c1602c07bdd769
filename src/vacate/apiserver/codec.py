"""Bodies: from bytes to an object of the expected kind, or one clear refusal."""

from __future__ import annotations

from typing import Any

import orjson

from vacate.api import protobuf, schema
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.apiserver.media import check_content_type, media_type
from vacate.errors import BadRequest
from vacate.wire.message import Request

MAX_BODY_BYTES = 3 * 1024 * 1024
"""As kube-apiserver: larger bodies are refused with 413."""

MAX_DEPTH = 100
"""How deeply an object may nest. Far beyond any API type, far below the interpreter's own limit."""


def read_body(request: Request) -> Any:
    """The body's value, within limits: JSON, or the protobuf form that Go clients send."""
    content_type = request.headers.get("Content-Type", "")
    if media_type(content_type) == protobuf.MEDIA_TYPE:
        return _parse_protobuf(request.body)
    check_content_type(content_type)
    return parse_json(request.body)


def _parse_protobuf(body: bytes) -> Any:
    try:
        return protobuf.decode_object(body)
    except protobuf.ProtobufError as error:
        raise BadRequest(f"the object provided is unrecognized: {error}") from None


def parse_json(body: bytes) -> Any:
    """JSON with a limit on nesting; BadRequest for everything else."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from None
    # What opens so few brackets cannot nest too deeply, and nearly every body opens few.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Refuse what nests too deeply, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise BadRequest(f"the object nests more than {MAX_DEPTH} levels deep")


def read_object(request: Request, kind: Kind) -> Obj:
    """The body as an object of the kind; missing kind and apiVersion are taken from the address."""
    return typed(read_body(request), kind)


def typed(value: Any, kind: Kind) -> Obj:
    """An object of the kind with fields of the right JSON types and no nulls, or BadRequest."""
    obj = schema.decode(kind, identified(value, kind))
    obj.setdefault("metadata", {})
    return obj


def identified(value: Any, kind: Kind) -> Obj:
    """An object that says it is of the kind, or says nothing of the sort; BadRequest otherwise."""
    if not isinstance(value, dict):
        raise BadRequest(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{json_type(value)} into Go value of type struct {{ APIVersion string; Kind string }}"
        )
    obj: Obj = {"kind": _text(value, "kind") or kind.kind}
    obj["apiVersion"] = _text(value, "apiVersion") or kind.api_version
    obj.update((key, item) for key, item in value.items() if key not in obj)
    _check_identity(obj, kind)
    return obj


def _check_identity(obj: Obj, kind: Kind) -> None:
    if obj["kind"] != kind.kind:
        version = obj["apiVersion"].rpartition("/")[2]
        raise BadRequest(
            f'{obj["kind"]} in version "{version}" cannot be handled as a {kind.kind}: '
            f"the address takes objects of kind {kind.kind}"
        )
    if obj["apiVersion"] != kind.api_version:
        raise BadRequest(
            f"the API version in the data ({obj['apiVersion']}) does not match the expected API version "
            f"({kind.api_version})"
        )


def _text(value: Obj, field: str) -> str:
    found = value.get(field, "")
    if not isinstance(found, str):
        raise BadRequest(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_type(found)} "
            f"into Go struct field .{field} of type string"
        )
    return found


def json_type(value: Any) -> str:
    """What JSON calls the type of a value, in the words of Go's decoder."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "null"
