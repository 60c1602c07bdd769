"""Refusals of patches, with the codes and reasons of kube-apiserver."""

from __future__ import annotations

from typing import Any

import orjson

from vacate.api.fielderrors import FieldError
from vacate.embedded.schema.mismatch import mismatch
from vacate.errors import ApiError, BadRequest, Invalid


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


def bad_type(form: str, actual: Any) -> ApiError:
    """A value of a strategic merge patch has another type than its place takes."""
    return failed(mismatch(form, actual))


def no_merge_key(item: dict[str, Any], key: str) -> ApiError:
    """An item of a list that merges by key has no key."""
    return failed(f"{shown(item)} does not contain the merge key {key}")


def bad_directive(directive: Any, patch: dict[str, Any]) -> ApiError:
    """`$patch` says something unknown."""
    return failed(f"unknown patch type {shown(directive)} in {shown(patch)}")


def shown(value: Any) -> str:
    """A value as JSON."""
    return orjson.dumps(value).decode()
