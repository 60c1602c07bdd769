"""What the state of a namespace refuses to new objects in it."""

from __future__ import annotations

from vacate import errors
from vacate.api import status
from vacate.api.kinds import NAMESPACES, Kind
from vacate.api.objects import Obj, dig
from vacate.api.untyped import attempted_name


def creation_refusal(kind: Kind, obj: Obj, namespace: str, found: Obj | None) -> errors.ApiError | None:
    """Why nothing can be created in the namespace: it is missing (404) or being terminated (403)."""
    if found is None:
        return status.not_found(NAMESPACES, namespace)
    if dig(found, "status", "phase") != "Terminating":
        return None
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return status.forbidden(kind, attempted_name(obj), why, causes=[cause])
