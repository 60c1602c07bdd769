"""GET one object."""

from __future__ import annotations

from vacate.api import status
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.revisions import check_stored_revision, wait_until_fresh
from vacate.embedded.apiserver.response import objects
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.store.types import Key
from vacate.wire.message import Response


async def get(storage: Storage, call: Call) -> Response:
    """The committed state, not older than the revision that the query names."""
    wanted = call.request.query.get("resourceVersion", "")
    check_stored_revision(wanted)
    if wanted and wanted != "0":
        await wait_until_fresh(storage, wanted)
    entry = storage.store.get(Key(call.kind.resource, call.namespace, call.name))
    if entry is None:
        raise status.not_found(call.kind, call.name)
    return objects.stored(call, entry)
