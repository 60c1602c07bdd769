"""Bodies of subresources that are objects of their own kind: Eviction, Binding, Scale."""

from __future__ import annotations

from typing import Any

from vacate.api.kinds import NAMESPACES
from vacate.api.objects import Obj
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.body import SCHEME, Unreadable, check_object, json_type, read_body
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs.create import match_namespace
from vacate.embedded.registry.core.namespacelifecycle import creation_refusal
from vacate.errors import BadRequest


def read_posted(registry: Storage, call: Call, kind: str, versions: tuple[str, ...]) -> Obj:
    """The body of a create, with everything checked that comes before the subresource's own questions.

    The namespace must exist and must not be terminating: to the server these are creations too.
    """
    try:
        obj = as_kind(read_body(call.request), kind, versions)
    except Unreadable as error:
        raise error.of(kind, call.request.body) from None
    match_namespace(obj, call)
    found = registry.lookup(NAMESPACES, "", call.namespace)
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
    obj["metadata"] = field(obj, "metadata", dict, "ObjectMeta") or {}
    for name in ("name", "namespace", "uid", "resourceVersion"):
        field(obj["metadata"], name, str, "string", of="ObjectMeta.metadata", kind=kind)
    for name in ("labels", "annotations"):
        texts = field(obj["metadata"], name, dict, "map[string]string", of="ObjectMeta.metadata", kind=kind)
        for key in texts or ():
            field(texts, key, str, "string", of=f"ObjectMeta.metadata.{name}", kind=kind)
    return obj


def field(obj: Obj, name: str, wanted: type, go_type: str, *, of: str = "", kind: str = "") -> Any:
    """A field of the expected JSON type, None where it is missing."""
    value = obj.get(name)
    if value is None:
        return None
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        kind = kind or obj["kind"]
        raise BadRequest(
            f'{kind} in version "v1" cannot be handled as a {kind}: json: cannot unmarshal '
            f"{json_type(value)} into Go struct field {of or kind}.{name} of type {go_type}"
        )
    return value


def _check_identity(obj: Obj, kind: str, versions: tuple[str, ...]) -> None:
    if obj["apiVersion"] in versions and obj["kind"] == kind:
        return
    version = str(obj["apiVersion"]).rpartition("/")[2]
    raise BadRequest(
        f'{obj["kind"]} in version "{version}" cannot be handled as a {kind}: no kind "{obj["kind"]}" is '
        f'registered for version "{obj["apiVersion"]}" in scheme "{SCHEME}"'
    )
