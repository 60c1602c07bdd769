"""POST to a collection."""

from __future__ import annotations

from functools import partial

from vacate import errors
from vacate.admission.pipeline import admit_create, generated_base, generated_name
from vacate.admission.pods import forcedeletion
from vacate.api import status
from vacate.api.kinds import NAMESPACES, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded import schema
from vacate.embedded.apiserver.auth.guard import guard
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.body import read_object
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.response.stored import key_of
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.registry.core.namespacelifecycle import creation_refusal
from vacate.embedded.registry.strategies import strategy_for, warnings_for
from vacate.embedded.store.commit import Write
from vacate.wire.message import Response

_NAME_ATTEMPTS = 8


async def create(storage: Storage, call: Call) -> Response:
    """Admit and write."""
    obj = read_object(call.request, call.kind, call.validation)
    match_namespace(obj, call)
    if call.dry_run:
        obj = admit(storage, call, obj)
        if storage.store.tip(key_of(call.kind, obj)) is not None:
            taken = status.already_exists(call.kind, obj["metadata"]["name"])
            raise _explained(storage, call.kind, obj, taken, generated=False)
        return respond.unstored(call, obj, 201)
    if _names_a_version(obj):
        admit(storage, call, obj)
        raise errors.ApiError("resourceVersion should not be set on objects to be created", code=500)
    return respond.stored(call, await stage(storage, call, obj).done(), 201)


def stage(storage: Storage, call: Call, obj: Obj) -> Write:
    """Admit a new object and put it into the log; a generated name that is taken is made anew."""
    base = generated_base(obj)
    obj = admit(storage, call, obj)
    for _ in range(_NAME_ATTEMPTS if base else 1):
        try:
            return storage.stage_create(call.kind, obj)
        except errors.AlreadyExists as error:
            refused = error
            if base:
                obj["metadata"]["name"] = generated_name(base, storage.entropy.suffix())
    raise _explained(storage, call.kind, obj, refused, generated=bool(base))


def admit(storage: Storage, call: Call, given: Obj) -> Obj:
    """The new object as it is written: the pipeline, and before and after it what only the server knows."""
    given = _identified(storage, call, given)
    check_namespace(storage, call, given)
    complete = partial(schema.complete, call.kind)
    obj = admit_create(strategy_for(call.kind), given, storage.context(call.user), complete)
    guard(storage, call, obj, None)
    storage.policies.admit(call, obj, None)
    check_grace(storage, call, obj)
    call.validation.notes += warnings_for(call.kind, obj)
    return obj


def check_grace(storage: Storage, call: Call, obj: Obj, old: Obj | None = None) -> None:
    """Refuse new members of StatefulSets that any deletion would remove before their processes."""
    if (
        call.kind != PODS
        or not forcedeletion.lacks_grace(obj)
        or (old is not None and forcedeletion.is_member(old))
        or not storage.gates.enabled(forcedeletion.GATE)
    ):
        return
    if forcedeletion.guards_namespace(storage.lookup(NAMESPACES, "", call.namespace), storage.force_guard):
        raise status.forbidden(PODS, obj["metadata"]["name"], forcedeletion.NO_GRACE)


def _names_a_version(obj: Obj) -> bool:
    """Whether the client took something that exists for something new; the storage would refuse it."""
    version = obj["metadata"].get("resourceVersion", "")
    return bool(version.isascii() and version.isdigit() and version.strip("0"))


def match_namespace(obj: Obj, call: Call) -> None:
    """The object's namespace is the address's; a conflicting one is a bad request.

    Where the kind has no namespaces, one that the object names is forgotten.
    """
    meta = obj["metadata"]
    expected = call.namespace if call.kind.namespaced else ""
    given = meta.get("namespace", "")
    if given and given != expected and call.kind.namespaced:
        raise errors.BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if expected:
        meta["namespace"] = expected
    else:
        meta.pop("namespace", None)


def _identified(storage: Storage, call: Call, given: Obj) -> Obj:
    """The object with what only the server makes up: a name where it is to be generated, UID and time."""
    meta = dict(given["metadata"])
    if base := generated_base(given):
        meta["name"] = generated_name(base, storage.entropy.suffix())
    meta["uid"] = storage.entropy.uid()
    meta["creationTimestamp"] = format_time(call.now)
    return {**given, "metadata": meta}


def check_namespace(storage: Storage, call: Call, obj: Obj) -> None:
    """Refuse new objects where the namespace is missing or terminating."""
    if call.kind.namespaced:
        namespace = storage.lookup(NAMESPACES, "", call.namespace)
        refusal = creation_refusal(call.kind, obj, call.namespace, namespace)
        if refusal is not None:
            raise refusal


def _explained(
    storage: Storage, kind: Kind, obj: Obj, refused: errors.AlreadyExists, *, generated: bool
) -> errors.AlreadyExists:
    """Say why the name is taken where there is more to say."""
    message = refused.message
    if generated:
        message += ", the server was not able to generate a unique name for the object"
    existing = storage.lookup(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    if existing is not None and "deletionTimestamp" in existing["metadata"]:
        message = f"object is being deleted: {message}"
    return errors.AlreadyExists(message, details=refused.details)
