"""PATCH an object, or its status: JSON patch, merge patch, strategic merge patch."""

from __future__ import annotations

from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.patch import apply_patch
from vacate.embedded.apiserver.patch.forms import check_form_for
from vacate.embedded.apiserver.request.body import identified
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs.update import check_address, replace
from vacate.wire.mediatypes import media_type
from vacate.wire.message import Response


async def patch(storage: Storage, call: Call) -> Response:
    """Change the newest state. No other write can come between reading and writing it."""
    kind_of_patch = media_type(call.request.headers.get("Content-Type", ""))
    check_form_for(call.kind, kind_of_patch)
    entry, old = storage.current(call.kind, call.namespace, call.name)
    patched = apply_patch(kind_of_patch, call.kind, old, call.request.body, call.validation)
    new = identified(patched, call.kind)
    new.setdefault("metadata", {})
    check_address(new, call)
    return await replace(storage, call, new, entry, old)
