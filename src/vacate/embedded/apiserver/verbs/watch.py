"""GET a collection with `watch=true`: what is, and then what happens.

The stream ends at the client's timeout, when the server stops, or with an ERROR event that says 410 when
the history asked for is gone or the client was too slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator

from vacate import errors
from vacate.api.options import WatchOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.integers import duration_of
from vacate.embedded.apiserver.request.listoptions import read_watch_options
from vacate.embedded.apiserver.request.negotiation import Form, negotiate, no_such_form
from vacate.embedded.apiserver.request.revisions import (
    check_stored_revision,
    parse_revision,
    wait_until_fresh,
)
from vacate.embedded.apiserver.request.selection import Selection
from vacate.embedded.apiserver.response.watchframes import Framer
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.store.types import Change, Entry, Scope
from vacate.embedded.store.watch import Watch
from vacate.wire.message import Response

BOOKMARK_SECONDS = 60.0
MIN_TIMEOUT_SECONDS = 1800.0
_MAX_CHUNK_BYTES = 128 * 1024


async def watch(storage: Storage, call: Call) -> Response:
    """Open the stream; the first events are taken before anything else can happen."""
    accepted = negotiate(call.request.headers.get("Accept", ""))
    options, selection = read_watch_options(call)
    check_stored_revision(options.resource_version)
    if options.send_initial_events and options.resource_version not in ("", "0"):
        await wait_until_fresh(storage, options.resource_version)
    framer = Framer(call, accepted)
    if accepted.form is Form.METADATA_LIST:
        raise no_such_form()
    return Response(200, WatchStream(storage, call, options, selection, framer))


class WatchStream:
    """The body of a watch. It listens from the moment it is made."""

    def __init__(
        self, storage: Storage, call: Call, options: WatchOptions, selection: Selection, framer: Framer
    ) -> None:
        self._options = options
        self._selection = selection
        self._framer = framer
        self._store = storage.store
        asked = duration_of(options.timeout_seconds).total_seconds()
        self._deadline = asked or storage.entropy.uniform(1, 2) * MIN_TIMEOUT_SECONDS
        self._scope = Scope(
            call.kind.resource,
            call.namespace or selection.fields.exact("metadata.namespace") or "",
            selection.fields.exact("metadata.name") or call.name,
            selection.fields.exact("spec.nodeName") or "",
        )
        self._initial: list[Entry] = []
        self._skip_to = 0
        self._watch: Watch | None = None
        self._failure: errors.ApiError | None = None
        self._listen()

    def _listen(self) -> None:
        wanted = self._options.resource_version
        current = self._store.revision
        start = current
        if self._options.send_initial_events or (
            wanted in ("", "0") and self._options.send_initial_events is None
        ):
            self._initial = self._existing()
        elif wanted not in ("", "0"):
            self._skip_to = parse_revision(wanted)
            start = min(self._skip_to, current)
        try:
            self._watch = self._store.watch(self._scope, start)
        except errors.RevisionCompacted:
            self._failure = too_old(start)

    def _existing(self) -> list[Entry]:
        page = self._store.list(self._scope.resource, self._scope.namespace)
        return [
            entry
            for entry in page.entries
            if (not self._scope.name or entry.key.name == self._scope.name)
            and self._selection.selects(entry.attributes)
        ]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self._first_chunks():
                yield chunk
            if self._watch is None:
                return
            async for chunk in self._follow(self._watch):
                yield chunk
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Stop listening. May be called twice."""
        if self._watch is not None:
            self._watch.close()

    def _first_chunks(self) -> Iterator[bytes]:
        return chunks(self._first_frames())

    def _first_frames(self) -> Iterator[bytes]:
        if self._failure is not None:
            yield self._framer.error(self._failure)
            return
        initial, self._initial = self._initial, []
        yield from map(self._framer.existing, initial)
        if self._options.send_initial_events and self._options.allow_bookmarks and self._watch is not None:
            yield self._framer.bookmark(self._watch.revision, initial_end=True)

    async def _follow(self, watch: Watch) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._deadline
        bookmarked = watch.revision
        try:
            while True:
                pause = (
                    min(deadline, loop.time() + BOOKMARK_SECONDS)
                    if self._options.allow_bookmarks
                    else deadline
                )
                changes = await watch.take(pause)
                if changes is None:
                    if self._options.allow_bookmarks and watch.revision > bookmarked:
                        bookmarked = watch.revision
                        yield self._framer.bookmark(bookmarked)
                    if loop.time() >= deadline:
                        return
                    continue
                for chunk in chunks(self._frames(changes)):
                    yield chunk
        except StopAsyncIteration:
            return
        except errors.StoreError:
            yield self._framer.error(too_old(watch.revision))

    def _frames(self, changes: list[Change]) -> Iterator[bytes]:
        for change in changes:
            if change.revision <= self._skip_to:
                continue
            before = change.before is not None and self._selection.selects(change.before.attributes)
            after = not change.deleted and self._selection.selects(change.after.attributes)
            if before or after:
                yield self._framer.change(change, before=before, after=after)


def chunks(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Frames put together, up to a size: they are shared by all watchers, what is put together is not."""
    held: list[bytes] = []
    size = 0
    for frame in frames:
        if held and size + len(frame) > _MAX_CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
        held.append(frame)
        size += len(frame)
    if held:
        yield held[0] if len(held) == 1 else b"".join(held)


def too_old(revision: int) -> errors.Gone:
    """410 as an event: the client must list again."""
    return errors.Gone(f"too old resource version: {revision}")
