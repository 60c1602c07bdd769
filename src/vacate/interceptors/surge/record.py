"""Removes the record of a surge, and with it what the server remembers of our writes."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import Kind
from vacate.api.objects import Obj, dig
from vacate.api.text import plain
from vacate.api.types import ObjectMeta
from vacate.api.untyped import maps
from vacate.client.client import Client
from vacate.client.requests import JSON_PATCH
from vacate.errors import Conflict, Invalid
from vacate.kube.surge import SURGE
from vacate.views.phrases import listed

FIELD_MANAGER = "vacate"
"""Our name in managed fields: what stands before the slash of the user agent."""


async def is_last_writer(client: Client, kind: Kind, meta: ObjectMeta, field: str) -> bool:
    """Whether a field of the spec is one that we have written, as far as the server keeps a list of writers.

    `kubectl rollout undo` brings annotations back from ReplicaSets, and with them a record of long ago, whose
    count may happen to be the present one. Our entry in the managed fields went with the record, and does not
    come back with it.
    """
    entries = maps(dig(await client.get(kind, meta.name, meta.namespace), "metadata", "managedFields"))
    return not entries or any(
        entry.get("manager") == FIELD_MANAGER and dig(entry, "fieldsV1", "f:spec", f"f:{field}") is not None
        for entry in entries
    )


async def remove_record(client: Client, kind: Kind, meta: ObjectMeta, others: Sequence[str] = ()) -> Obj:
    """One patch takes away the annotation, others of ours, and our entry in the managed fields.

    Returns the object as it was found.

    Without the entry the user's next server-side apply of the field has nobody to conflict with. The record
    stays until this is done, so a crash before it loses nothing.
    """
    found = await client.get(kind, meta.name, meta.namespace)
    text = dig(found, "metadata", "annotations", SURGE)
    if dig(found, "metadata", "uid") != meta.uid or text != meta.annotations.get(SURGE):
        raise Conflict(f"the {kind.kind} has changed meanwhile")
    await _patch(client, kind, found, removal_patch(found, others))
    return found


def writers(found: Obj, field: str) -> str:
    """Who else has written a field of the spec, by the list of the server, in words; empty where none is."""
    entries = maps(dig(found, "metadata", "managedFields"))
    wrote = [one for one in entries if dig(one, "fieldsV1", "f:spec", f"f:{field}") is not None]
    names = [plain(str(name), 128) for one in wrote if (name := one.get("manager")) != FIELD_MANAGER]
    return f" by {listed(names)}" if names else ""


async def remove_manager(client: Client, kind: Kind, meta: ObjectMeta) -> None:
    """Remove our entry in the managed fields of an object that has no record, where there is one."""
    found = await client.get(kind, meta.name, meta.namespace)
    if dig(found, "metadata", "uid") != meta.uid or SURGE in (dig(found, "metadata", "annotations") or {}):
        return
    patch = removal_patch(found)
    if len(patch) > 1:
        await _patch(client, kind, found, patch)


async def _patch(client: Client, kind: Kind, found: Obj, patch: list[Obj]) -> None:
    meta = found["metadata"]
    try:
        await client.patch(kind, meta["name"], patch, meta["namespace"], patch_type=JSON_PATCH)
    except Invalid as error:  # what a failed test is answered with
        raise Conflict(f"the {kind.kind} has changed meanwhile: {error}") from error


def removal_patch(found: Obj, others: Sequence[str] = ()) -> list[Obj]:
    """The JSON patch, valid for this very version of the object only."""
    meta = found["metadata"]
    ops: list[Obj] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": meta["resourceVersion"]},
        *(
            {"op": "remove", "path": f"/metadata/annotations/{name.replace('/', '~1')}"}
            for name in (SURGE, *others)
            if name in (meta.get("annotations") or {})
        ),
    ]
    entries = list(enumerate(maps(meta.get("managedFields"))))
    ops += [
        {"op": "remove", "path": f"/metadata/managedFields/{index}"}
        for index, entry in reversed(entries)
        if entry.get("manager") == FIELD_MANAGER and not entry.get("subresource")
    ]
    return ops
