"""What custom resources are asked on their way in, beside what all objects are asked.

They must say what they are. Fields that their schema does not know are never stored: with `fieldValidation`
a client chooses whether it is refused (`Strict`), warned (`Warn`, the default) or neither (`Ignore`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from vacate.api import fielderrors, status
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, dig
from vacate.crds.catalogue import declaration_of
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.fieldvalidation import strict_error
from vacate.embedded.apiserver.patch import refusals
from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch
from vacate.embedded.apiserver.request.body import Unreadable
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.schema import protobuf, table
from vacate.errors import ApiError, BadRequest, UnsupportedMedia
from vacate.wire.mediatypes import media_type
from vacate.wire.message import Response

_WRITING = ("POST", "PUT", "PATCH")
_NOT_TYPED = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml"
)

Verb = Callable[[Storage, Call], Awaitable[Response]]


async def answer_checked(verb: Verb, storage: Storage, call: Call) -> Response:
    """The verb's answer, refused or with a word about it where the client sends unknown fields."""
    if not call.kind.custom or call.request.method not in _WRITING:
        return _with_warnings(call, await verb(storage, call))
    if media_type(call.request.headers.get("Content-Type", "")) == protobuf.MEDIA_TYPE:
        raise UnsupportedMedia(_NOT_TYPED)
    directive = call.request.query.get("fieldValidation") or "Warn"
    sent = _parsed(call.request.body)
    if call.request.method != "PATCH" and isinstance(sent, dict):
        _check_identity(call, sent)
    unknown = unknown_fields(call.kind, sent)
    if unknown and call.request.method == "PATCH":
        # A null in a patch takes something away, whatever it is, and only the rest would be stored.
        unknown = unknown_fields(call.kind, apply_merge_patch({}, sent))
    if unknown and directive == "Strict":
        raise _refusal(storage, call, unknown)
    response = await verb(storage, call)
    call.validation.unknown = unknown
    return _with_warnings(call, response)


def _with_warnings(call: Call, response: Response) -> Response:
    response.headers = {**response.headers, **call.validation.headers}
    return response


def _check_identity(call: Call, obj: Obj) -> None:
    """Where other objects may leave out what they are, these must say it."""
    kind, given_kind, version = call.kind, obj.get("kind") or "", obj.get("apiVersion") or ""
    if not given_kind:
        text = call.request.body.decode(errors="replace")
        raise Unreadable(f"Object 'Kind' is missing in '{text}'").of(kind.kind, call.request.body)
    if version != kind.api_version:
        wrong = f"the API version in the data ({version}) does not match the expected API version"
        raise BadRequest(f"{wrong} ({kind.api_version})")
    if given_kind != kind.kind:
        field_error = fielderrors.invalid("kind", given_kind, f"must be {kind.kind}")
        raise status.invalid_as(
            kind.group, str(given_kind), str(dig(obj, "metadata", "name") or ""), [field_error]
        )


def _refusal(storage: Storage, call: Call, unknown: list[str]) -> ApiError:
    detail = strict_error(unknown)
    kind = call.kind
    if call.request.method != "PATCH":
        whole = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {detail}'
        return BadRequest(whole)
    _, old = storage.current(kind, call.namespace, call.name)
    patched = apply_merge_patch(old, _parsed(call.request.body))
    text = orjson.dumps(patched, option=orjson.OPT_SORT_KEYS).decode()
    return refusals.unusable(fielderrors.invalid("patch", text, detail))


def unknown_fields(kind: Kind, obj: Any) -> list[str]:
    """The paths of fields that the schema does not know: metadata first, then the rest in order."""
    if not isinstance(obj, dict):
        return []
    known = table().structs["meta.v1.ObjectMeta"].fields
    meta = obj.get("metadata")
    found = [f"metadata.{key}" for key in meta if key not in known] if isinstance(meta, dict) else []
    return sorted(found) + sorted(declaration_of(kind).structure.unknown(obj))


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None  # the decoder will say what is wrong with it
