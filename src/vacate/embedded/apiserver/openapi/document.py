"""The OpenAPI document of one group and version: the addresses and schemas of its kinds."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.crds.catalogue import declaration_of
from vacate.crds.schema import structural_schema
from vacate.crds.schema.limitsentences import describe_limits

_IN_BODY = ("post", "put")
_VERBS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete", "post": "create"}
_ONE, _MANY = ("get", "put", "patch", "delete"), ("get", "post", "delete")
_PATCHES = ("application/json-patch+json", "application/merge-patch+json")
_FIELD_VALIDATION: Obj = {
    "name": "fieldValidation",
    "in": "query",
    "description": "What becomes of unknown fields: Ignore, Warn or Strict.",
    "schema": {"type": "string", "uniqueItems": True},
}


def document(kinds: Iterable[Kind]) -> Obj:
    """Everything that a client can learn about these kinds without asking for an object."""
    served = tuple(kinds)
    schemas = {_model(kind): _schema(kind) for kind in served}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": {path: item for kind in served for path, item in _paths(kind).items()},
        "components": {"schemas": {**schemas, **METADATA_SCHEMAS}},
    }


def _schema(kind: Kind) -> Obj:
    schema = copy.deepcopy(structural_schema(declaration_of(kind).struct))
    describe_limits(schema)
    description = schema["properties"]["metadata"].get("description", "")
    schema["properties"]["metadata"] = {"allOf": [_ref(OBJECT_META)], "description": description}
    schema["x-kubernetes-group-version-kind"] = [_identity(kind)]
    return schema


def _paths(kind: Kind) -> Obj:
    place = ("namespace",) if kind.namespaced else ()
    many = kind.collection_path("{namespace}" if kind.namespaced else None)
    one = f"{many}/{{name}}"
    paths = {kind.collection_path(): _operations(kind, ("get",), ())} if kind.namespaced else {}
    paths[many] = _operations(kind, _MANY, place)
    paths[one] = _operations(kind, _ONE, (*place, "name"))
    for sub in kind.subresources:
        served = tuple(method for method in _ONE if _VERBS[method] in sub.verbs)
        paths[f"{one}/{sub.name}"] = _operations(kind, served, (*place, "name"))
    return paths


def _operations(kind: Kind, methods: tuple[str, ...], named: tuple[str, ...]) -> Obj:
    item: Obj = {method: _operation(kind, method) for method in methods}
    if named:
        item["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
            for name in named
        ]
    return item


def _operation(kind: Kind, method: str) -> Obj:
    body = {"application/json": {"schema": _ref(_model(kind))}}
    operation: Obj = {
        "responses": {"200": {"description": "OK", "content": body}},
        "x-kubernetes-action": method,
        "x-kubernetes-group-version-kind": _identity(kind),
    }
    if method == "patch":
        forms: dict[str, Any] = {form: {"schema": {"type": "object"}} for form in _PATCHES}
        operation["requestBody"] = {"content": forms, "required": True}
    elif method in _IN_BODY:
        operation["requestBody"] = {"content": body, "required": True}
    if "requestBody" in operation:
        operation["parameters"] = [_FIELD_VALIDATION]
    return operation


def _identity(kind: Kind) -> Obj:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _model(kind: Kind) -> str:
    """The kind's name with its domain turned round, as Kubernetes names models."""
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])


def _ref(name: str) -> Obj:
    return {"$ref": f"#/components/schemas/{name}"}


OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OWNER = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"
_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"


def _text(description: str) -> Obj:
    return {"type": "string", "description": description}


def _number(description: str) -> Obj:
    return {"type": "integer", "format": "int64", "description": description}


def _flag(description: str) -> Obj:
    return {"type": "boolean", "description": description}


def _texts(description: str) -> Obj:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _map(description: str) -> Obj:
    return {"type": "object", "additionalProperties": {"type": "string"}, "description": description}


def _moment(description: str) -> Obj:
    return {"allOf": [{"$ref": f"#/components/schemas/{_TIME}"}], "description": description}


METADATA_SCHEMAS: Obj = {
    OBJECT_META: {
        "type": "object",
        "description": "Metadata that every object has.",
        "properties": {
            "annotations": _map("Arbitrary metadata of tools and users. Annotations cannot be selected by."),
            "creationTimestamp": _moment("When the object was created. Set by the server."),
            "deletionGracePeriodSeconds": _number(
                "Seconds that the object has to terminate gracefully. Set by the server."
            ),
            "deletionTimestamp": _moment("When the grace period of the deletion ends. Set by the server."),
            "finalizers": _texts(
                "Must be empty before the object is removed; each component removes its own entry."
            ),
            "generateName": _text(
                "Prefix from which the server generates a unique name if the name is empty."
            ),
            "generation": _number("Sequence number of the desired state. Set by the server."),
            "labels": _map("Keys and values by which objects are selected."),
            "name": _text("Name of the object, unique within its kind and namespace."),
            "namespace": _text("Namespace of the object."),
            "ownerReferences": {
                "type": "array",
                "items": {"allOf": [{"$ref": f"#/components/schemas/{_OWNER}"}]},
                "description": "Objects that this object depends on. It is deleted with the last one.",
            },
            "resourceVersion": _text(
                "Version of the object, which changes with every write. Set by the server."
            ),
            "uid": _text("Unique over time, also among objects of the same name. Set by the server."),
        },
    },
    _OWNER: {
        "type": "object",
        "description": "An owner of the object.",
        "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": _text("The owner's API version."),
            "blockOwnerDeletion": _flag("Whether a foreground deletion of the owner waits for the object."),
            "controller": _flag("Whether the owner manages the object."),
            "kind": _text("The owner's kind."),
            "name": _text("The owner's name."),
            "uid": _text("The owner's UID."),
        },
    },
    _TIME: {"type": "string", "format": "date-time", "description": "A time in the form of RFC 3339."},
}
