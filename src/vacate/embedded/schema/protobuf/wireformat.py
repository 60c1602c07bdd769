"""The wire form of protobuf: numbered fields, nothing of their meaning."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


class ProtobufError(ValueError):
    """The bytes are no message of the expected kind."""


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Number, wire type and raw value of each field: a number for varints, the bytes for everything else."""
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise ProtobufError("illegal tag 0")
        if wire_type == VARINT:
            value, position = varint(data, position)
            yield number, wire_type, value
            continue
        size, position = _size(data, position, wire_type)
        if position + size > end:
            raise ProtobufError("unexpected EOF")
        yield number, wire_type, data[position : position + size]
        position += size


def _size(data: memoryview, position: int, wire_type: int) -> tuple[int, int]:
    if wire_type == BYTES:
        return varint(data, position)
    if wire_type == FIXED64:
        return 8, position
    if wire_type == FIXED32:
        return 4, position
    raise ProtobufError(f"illegal wireType {wire_type}")


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned number and the position behind it."""
    value = shift = 0
    for byte in data[position : position + _MAX_VARINT_BYTES]:
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
    raise ProtobufError("unexpected EOF" if shift < 70 else "integer overflow")


def signed(value: int) -> int:
    """A varint as the two's complement that it stands for."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= 1 << 63 else value


def double(data: memoryview) -> float:
    """Eight bytes as a floating point number."""
    (value,) = struct.unpack("<d", data)
    return float(value)
