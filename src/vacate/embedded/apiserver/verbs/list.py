"""GET a collection: selectors, pages, lists at a revision."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vacate import errors
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, encode
from vacate.api.options import ListOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.continuetoken import LATEST, Continuation, expired, parse_continue
from vacate.embedded.apiserver.request.listoptions import read_list_options
from vacate.embedded.apiserver.request.negotiation import Accepted, Form, negotiate, no_such_form
from vacate.embedded.apiserver.request.revisions import parse_revision, wait_until_fresh
from vacate.embedded.apiserver.request.selection import Selection
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.response.stored import decode, whole
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.store.types import Entry, Page
from vacate.wire.message import Response

_STEPS_AT_ONCE = 20_000
"""Comparisons of one requirement with one object between two looks at the other tasks."""
_BYTES_AT_ONCE = 512 * 1024
"""Bytes of objects that are decoded between two looks at the other tasks."""
_TOO_OLD = "The resourceVersion for the provided list is too old."


async def list_(storage: Storage, call: Call) -> Response:
    """A page, or all of it, of one revision."""
    accepted = negotiate(call.request.headers.get("Accept", ""))
    entries, list_meta = await listed(storage, call, *read_list_options(call))
    return Response(200, await render(call, accepted, entries, list_meta))


async def listed(
    storage: Storage, call: Call, options: ListOptions, selection: Selection
) -> tuple[Sequence[Entry], Obj]:
    """What the options pick, and the metadata of the list."""
    namespace = call.namespace or selection.fields.exact("metadata.namespace") or ""
    # Selectors are applied to what the store returns, so with them it must return everything.
    limit = options.limit if selection.everything else 0
    page = await _read(storage, call.kind, namespace, options, limit)
    entries, more = await select(page.entries, selection, options.limit)
    return entries, _list_meta(page, entries, selection, namespace, more=more)


async def _read(storage: Storage, kind: Kind, namespace: str, options: ListOptions, limit: int) -> Page:
    """The entries from which the page is chosen, as many as the limit says."""
    if options.continue_token:
        return _read_on(storage, kind, namespace, options, limit)
    revision = options.resource_version
    if revision in ("", "0"):
        return storage.store.list(kind.resource, namespace, limit=limit)
    match = options.resource_version_match
    if match == "Exact" or (not match and options.limit):
        await wait_until_fresh(storage, revision)
        try:
            return storage.store.list(kind.resource, namespace, at=parse_revision(revision), limit=limit)
        except errors.RevisionCompacted:
            raise errors.Gone(_TOO_OLD) from None
    await wait_until_fresh(storage, revision)
    return storage.store.list(kind.resource, namespace, limit=limit)


def _read_on(storage: Storage, kind: Kind, namespace: str, options: ListOptions, limit: int) -> Page:
    if options.resource_version not in ("", "0"):
        raise errors.BadRequest("specifying resource version is not allowed when using continue")
    token = parse_continue(options.continue_token, namespace, namespaced=kind.namespaced)
    at = None if token.revision == LATEST else token.revision
    try:
        return storage.store.list(kind.resource, namespace, at=at, after=token.after, limit=limit)
    except errors.RevisionCompacted:
        raise expired(token, namespace) from None
    except errors.RevisionTooNew:
        raise errors.BadRequest("continue key is not valid: the revision does not exist yet") from None


async def select(entries: Sequence[Entry], selection: Selection, limit: int) -> tuple[Sequence[Entry], bool]:
    """Those that the selectors pick, up to the limit, and whether keys were left unread."""
    if selection.everything:
        return entries, False
    chosen: list[Entry] = []
    steps_of_an_entry = 40 + len(selection.labels.requirements) + len(selection.fields.requirements)
    steps = 0
    for entry in entries:
        if limit and len(chosen) == limit:
            return chosen, True
        if selection.selects(entry.attributes):
            chosen.append(entry)
        steps += steps_of_an_entry
        if steps >= _STEPS_AT_ONCE:
            steps = 0
            await asyncio.sleep(0)
    return chosen, False


def _list_meta(
    page: Page, entries: Sequence[Entry], selection: Selection, namespace: str, *, more: bool
) -> Obj:
    list_meta: Obj = {"resourceVersion": str(page.revision)}
    if (page.remaining or more) and entries:
        last = entries[-1].key
        token = Continuation(page.revision, last.namespace, last.name)
        list_meta["continue"] = token.encode(namespace)
        if selection.everything:
            list_meta["remainingItemCount"] = page.remaining
    return list_meta


async def render(call: Call, accepted: Accepted, entries: Sequence[Entry], list_meta: Obj) -> bytes:
    """The list in the form that was agreed on."""
    kind = call.kind
    if accepted.form is Form.OBJECT:
        head = encode({"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": list_meta})
        # Items of Kubernetes' own kinds have no kind on the wire; custom resources carry theirs.
        items = [whole(kind, entry.value) if kind.custom else entry.value for entry in entries]
        return b'%b,"items":[%b]}' % (head[:-1], b",".join(items))
    objects, size = [], 0
    for entry in entries:
        objects.append(decode(kind, entry))
        size += len(entry.value)
        if size >= _BYTES_AT_ONCE:
            size = 0
            await asyncio.sleep(0)
    if accepted.form is Form.TABLE:
        return encode(respond.versioned_table(call, accepted, objects, list_meta))
    if accepted.form is Form.METADATA_LIST:
        body: Obj = {"kind": accepted.form.value, "apiVersion": f"meta.k8s.io/{accepted.version}"}
        body["metadata"] = list_meta
        body["items"] = [respond.bare_metadata(obj, accepted.version) for obj in objects]
        return encode(body)
    raise no_such_form()
