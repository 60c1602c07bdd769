"""Refusals of patches in the words of kube-apiserver, which shows values as Go prints them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from vacate.api.fielderrors import FieldError
from vacate.errors import ApiError, BadRequest, Invalid

_GO_TYPES: dict[type, str] = {
    dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64",
    float: "float64",
}  # fmt: skip
_JSON_TYPES: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "bool"}


def rejected() -> Invalid:
    """422 for a patch that does not apply; the server does not say why."""
    return Invalid("the server rejected our request due to an error in our request", details={})


def unusable(field_error: FieldError) -> Invalid:
    """422 for a patch whose outcome is no object of the kind."""
    return Invalid(f' "" is invalid: {field_error}', details={"causes": [field_error.cause()]})


def bad_format(directive: str) -> BadRequest:
    """400 for a directive of a strategic merge patch that is not shaped as it must be."""
    return BadRequest(f"invalid patch format of {directive}")


def too_deep() -> BadRequest:
    """400 for nesting beyond what can be stored."""
    return BadRequest("exceeded max depth")


def failed(message: str) -> ApiError:
    """500 without a reason: what the server answers where a strategic merge patch makes no sense."""
    return ApiError(message)


def bad_type(expected: type, actual: Any) -> ApiError:
    """A value of a strategic merge patch has another type than its place asks for."""
    received = "%!s(<nil>)" if actual is None else _GO_TYPES.get(type(actual), "")
    return failed(f"expected a {_GO_TYPES[expected]}, but received a {received}")


def no_merge_key(item: dict[str, Any], key: str) -> ApiError:
    """An item of a list that merges by key has no key."""
    return failed(f"map: {go_text(item)} does not contain declared merge key: {key}")


def bad_directive(directive: Any, patch: dict[str, Any]) -> ApiError:
    """`$patch` says something unknown."""
    return failed(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def not_an_object(document: Any) -> str:
    """The decoder's words for a patch that is no JSON object."""
    return f"json: cannot unmarshal {json_type(document)} into Go value of type map[string]interface {{}}"


def json_type(value: Any) -> str:
    """What the decoder calls the type of a value."""
    return _JSON_TYPES.get(type(value), "number")


def go_text(value: Any) -> str:
    """A value as Go's `%v` prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, float):
        return _go_float(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _go_float(value: float) -> str:
    """The shortest form, with an exponent only where it is below -4 or above 20."""
    if not value or 1e-4 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+03d}"
