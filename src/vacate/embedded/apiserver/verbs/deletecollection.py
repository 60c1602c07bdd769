"""DELETE a collection: every object that the selectors pick, each by the rules of a single DELETE."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate.api.options import DeleteOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.deletion.staging import read_delete_options, settle, stage_requested_deletion
from vacate.embedded.apiserver.request.listoptions import read_list_options
from vacate.embedded.apiserver.request.negotiation import negotiate
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs.list import listed, render
from vacate.embedded.store.commit import Write
from vacate.embedded.store.types import Entry
from vacate.errors import NotFound
from vacate.wire.message import Response

_YIELD_EVERY = 200


async def deletecollection(storage: Storage, call: Call) -> Response:
    """Delete what a list with the same options shows, and answer with that list.

    Not atomic: the first refusal ends it, and what went before is gone.
    """
    accepted = negotiate(call.request.headers.get("Accept", ""))
    list_options, selection = read_list_options(call)
    options = read_delete_options(storage, call.request)
    entries, list_meta = await listed(storage, call, list_options, selection)
    await _delete_all(storage, call, entries, options)
    return Response(200, await render(call, accepted, entries, list_meta))


async def _delete_all(storage: Storage, call: Call, entries: Sequence[Entry], options: DeleteOptions) -> None:
    writes: list[Write] = []
    try:
        for index, entry in enumerate(entries, 1):
            writes += _delete_one(storage, call, entry, options)
            if index % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
    finally:
        await settle(writes)


def _delete_one(storage: Storage, call: Call, listed_entry: Entry, options: DeleteOptions) -> Sequence[Write]:
    """One object in its newest state; another client may have been faster."""
    key = listed_entry.key
    try:
        current = storage.current(call.kind, key.namespace, key.name)
    except NotFound:
        return ()
    return stage_requested_deletion(storage, call, current, options).writes
