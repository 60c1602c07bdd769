"""Carrying a deletion out: the writes that a decision calls for, staged in one step and then waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.deletion import forceguard
from vacate.embedded.apiserver.deletion.decision import Deletion, decide_deletion, with_grace_period
from vacate.embedded.apiserver.deletion.options import (
    check_options,
    drop_gated,
    options_from_body,
    options_from_query,
)
from vacate.embedded.apiserver.request.body import read_body
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.registry.strategies import strategy_for
from vacate.embedded.store.commit import Write
from vacate.embedded.store.types import Entry
from vacate.errors import BadRequest
from vacate.wire.message import Request


@dataclass(frozen=True, slots=True)
class StagedDeletion:
    """A deletion on its way to the disk, and the newest entry of the object."""

    deletion: Deletion
    entry: Entry
    writes: Sequence[Write] = ()


def read_delete_options(storage: Storage, request: Request) -> DeleteOptions:
    """The options of the body, or of the query where there is no body; checked."""
    if request.body:
        options = options_from_body(_options_object(request))
    else:
        options = options_from_query({name: request.query.getall(name) for name in request.query})
    options = drop_gated(options, storage.gates)
    check_options(options)
    return options


def stage_deletion(
    storage: Storage, kind: Kind, current: tuple[Entry, Obj], options: DeleteOptions, now: datetime
) -> StagedDeletion:
    """Decide, and put what follows into the log; a dry run puts nothing."""
    return _stage(storage, kind, current[0], decide_deletion(kind, current[1], options, now), options)


def stage_requested_deletion(
    storage: Storage, call: Call, current: tuple[Entry, Obj], options: DeleteOptions
) -> StagedDeletion:
    """The same for a client, who is refused where the kind itself has something against it."""
    deletion = decide_deletion(call.kind, current[1], options, call.now)
    strategy_for(call.kind).validate_delete(current[1], storage.context(call.user))
    shown = with_grace_period(call.kind, current[1], options)
    storage.policies.admit(call, None, current[1], shown)
    ground = forceguard.admit(storage, call, current[1], options)
    forceguard.admit_node(storage, call, current[1])
    staged = _stage(storage, call.kind, current[0], deletion, options)
    event_writes = [] if options.is_dry_run else forceguard.stage_event(storage, call, current[1], ground)
    return replace(staged, writes=[*staged.writes, *event_writes])


def _stage(
    storage: Storage, kind: Kind, entry: Entry, deletion: Deletion, options: DeleteOptions
) -> StagedDeletion:
    if options.is_dry_run:
        return StagedDeletion(deletion, entry)
    writes = []
    if deletion.write:
        write = storage.stage_update(kind, deletion.obj, entry)
        if write is not None:
            writes.append(write)
            entry = write.entry
    if deletion.remove:
        writes.append(storage.stage_delete(kind, deletion.obj, entry))
        entry = writes[-1].entry
    return StagedDeletion(deletion, entry, writes)


async def settle(writes: Sequence[Write]) -> None:
    """Wait until the disk has all of them."""
    for write in writes:
        await write.done()


def _options_object(request: Request) -> object:
    body = read_body(request)
    kind = body.get("kind") if isinstance(body, dict) else None
    if kind and kind != "DeleteOptions":
        version = body.get("apiVersion") or "v1"
        raise BadRequest(f'no kind "{kind}" is registered for version "{version}"')
    return body
