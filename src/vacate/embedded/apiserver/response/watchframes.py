"""Events of a watch as bytes, each encoded once for all the watchers that want it in the same form."""

from __future__ import annotations

import orjson

from vacate.api import status
from vacate.api.objects import Obj, encode
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.request.negotiation import Accepted, Form
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.response.stored import decode, whole
from vacate.embedded.store.types import Change, Entry
from vacate.errors import ApiError

INITIAL_END = "k8s.io/initial-events-end"


def frame(type_: str, body: bytes) -> bytes:
    """One line of the stream."""
    return b'{"type":"%b","object":%b}\n' % (type_.encode(), body)


class Framer:
    """Frames for one watcher: objects, rows of a Table, or bare metadata."""

    def __init__(self, call: Call, accepted: Accepted) -> None:
        self._call = call
        self._kind = call.kind
        self._accepted = accepted
        self._headed = False  # whether the Table's columns have been sent

    def existing(self, entry: Entry) -> bytes:
        """An object that is there already."""
        return frame("ADDED", self._body(entry))

    def change(self, change: Change, *, before: bool, after: bool) -> bytes:
        """What the change means to a watcher that saw the object before, or sees it after, or both."""
        type_ = "DELETED" if not after else "MODIFIED" if before else "ADDED"
        if self._accepted.form is Form.TABLE:
            return frame(type_, self._body(self._seen(change, after=after)))
        form = (type_, self._accepted)
        encoded = change.frames.get(form)
        if encoded is None:
            encoded = frame(type_, self._body(self._seen(change, after=after)))
            change.frames[form] = encoded
        return encoded

    def bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        """Progress without an object."""
        meta: Obj = {"resourceVersion": str(revision)}
        if initial_end:
            meta["annotations"] = {INITIAL_END: "true"}
        body: Obj = {"kind": self._kind.kind, "apiVersion": self._kind.api_version, "metadata": meta}
        if self._accepted.form is Form.TABLE:
            body = {"kind": "Table", "apiVersion": f"meta.k8s.io/{self._accepted.version}", "metadata": meta}
            body |= {"columnDefinitions": [], "rows": []}
        elif self._accepted.form is Form.METADATA:
            body = respond.bare_metadata(body, self._accepted.version)
        return frame("BOOKMARK", encode(body))

    def error(self, error: ApiError) -> bytes:
        """The last event of a stream that cannot go on."""
        return frame("ERROR", orjson.dumps(status.to_status(error)))

    def _seen(self, change: Change, *, after: bool) -> Entry:
        """The state to show: one that left the selection is shown as it was, at the revision of leaving."""
        if after or change.deleted or change.before is None:
            return change.after
        left = orjson.loads(change.before.value)
        left["metadata"]["resourceVersion"] = str(change.revision)
        before = change.before
        return Entry(before.key, orjson.dumps(left), change.revision, before.created, before.attributes)

    def _body(self, entry: Entry) -> bytes:
        if self._accepted.form is Form.OBJECT:
            return whole(self._kind, entry.value)
        body = respond.transform(self._call, self._accepted, decode(self._kind, entry))
        if self._accepted.form is Form.TABLE:
            if self._headed:
                body["columnDefinitions"] = []
            self._headed = True
        return encode(body)
