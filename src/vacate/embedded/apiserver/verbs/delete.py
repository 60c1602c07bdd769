"""DELETE an object."""

from __future__ import annotations

from vacate.api import status
from vacate.api.kinds import NAMESPACES, Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.deletion.decision import answers_with_object, deletion_code
from vacate.embedded.apiserver.deletion.staging import (
    StagedDeletion,
    read_delete_options,
    settle,
    stage_requested_deletion,
)
from vacate.embedded.apiserver.deletion.traits import traits_of
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.storage import Storage
from vacate.wire.message import Response


async def delete(storage: Storage, call: Call) -> Response:
    """Take the object out, or mark it where something holds it."""
    options = read_delete_options(storage, call.request)
    _refuse_protected(call.kind, call.name)
    current = storage.current(call.kind, call.namespace, call.name)
    staged = stage_requested_deletion(storage, call, current, options)
    await settle(staged.writes)
    await storage.store.wait_for(staged.entry.revision)
    return _answer(call, staged, options)


def _answer(call: Call, staged: StagedDeletion, options: DeleteOptions) -> Response:
    code = deletion_code(staged.deletion, options)
    if not answers_with_object(call.kind, staged.deletion):
        return respond.success(code, _details(call.kind, staged.deletion.obj))
    if options.is_dry_run:
        return respond.unstored(call, staged.deletion.obj, code)
    return respond.stored(call, staged.entry, code)


def _details(kind: Kind, obj: Obj) -> Obj:
    """Which object went, so that clients can tell it from a new one of the same name."""
    meta = obj["metadata"]
    details = {"name": meta["name"], "group": kind.group, "kind": kind.plural, "uid": meta.get("uid", "")}
    return {key: value for key, value in details.items() if value}


def _refuse_protected(kind: Kind, name: str) -> None:
    """Some names are refused before anything is looked up. Namespaces are looked up first."""
    traits = traits_of(kind)
    if name in traits.protected and kind != NAMESPACES:
        raise status.forbidden(kind, name, traits.protection)
