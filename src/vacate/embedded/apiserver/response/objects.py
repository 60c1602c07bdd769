"""Answers: objects in the form that the client asked for, and refusals as Status objects."""

from __future__ import annotations

from vacate import errors
from vacate.api.objects import Obj, encode
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.printers import table_of
from vacate.embedded.apiserver.request.negotiation import Accepted, Form, negotiate, no_such_form
from vacate.embedded.apiserver.response.stored import decode, whole
from vacate.embedded.store.types import Entry
from vacate.wire.message import Response


def stored(call: Call, entry: Entry, code: int = 200) -> Response:
    """One stored object."""
    accepted = negotiate(call.request.headers.get("Accept", ""))
    if accepted.form is Form.OBJECT:
        return Response(code, whole(call.kind, entry.value))
    return Response(code, encode(transform(call, accepted, decode(call.kind, entry))))


def unstored(call: Call, obj: Obj, code: int = 200) -> Response:
    """An object that has no stored bytes: a dry run's, a review, a scale."""
    accepted = negotiate(call.request.headers.get("Accept", ""))
    if accepted.form is Form.OBJECT or obj.get("kind") != call.kind.kind:
        return Response(code, encode(obj))
    return Response(code, encode(transform(call, accepted, obj)))


def check_acceptable(call: Call, verb: str) -> None:
    """Refuse a form that cannot be given before anything is done: a refusal leaves no change behind."""
    accepted = negotiate(call.request.headers.get("Accept", ""))
    if accepted.form is Form.METADATA_LIST and verb not in ("list", "deletecollection"):
        raise no_such_form()
    if accepted.form is Form.TABLE:
        _included(call)


def transform(call: Call, accepted: Accepted, obj: Obj) -> Obj:
    """One object as a Table or as bare metadata."""
    if accepted.form is Form.TABLE:
        list_meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return versioned_table(call, accepted, [obj], list_meta)
    if accepted.form is Form.METADATA:
        return bare_metadata(obj, accepted.version)
    raise no_such_form()


def bare_metadata(obj: Obj, version: str = "v1") -> Obj:
    """Kind and metadata of an object, nothing else."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }


def versioned_table(call: Call, accepted: Accepted, objects: list[Obj], list_meta: Obj) -> Obj:
    """Objects as a Table of the version that was asked for."""
    return table_of(
        call.kind, objects, call.now, include=_included(call), list_meta=list_meta, version=accepted.version
    )


def _included(call: Call) -> str:
    include = call.request.query.get("includeObject") or "Metadata"
    if include not in ("None", "Metadata", "Object"):
        raise errors.BadRequest(f"unrecognized includeObject value: {include!r}")
    return include


def nowhere() -> Response:
    """Where no group and no path begins, Kubernetes answers in plain words."""
    return Response(404, b"404 page not found\n", "text/plain; charset=utf-8")


def success(code: int = 200, details: Obj | None = None) -> Response:
    """A Status object that says yes."""
    body: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        body["details"] = details
    if code != 200:
        body["code"] = code
    return Response(code, encode(body))
