"""PUT an object, or its status."""

from __future__ import annotations

from functools import partial

from vacate import errors
from vacate.admission.pipeline import admit_update
from vacate.api import status
from vacate.api.integers import parse_version
from vacate.api.kinds import NODES
from vacate.api.objects import Obj
from vacate.embedded import schema
from vacate.embedded.apiserver.auth.guard import guard, require
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.deletion.decision import removed_by_update
from vacate.embedded.apiserver.request.body import read_object
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs import create as creating
from vacate.embedded.registry.strategies import strategy_for, warnings_for
from vacate.embedded.store.types import Entry, Key
from vacate.wire.message import Response


async def update(storage: Storage, call: Call) -> Response:
    """Replace the object, if it is still the one that the client read."""
    new = read_object(call.request, call.kind, call.validation)
    check_address(new, call)
    if _brings_into_being(storage, call):
        return await _create(storage, call, new)
    entry, old = storage.current(call.kind, call.namespace, call.name)
    return await replace(storage, call, new, entry, old)


def check_address(new: Obj, call: Call) -> None:
    """The object keeps the name and namespace of its address."""
    creating.match_namespace(new, call)
    name = new["metadata"].get("name", "")
    if not name:
        raise unnamed(call)
    if name != call.name:
        raise errors.BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )


def unnamed(call: Call) -> errors.BadRequest:
    """The refusal of an object that does not say its name."""
    return errors.BadRequest(
        f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
    )


async def replace(storage: Storage, call: Call, new: Obj, entry: Entry, old: Obj) -> Response:
    """Admit and write the step from old to new; the last finalizer gone takes the object along."""
    new = admit(storage, call, new, old)
    storage.policies.admit(call, new, old)
    creating.check_grace(storage, call, new, old)
    if call.dry_run:
        return respond.unstored(call, new)
    if removed_by_update(new, old):
        await storage.write_delete(call.kind, old, entry)
        return respond.unstored(call, new)
    return respond.stored(call, await storage.write_update(call.kind, new, entry))


def admit(storage: Storage, call: Call, given: Obj, old: Obj) -> Obj:
    """The changed object as it is written: the pipeline, and around it what only the server checks."""
    _check_preconditions(call, given, old)
    context = storage.context(call.user, call.subresource)
    new = admit_update(strategy_for(call.kind), given, old, context, partial(schema.complete, call.kind))
    guard(storage, call, new, old)
    if not call.subresource:
        call.validation.notes += warnings_for(call.kind, new)
    return new


def _check_preconditions(call: Call, given: Obj, old: Obj) -> None:
    """A uid and a resourceVersion in the body are conditions; where the uid is missing the old one holds.

    The uid that a patch names is no condition but a change, which validation refuses. What a missing version
    means is decided by the pipeline.
    """
    meta, before = given["metadata"], old["metadata"]
    uid = meta.setdefault("uid", before["uid"])
    if uid != before["uid"] and call.request.method != "PATCH":
        raise _other_object(call, uid, before["uid"])
    if _revision(given) not in (0, parse_version(before["resourceVersion"])):
        raise status.modified(call.kind, before["name"])


def _revision(new: Obj) -> int:
    """The revision that the client knows, 0 for any; an error of the server's own where it is none."""
    revision = parse_version(new["metadata"].get("resourceVersion") or "0")
    if revision is None:
        message = "metadata.resourceVersion: expected the digits of a revision"
        raise errors.ApiError(message, reason="", code=500)
    return revision


def _other_object(call: Call, wanted: str, found: str) -> errors.Conflict:
    """The refusal comes from the storage, and says so."""
    kind, root = call.kind, "" if call.dry_run else "/registry"
    folder = "minions" if kind is NODES else kind.plural  # what nodes were once called
    path = "/".join(part for part in (folder, call.namespace, call.name) if part)
    return status.conflict(
        kind,
        call.name,
        f"StorageError: invalid object, Code: 4, Key: {root}/{path}, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {wanted}, UID in object meta: {found}",
    )


def _brings_into_being(storage: Storage, call: Call) -> bool:
    if call.subresource or not strategy_for(call.kind).traits.create_on_update:
        return False
    return storage.store.tip(Key(call.kind.resource, call.namespace, call.name)) is None


async def _create(storage: Storage, call: Call, new: Obj) -> Response:
    if uid := new["metadata"].get("uid"):
        raise _other_object(call, uid, "")
    require(storage, call, "create")
    creating.check_namespace(storage, call, new)
    _revision(new)
    version = new["metadata"].get("resourceVersion")
    new = creating.admit(storage, call, new)
    if call.dry_run:
        new["metadata"] |= {"resourceVersion": version} if version else {}
        return respond.unstored(call, new, 201)
    return respond.stored(call, await storage.stage_create(call.kind, new).done(), 201)
