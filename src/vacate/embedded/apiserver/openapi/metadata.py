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
