"""POST to a collection."""

from __future__ import annotations

from vacate import errors
from vacate.api import status
from vacate.api.kinds import NAMESPACES, Kind
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

_MAX_GENERATED_BASE = 58
_NAME_ATTEMPTS = 8


async def create(registry: Storage, call: Call) -> Response:
    """Default, admit, validate, write."""
    obj = read_object(call.request, call.kind, call.validation)
    match_namespace(obj, call)
    if call.dry_run:
        admit(registry, call, obj)
        if registry.store.tip(key_of(call.kind, obj)) is not None:
            taken = status.already_exists(call.kind, obj["metadata"]["name"])
            raise _explained(registry, call.kind, obj, taken, generated=False)
        return respond.unstored(call, obj, 201)
    if _names_a_version(obj):
        admit(registry, call, obj)
        raise errors.ApiError("resourceVersion should not be set on objects to be created", code=500)
    return respond.stored(call, await stage(registry, call, obj).done(), 201)


def stage(registry: Storage, call: Call, obj: Obj) -> Write:
    """Admit a new object and put it into the log; a generated name that is taken is made anew."""
    generated = admit(registry, call, obj)
    for _ in range(_NAME_ATTEMPTS if generated else 1):
        try:
            return registry.stage_create(call.kind, obj)
        except errors.AlreadyExists as error:
            refused = error
            if generated:
                obj["metadata"]["name"] = _generate_name(registry, generated)
    raise _explained(registry, call.kind, obj, refused, generated=bool(generated))


def admit(registry: Storage, call: Call, obj: Obj) -> str:
    """Everything that happens to a new object before it is written; returns the base of a generated name."""
    strategy = strategy_for(call.kind)
    context = registry.context(call.user)
    generated = _fill_metadata(registry, call, obj)
    strategy.default(obj, context)
    check_namespace(registry, call, obj)
    schema.complete(call.kind, obj)
    strategy.prepare_create(obj, context)
    schema.complete(call.kind, obj)
    field_errors = strategy.validate(obj, context)
    if field_errors:
        raise status.invalid(call.kind, obj["metadata"].get("name", ""), field_errors)
    guard(registry, call, obj, None)
    call.validation.notes += warnings_for(call.kind, obj)
    return generated


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


def _fill_metadata(registry: Storage, call: Call, obj: Obj) -> str:
    """What only the server may say of a new object."""
    meta = obj["metadata"]
    for field in ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        meta.pop(field, None)
    generated = "" if meta.get("name") else meta.get("generateName", "")
    if generated:
        meta["name"] = _generate_name(registry, generated)
    meta["uid"] = registry.entropy.uid()
    meta["creationTimestamp"] = format_time(call.now)
    return str(generated)


def _generate_name(registry: Storage, base: str) -> str:
    return base[:_MAX_GENERATED_BASE] + registry.entropy.suffix()


def check_namespace(registry: Storage, call: Call, obj: Obj) -> None:
    """Refuse new objects where the namespace is missing or terminating."""
    if call.kind.namespaced:
        namespace = registry.lookup(NAMESPACES, "", call.namespace)
        refusal = creation_refusal(call.kind, obj, call.namespace, namespace)
        if refusal is not None:
            raise refusal


def _explained(
    registry: Storage, kind: Kind, obj: Obj, refused: errors.AlreadyExists, *, generated: bool
) -> errors.AlreadyExists:
    """Say why the name is taken where there is more to say."""
    message = refused.message
    if generated:
        message += ", the server was not able to generate a unique name for the object"
    existing = registry.lookup(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    if existing is not None and "deletionTimestamp" in existing["metadata"]:
        message = f"object is being deleted: {message}"
    return errors.AlreadyExists(message, details=refused.details)
