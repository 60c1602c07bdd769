"""Watch streams on the wire: one JSON object a line, `{"type":…,"object":…}`."""

from __future__ import annotations

from typing import Final

import msgspec

from vacate.errors import TransportError

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a streamed list; its value is `true`."""

_OPENINGS = {
    type_: b'{"type":"' + type_.encode() + b'","object":'
    for type_ in (ADDED, MODIFIED, DELETED, BOOKMARK, ERROR)
}


class RawEvent(msgspec.Struct, gc=False, frozen=True):
    """A frame whose object is still bytes."""

    type: str
    object: msgspec.Raw


_decoder = msgspec.json.Decoder(RawEvent)


def frame(type_: str, object_bytes: bytes) -> bytes:
    """One line of a watch stream; the object must hold no line break, as compact JSON does not."""
    return _OPENINGS[type_] + object_bytes + b"}\n"


def decode_frame(line: bytes) -> RawEvent:
    """Read one line, the object aside."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TransportError(f"a line of the watch stream is not an event: {error}") from error


class LineSplitter:
    """Cuts chunks of any size into lines. Keeps only the unfinished last line."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self._limit = limit  # no line may be longer
        self._rest: list[bytes] = []  # pieces of the line that has no end yet, none with a line break
        self._held = 0  # bytes in _rest

    @property
    def pending(self) -> int:
        """How many bytes wait for the end of their line."""
        return self._held

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, empty ones left out."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._rest:
            self._rest.append(lines[0])
            lines[0] = b"".join(self._rest)
            self._rest, self._held = [], 0
        self._keep(lines.pop())
        return [line for line in lines if line]

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._rest.append(piece)
        self._held += len(piece)
        if self._held > self._limit:
            raise TransportError(f"a line of the watch stream is longer than {self._limit} bytes")
