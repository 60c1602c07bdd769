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
from vacate.embedded.apiserver.openapi.metadata import METADATA_SCHEMAS, OBJECT_META

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
