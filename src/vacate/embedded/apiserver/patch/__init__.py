"""Patches: from an object and a patch's bytes to the object that it makes, or a server's refusal."""

from __future__ import annotations

from typing import Any

import orjson

from vacate.api import fielderrors
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, copied
from vacate.embedded import schema
from vacate.embedded.apiserver.fieldvalidation import FieldValidation
from vacate.embedded.apiserver.limits import check_size, may_be_large
from vacate.embedded.apiserver.patch import refusals
from vacate.embedded.apiserver.patch.jsonpatch import apply_json_patch
from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch
from vacate.embedded.apiserver.patch.strategic import apply_strategic_patch
from vacate.embedded.apiserver.request.body import misfit
from vacate.embedded.schema.mismatch import mismatch
from vacate.embedded.schema.wholenumbers import make_whole
from vacate.errors import BadRequest, UnsupportedMedia
from vacate.wire.json import check_depth, may_nest_deeply

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
ACCEPTED = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH)

__all__ = ["ACCEPTED", "JSON_PATCH", "MERGE_PATCH", "STRATEGIC_MERGE_PATCH", "apply_patch"]


def apply_patch(
    media_type: str, kind: Kind, original: Obj, patch: bytes, validation: FieldValidation | None = None
) -> Obj:
    """The patched object, which shares nothing with the original and has fields of the right types.

    Raises the ApiError that a server answers with: UnsupportedMedia, BadRequest, RequestTooLarge, Invalid.
    """
    form = media_type.partition(";")[0]
    check_form(form)
    document = _read(patch)
    if form != JSON_PATCH and may_be_large(patch):
        check_size(document)
    working = copied(original)
    unknown = validation or FieldValidation()
    try:
        if form == STRATEGIC_MERGE_PATCH:
            return _strategic(kind, working, document, patch.decode(), unknown)
        result = apply_json_patch(working, document) if form == JSON_PATCH else _merge(working, document)
        return _decoded(kind, result, unknown)
    except RecursionError:
        raise refusals.too_deep() from None


def check_form(form: str) -> None:
    """Refuse what is no form of patches at all."""
    if form not in ACCEPTED:
        raise UnsupportedMedia("415: Unsupported Media Type", details={})


def _read(patch: bytes) -> Any:
    try:
        document = orjson.loads(patch)
    except orjson.JSONDecodeError:
        raise BadRequest("invalid JSON patch") from None
    _encoded(document)
    return document


def _merge(working: Obj, document: Any) -> Obj:
    if document is None:
        raise BadRequest("Invalid JSON Patch")
    if not isinstance(document, dict):
        raise BadRequest(f"error decoding patch: {mismatch('map', document)}")
    return apply_merge_patch(working, document)


def _strategic(kind: Kind, working: Obj, document: Any, text: str, validation: FieldValidation) -> Obj:
    if not isinstance(document, dict | None):
        raise BadRequest(mismatch("map", document))
    result = apply_strategic_patch(schema.table().struct_of(kind), working, document or {})
    _limited(result)
    # A typed object cannot change what it is, whatever the patch says.
    result["apiVersion"], result["kind"] = kind.api_version, kind.kind
    if schema.settle(kind, result, validation.unknown):
        make_whole(kind, result)
        if field_errors := schema.settle(kind, result, validation.unknown):
            raise refusals.unusable(fielderrors.invalid("patch", text, field_errors[0]))
    _refuse_unknown(validation, text)
    return result


def _decoded(kind: Kind, result: Any, validation: FieldValidation) -> Obj:
    text = _limited(result)
    if not isinstance(result, dict):
        raise refusals.unusable(fielderrors.invalid("patch", text, mismatch("map", result)))
    if not result.get("apiVersion"):
        # What says no version is read as something else, and nothing of the object is seen.
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}}
    if result.get("kind") in (None, ""):
        result["kind"] = kind.kind
    field_error = _identity_error(kind, result) or next(
        iter(schema.settle(kind, result, validation.unknown)), ""
    )
    if field_error:
        raise refusals.unusable(fielderrors.invalid("patch", text, field_error))
    _refuse_unknown(validation, text)
    return result


def _refuse_unknown(validation: FieldValidation, shown: str) -> None:
    if validation.refusal:
        raise refusals.unusable(fielderrors.invalid("patch", shown, validation.refusal))


def _identity_error(kind: Kind, result: Obj) -> str:
    """Nothing also where it says something else than a text: that is a error like others."""
    identity = (result["kind"], result["apiVersion"])
    return misfit(result, kind) if all(isinstance(one, str) for one in identity) else ""


def _limited(result: Any) -> str:
    """The result as text, if it is neither too deep nor too large: small patches can make large objects."""
    text = _encoded(result)
    body = text.encode()
    if may_nest_deeply(body):
        check_depth(result)
    if may_be_large(body):
        check_size(result)
    return text


def _encoded(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # deeper than anything that could be stored
        raise refusals.too_deep() from None
