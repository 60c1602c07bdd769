"""From a map to a typed object without JSON in between, as kube-apiserver does it after a strategic merge.

It is laxer than decoding: whole floats are numbers. What it refuses it refuses in other words, and it stops
at the first error, in the order of Go's fields. Numbers out of the range of their field are refused, where
kube-apiserver lets them wrap around: what a field may hold does not depend on how it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from vacate.api.integers import fits, whole
from vacate.api.objects import Obj
from vacate.api.quantity import FORMAT_WRONG, parse_quantity
from vacate.embedded.schema import times
from vacate.embedded.schema.omitempty import field_order, go_field
from vacate.embedded.schema.scan import is_base64
from vacate.embedded.schema.table import Field, Shape, Struct, TypeRef, table

_KINDS: dict[type, str] = {dict: "map", list: "slice", str: "string", bool: "bool", float: "float64"}
_GO_SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "float": "float64"}
_JSON_NAMES: dict[type, str] = {str: "string", list: "array", dict: "object", bool: "bool"}


class Unrestorable(ValueError):
    """A value of a wrong type, in the server's words."""


class _OutOfRange(Unrestorable):
    """A number that its field cannot hold; structs above it add the way to the field."""

    def __init__(self, path: str, number: int, form: str) -> None:
        super().__init__(f"{path}: {number} is out of the range of {form}")
        self.path, self.number, self.form = path, number, form

    def below(self, name: str) -> _OutOfRange:
        """The same, seen from further above."""
        return _OutOfRange(f"{name}.{self.path}" if self.path else name, self.number, self.form)


def restore(kind: TypeRef, obj: Obj) -> None:
    """Make integers of whole floats where fields want them; Unrestorable at the first wrong value."""
    struct = table().struct_of(kind)
    if struct is not None:
        _struct(struct, obj)


def _struct(struct: Struct, value: Any) -> Any:
    if type(value) is not dict:
        raise Unrestorable(f"cannot restore struct from: {_kind(value)}")
    for field in _in_order(struct):
        if value.get(field.name) is not None:
            try:
                value[field.name] = _value(field.shape, value[field.name], _scalar_name(struct, field))
            except _OutOfRange as error:
                raise error.below(field.name) from None
    return value


def _in_order(struct: Struct) -> Iterator[Field]:
    known = [name for name in field_order(struct.name) if name in struct.fields]
    for name in dict.fromkeys((*known, *struct.fields)):
        yield struct.fields[name]


def _scalar_name(struct: Struct, field: Field) -> str:
    known = go_field(struct.name, field.name)
    return known.go_type if known is not None else ""


def _value(shape: Shape, value: Any, go_type: str) -> Any:
    if value is None or shape.form == "any":
        return value
    if shape.form == "struct":
        return _struct(table().structs[shape.type_name], value)
    if shape.inner is not None:
        return _items(shape, shape.inner, value, go_type)
    if shape.form in _GO_SCALARS:
        return _scalar(shape.form, value, go_type)
    return _special(shape.form, value)


def _items(shape: Shape, inner: Shape, value: Any, go_type: str) -> Any:
    if type(value) is not (list if shape.form == "list" else dict):
        raise Unrestorable(f"cannot restore {'slice' if shape.form == 'list' else 'map'} from {_kind(value)}")
    if isinstance(value, dict):
        return {key: _value(inner, item, go_type) for key, item in value.items()}
    return [_value(inner, item, go_type) for item in value]


def _scalar(form: str, value: Any, go_type: str) -> Any:
    wanted = _GO_SCALARS[form]
    if form in ("string", "bool"):
        if type(value) is (str if form == "string" else bool):
            return value
        # Go could make a text of a number, a single character, which is not what anybody means.
        if form == "string" and type(value) is int:
            raise Unrestorable(f"cannot convert int64 to {go_type or wanted}")
    elif type(value) in (int, float):
        if form == "float":
            return value
        found = whole(value)
        if type(found) is float:
            raise Unrestorable(f"cannot convert float64 to {go_type or wanted}")
        if not fits(found, form):
            raise _OutOfRange("", found, wanted)
        return found
    raise Unrestorable(f"unrecognized type: {wanted}")


def _special(form: str, value: Any) -> Any:
    """What decodes itself does so from JSON, and says what the decoder says of a value on its own."""
    if form == "bytes":
        _check_bytes(value)
    elif form == "quantity":
        _check_quantity(value)
    elif form == "intorstring":
        return _int_or_string(value)
    elif type(value) is not str:
        raise _unmarshal(value, "string")
    else:
        _check_moment(value, micro=form == "microtime")
    return value


def _int_or_string(value: Any) -> str | int:
    if type(value) is str:
        return value
    number = whole(value)
    if type(number) is int and fits(number, "int32"):
        return number
    raise _unmarshal(value, "int32", number=True)


def _check_bytes(value: Any) -> None:
    if type(value) is not str:
        raise Unrestorable(f"cannot restore slice from {_kind(value)}")
    if not is_base64(value):
        raise Unrestorable("error decoding from json: illegal base64 data at input byte 0")


def _check_quantity(value: Any) -> None:
    if type(value) not in (str, int, float):
        raise Unrestorable(FORMAT_WRONG)
    try:
        parse_quantity(value.strip() if isinstance(value, str) else value)
    except ValueError as error:
        raise Unrestorable(str(error)) from None


def _check_moment(value: str, *, micro: bool) -> None:
    try:
        times.canonical(value, micro=micro)
    except ValueError as error:
        raise Unrestorable(str(error)) from None


def _unmarshal(value: Any, go_type: str, *, number: bool = False) -> Unrestorable:
    name = _JSON_NAMES.get(type(value)) or (f"number {json_number(value)}" if number else "number")
    return Unrestorable(f"json: cannot unmarshal {name} into Go value of type {go_type}")


def json_number(value: float) -> str:
    """A number as Go writes it in JSON: with an exponent only where it is very small or very large."""
    if isinstance(value, int) or not value:
        return f"{value:.0f}"
    digits, _, exponent = repr(value).partition("e")
    if 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "int64")
