"""From protobuf bytes to the dict that the same object has in JSON."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from vacate.api.objects import Obj
from vacate.api.times import format_micro_time, format_time
from vacate.embedded.schema.protobuf.table import SCALARS, Field, table
from vacate.embedded.schema.protobuf.wireformat import (
    BYTES,
    FIXED64,
    VARINT,
    ProtobufError,
    double,
    fields,
    signed,
)

__all__ = ["MEDIA_TYPE", "ProtobufError", "decode_object"]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_MAX_DEPTH = 100
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def decode_object(body: bytes) -> Obj:
    """An object with kind and apiVersion; ProtobufError where the bytes are none that we know."""
    if not body.startswith(_MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00"
        )
    api_version, kind, raw = _envelope(memoryview(body)[len(_MAGIC) :])
    message = table().kinds.get((api_version, kind))
    if message is None and kind == "DeleteOptions":
        message = "meta.v1.DeleteOptions"
    if message is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"kind": kind, "apiVersion": api_version, **_message(raw, message, 0)}


def _envelope(data: memoryview) -> tuple[str, str, memoryview]:
    """The wrapper around every object: its type, and its bytes."""
    names = {1: "", 2: ""}
    raw = memoryview(b"")
    for number, wire_type, value in fields(data):
        if wire_type != BYTES or isinstance(value, int):
            raise ProtobufError(f"wrong wireType {wire_type} in the envelope")
        if number == 1:
            names |= {inner: _text(text) for inner, _, text in fields(value)}
        elif number == 2:
            raw = value
    return names[1], names[2], raw


def _message(data: memoryview, name: str, depth: int) -> Obj:
    if depth > _MAX_DEPTH:
        raise ProtobufError(f"the object is nested more than {_MAX_DEPTH} levels deep")
    known = table().messages[name]
    obj: Obj = {}
    for number, wire_type, raw in fields(data):
        field = known.get(number)
        if field is not None:
            _set(obj, field, wire_type, raw, depth)
    return obj


def _set(obj: Obj, field: Field, wire_type: int, raw: int | memoryview, depth: int) -> None:
    if field.mapped:
        key, value = _pair(raw, field, depth)
        obj.setdefault(field.name, {})[key] = value
        return
    value = _value(field.type, wire_type, raw, depth)
    if field.inlined:
        obj.update(value)
    elif field.repeated:
        obj.setdefault(field.name, []).append(value)
    elif value is not None and not (field.drops_zero and not value):
        obj[field.name] = value


def _pair(raw: int | memoryview, field: Field, depth: int) -> tuple[str, Any]:
    if isinstance(raw, int):
        raise ProtobufError(f"{field.name} is no map")
    key = ""
    value: Any = "" if field.type == "string" else None
    for number, wire_type, part in fields(raw):
        if number == 1:
            key = _text(part)
        elif number == 2:
            value = _value(field.type, wire_type, part, depth)
    return key, value


def _value(type_: str, wire_type: int, raw: int | memoryview, depth: int) -> Any:
    if type_ in SCALARS:
        return _scalar(type_, wire_type, raw)
    if isinstance(raw, int) or wire_type != BYTES:
        raise ProtobufError(f"wrong wireType {wire_type} for a message")
    special = _SPECIAL.get(type_)
    return special(raw) if special else _message(raw, type_, depth + 1)


def _scalar(type_: str, wire_type: int, raw: int | memoryview) -> Any:
    if isinstance(raw, int):
        if wire_type == VARINT and type_ in ("bool", "int32", "int64"):
            return bool(raw) if type_ == "bool" else signed(raw)
    elif wire_type == FIXED64 and type_ == "double":
        return double(raw)
    elif wire_type == BYTES and type_ == "string":
        return _text(raw)
    elif wire_type == BYTES and type_ == "bytes":
        return base64.b64encode(raw).decode()
    raise ProtobufError(f"wrong wireType {wire_type} for a field of type {type_}")


def _text(raw: int | memoryview) -> str:
    if isinstance(raw, int):
        raise ProtobufError("wrong wireType for a text")
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError:
        raise ProtobufError("a text is not UTF-8") from None


def _parts(raw: memoryview) -> dict[int, int | memoryview]:
    return {number: value for number, _, value in fields(raw)}


def _number(value: int | memoryview | None) -> int:
    return signed(value) if isinstance(value, int) else 0


def _moment(raw: memoryview) -> dt.datetime | None:
    """A time; the zero time, which Go encodes as nothing, is none."""
    parts = _parts(raw)
    if not parts:
        return None
    try:
        return _EPOCH + dt.timedelta(
            seconds=_number(parts.get(1)), microseconds=_number(parts.get(2)) // 1000
        )
    except OverflowError:
        raise ProtobufError("a time is out of range") from None


def _time(raw: memoryview) -> str | None:
    moment = _moment(raw)
    return None if moment is None else format_time(moment)


def _micro_time(raw: memoryview) -> str | None:
    moment = _moment(raw)
    return None if moment is None else format_micro_time(moment)


def _quantity(raw: memoryview) -> str:
    return _text(_parts(raw).get(1, memoryview(b"")))


def _int_or_string(raw: memoryview) -> int | str:
    parts = _parts(raw)
    if _number(parts.get(1)):
        return _text(parts.get(3, memoryview(b"")))
    return _number(parts.get(2))


def _raw_json(raw: memoryview) -> Any:
    inner = _parts(raw).get(1, memoryview(b"{}"))
    try:
        return orjson.loads(_text(inner))
    except orjson.JSONDecodeError as error:
        raise ProtobufError(f"embedded JSON: {error}") from None


def _texts(raw: memoryview) -> list[str]:
    return [_text(value) for number, _, value in fields(raw) if number == 1]


_SPECIAL: Mapping[str, Callable[[memoryview], Any]] = {
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _micro_time,
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "meta.v1.FieldsV1": _raw_json,
    "runtime.RawExtension": _raw_json,
    "authorization.v1.ExtraValue": _texts,
    "authentication.v1.ExtraValue": _texts,
}
