"""Bodies of subresources that are objects of their own kind: Eviction, Binding, Scale."""

from __future__ import annotations

from typing import Any

from vacate.api.integers import LIMITS, fits
from vacate.api.kinds import NAMESPACES
from vacate.api.objects import Obj
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.body import Unreadable, check_object, read_body
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs.create import match_namespace
from vacate.embedded.registry.core.namespacelifecycle import creation_refusal
from vacate.embedded.schema.mismatch import mismatch
from vacate.errors import BadRequest


def read_posted(storage: Storage, call: Call, kind: str, versions: tuple[str, ...]) -> Obj:
    """The body of a create, with everything checked that comes before the subresource's own questions.

    The namespace must exist and must not be terminating: to the server these are creations too.
    """
    try:
        obj = as_kind(read_body(call.request), kind, versions)
    except Unreadable as error:
        raise error.of(kind, call.request.body) from None
    match_namespace(obj, call)
    found = storage.lookup(NAMESPACES, "", call.namespace)
    refusal = creation_refusal(call.kind, {"metadata": {"name": call.name}}, call.namespace, found)
    if refusal is not None:
        raise refusal
    return obj


def as_kind(value: Any, kind: str, versions: tuple[str, ...]) -> Obj:
    """An object of the kind in one of the versions, the first where it names none."""
    check_object(value)
    obj: Obj = {
        **value,
        "kind": value.get("kind") or kind,
        "apiVersion": value.get("apiVersion") or versions[0],
    }
    _check_identity(obj, kind, versions)
    obj["metadata"] = field(kind, obj, "metadata", "map") or {}
    for name in ("name", "namespace", "uid", "resourceVersion"):
        field(kind, obj["metadata"], name, "string", at="metadata.")
    for name in ("labels", "annotations"):
        texts = field(kind, obj["metadata"], name, "map", at="metadata.")
        for key in texts or ():
            field(kind, texts, key, "string", at=f"metadata.{name}.")
    return obj


_TYPES: dict[str, type] = {"map": dict, "string": str}


def field(kind: str, obj: Obj, name: str, form: str, *, at: str = "") -> Any:
    """A field of the expected form, None where it is missing."""
    value = obj.get(name)
    if value is None:
        return None
    if not (fits(value, form) if form in LIMITS else isinstance(value, _TYPES[form])):
        refusal = f'{kind} in version "v1" cannot be handled as a {kind}'
        raise BadRequest(f"{refusal}: {mismatch(form, value, f'{at}{name}')}")
    return value


def _check_identity(obj: Obj, kind: str, versions: tuple[str, ...]) -> None:
    if obj["apiVersion"] in versions and obj["kind"] == kind:
        return
    version = str(obj["apiVersion"]).rpartition("/")[2]
    raise BadRequest(
        f'{obj["kind"]} in version "{version}" cannot be handled as a {kind}: no kind "{obj["kind"]}" is '
        f'registered for version "{obj["apiVersion"]}"'
    )
