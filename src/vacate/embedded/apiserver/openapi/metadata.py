"""Metadata of objects as schemas, for those who look a field up."""

from __future__ import annotations

from vacate.api.objects import Obj

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
        "description": "What every object says about itself.",
        "properties": {
            "annotations": _map("Notes of tools and people, which nobody selects by."),
            "creationTimestamp": _moment("When the object was created. Set by the server."),
            "deletionGracePeriodSeconds": _number("How long the object was given to end. Set by the server."),
            "deletionTimestamp": _moment("When the object's deletion was asked for. Set by the server."),
            "finalizers": _texts("Who must be done before the object may disappear."),
            "generateName": _text("The beginning of a name that the server completes."),
            "generation": _number("How often the spec has changed. Set by the server."),
            "labels": _map("By what the object is selected."),
            "name": _text("The object's name, unique among its kind and namespace."),
            "namespace": _text("The namespace that the object lives in."),
            "ownerReferences": {
                "type": "array",
                "items": {"allOf": [{"$ref": f"#/components/schemas/{_OWNER}"}]},
                "description": "To whom the object belongs; it is collected once they are all gone.",
            },
            "resourceVersion": _text("Which state of the object this is. Set by the server."),
            "uid": _text("What tells the object from others that have had its name. Set by the server."),
        },
    },
    _OWNER: {
        "type": "object",
        "description": "One owner of an object.",
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
