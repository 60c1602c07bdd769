"""One quick look over an object: is every known field of its right type, and would decoding change anything?

Types are compiled on first use into nested nodes. Plain strings and booleans are compared by their Python
type without a call, which is what most of an object consists of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from vacate.api.integers import LIMITS
from vacate.api.quantity import parse_quantity
from vacate.embedded.schema import times
from vacate.embedded.schema.omitempty import omitted_when_zero, vanishes_when_empty, written_as_null
from vacate.embedded.schema.table import Field, Shape, Struct, table

CLEAN, CHANGES, WRONG, UNKNOWN = 0, 1, 2, 4
"""Nothing to do; decoding would give another object; it would fail; it would drop fields that the type does
not have. Combined with `|`."""

Scan = Callable[[Any], int]
Node = Scan | type
_PLAIN: dict[str, type] = {"string": str, "bool": bool}
_CONTAINERS: dict[str, type] = {"list": list, "map": dict}
_BASE64 = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@cache
def scanner(type_name: str) -> Scan:
    """The scan of a struct; its fields are compiled when the first object passes."""
    fields: dict[str, Node] = {}
    struct = table().structs[type_name]
    nulls = written_as_null(struct.name)

    def scan(value: Any) -> int:
        if type(value) is not dict:
            return WRONG
        if not fields:
            fields.update(_fields(struct))
        return _scan_fields(fields, nulls, value)

    return scan


def is_wrong(shape: Shape, value: Any) -> bool:
    """Whether a value is none of the shape."""
    node = _node(shape)
    return type(value) is not node if isinstance(node, type) else bool(node(value) & WRONG)


def _fields(struct: Struct) -> Mapping[str, Node]:
    return {name: _of_field(struct, field) for name, field in struct.fields.items()}


def _of_field(struct: Struct, field: Field) -> Node:
    if omitted_when_zero(struct.name, field.name):
        return _zero_dropped(_node(field.shape))
    return _droppable(field.shape) if vanishes_when_empty(struct.name, field) else _node(field.shape)


def _zero_dropped(node: Node) -> Scan:
    """A scalar that Go leaves out where it is zero."""
    if isinstance(node, type):
        return lambda value: WRONG if type(value) is not node else CLEAN if value else CHANGES
    return lambda value: node(value) or (CLEAN if value else CHANGES)


def _scan_fields(fields: Mapping[str, Node], nulls: frozenset[str], value: dict[str, Any]) -> int:
    found, lookup = CLEAN, fields.get
    for key, item in value.items():
        node = lookup(key)
        if type(item) is node:
            continue
        if node is None:
            found |= UNKNOWN
        elif item is None:
            if key not in nulls:
                found |= CHANGES
        elif isinstance(node, type):
            return WRONG
        else:
            found |= node(item)
    return found


def _node(shape: Shape) -> Node:
    if shape.form in _PLAIN:
        return _PLAIN[shape.form]
    if shape.form == "struct":
        return scanner(shape.type_name)
    if shape.form == "list":
        return _list(_node(_inner(shape)))
    if shape.form == "map":
        return _map(_node(_inner(shape)))
    if shape.form in LIMITS:
        return _integer(shape.form)
    return _SCALARS[shape.form]


def _droppable(shape: Shape) -> Node:
    """Lists and maps are not kept when empty."""
    node = _node(shape)
    container = _CONTAINERS.get(shape.form)
    if container is None or isinstance(node, type):
        return node
    return lambda value: node(value) if value or type(value) is not container else CHANGES


def _inner(shape: Shape) -> Shape:
    assert shape.inner is not None
    return shape.inner


def _list(node: Node) -> Scan:
    def scan(value: Any) -> int:
        return _scan_items(node, value) if type(value) is list else WRONG

    return scan


def _map(node: Node) -> Scan:
    def scan(value: Any) -> int:
        return _scan_items(node, value.values()) if type(value) is dict else WRONG

    return scan


def _scan_items(node: Node, items: Any) -> int:
    found = CLEAN
    for item in items:
        if item is None:
            found |= CHANGES
        elif isinstance(node, type):
            if type(item) is not node:
                return WRONG
        else:
            found |= node(item)
    return found


@cache
def _integer(form: str) -> Scan:
    least, most = LIMITS[form]
    return lambda value: CLEAN if type(value) is int and least <= value <= most else WRONG


def _int_or_string(value: Any) -> int:
    return CLEAN if type(value) is str else _integer("int32")(value)


def _quantity(value: Any) -> int:
    if type(value) not in (str, int, float):
        return WRONG
    try:
        return CLEAN if str(parse_quantity(value)) == value else CHANGES
    except ValueError:
        return CHANGES if type(value) is str and _parses(value.strip()) else WRONG


def _parses(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _moment(*, micro: bool) -> Scan:
    def scan(value: Any) -> int:
        if type(value) is not str:
            return WRONG
        try:
            canonical = times.canonical(value, micro=micro)
        except ValueError:
            return WRONG
        return CLEAN if canonical == value and not times.is_zero(value) else CHANGES

    return scan


def is_base64(text: str) -> bool:
    """Whether the text encodes bytes."""
    return _BASE64.fullmatch(text) is not None


def _bytes(value: Any) -> int:
    return CLEAN if type(value) is str and is_base64(value) else WRONG


_SCALARS: dict[str, Scan] = {
    "any": lambda _: CLEAN,
    "float": lambda value: CLEAN if type(value) in (int, float) else WRONG,
    "quantity": _quantity,
    "time": _moment(micro=False),
    "microtime": _moment(micro=True),
    "intorstring": _int_or_string,
    "bytes": _bytes,
}
