"""Answers as values: bytes into projections or dicts, refusals into errors.

A decoder is made once for each type. Objects of a watch are decoded in one pass, straight from the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec
import orjson

from vacate.api.objects import Obj
from vacate.api.status import from_status
from vacate.errors import ApiError, TransportError
from vacate.wire.framing import BOOKMARK, ERROR, INITIAL_EVENTS_END, decode_frame

T = TypeVar("T")

# How the lines begin whose object is not of the watched kind, or not a whole one.
_SPECIAL = (b'{"type":"ERROR"', b'{"type":"BOOKMARK"')


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A collection, or a page of it."""

    items: Sequence[T]
    resource_version: str
    continue_token: str = ""


class WatchEvent(msgspec.Struct, Generic[T], gc=False, frozen=True):
    """One step of a collection. A bookmark has no object."""

    type: str
    object: T | None
    resource_version: str
    initial_events_end: bool = False  # a bookmark that says: the present state is complete


class Identity(msgspec.Struct, gc=False, frozen=True):
    """What tells one object from another, and one state of it from the next."""

    namespace: str
    name: str
    uid: str
    resource_version: str


def identity_of(obj: Any) -> Identity:
    """The identity of a dict or of a projection with `metadata`."""
    if isinstance(obj, dict):
        meta = obj.get("metadata", {})
        return Identity(
            meta.get("namespace", ""),
            meta.get("name", ""),
            meta.get("uid", ""),
            meta.get("resourceVersion", ""),
        )
    meta = obj.metadata
    return Identity(meta.namespace, meta.name, meta.uid, meta.resource_version)


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T], gc=False):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[T] | None = None


class _Envelope(msgspec.Struct, Generic[T], gc=False):
    type: str
    object: T


class Codec(Generic[T]):
    """Reads one type out of answers."""

    def __init__(self, into: type[T]) -> None:
        shape: Any = dict[str, Any] if into is dict else into
        self._into = shape
        self._object = msgspec.json.Decoder(shape)
        self._list = msgspec.json.Decoder(_List[shape])
        self._envelope = msgspec.json.Decoder(_Envelope[shape])

    def decode(self, body: bytes) -> T:
        """One object."""
        return cast(T, self._read(self._object, body, self._into))

    def decode_list(self, body: bytes) -> Listing[T]:
        """A list, its items in the server's order."""
        found = self._read(self._list, body, _List[self._into])  # type: ignore[name-defined]
        return Listing(found.items or [], found.metadata.resource_version, found.metadata.continue_)

    def decode_event(self, line: bytes) -> WatchEvent[T]:
        """One line of a watch; an ERROR line raises what it says."""
        if line.startswith(_SPECIAL):
            return self._special(line)
        event = self._read(self._envelope, line, _Envelope[self._into])  # type: ignore[name-defined]
        return WatchEvent(event.type, event.object, identity_of(event.object).resource_version)

    def _special(self, line: bytes) -> WatchEvent[T]:
        raw = decode_frame(line)
        obj = loads(bytes(raw.object))
        if raw.type == ERROR:
            raise from_status(obj, 500)
        meta = obj.get("metadata") or {}
        ended = (meta.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true"
        return WatchEvent(BOOKMARK, None, str(meta.get("resourceVersion", "")), ended)

    def _read(self, decoder: msgspec.json.Decoder[Any], body: bytes, shape: Any) -> Any:
        try:
            return decoder.decode(body)
        except msgspec.ValidationError:
            return self._without_nulls(body, shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TransportError(f"the server's answer is not JSON: {error}") from error

    def _without_nulls(self, body: bytes, shape: Any) -> Any:
        """A null means that a field is not set, which projections say by their default."""
        whole = loads(body)
        if whole.get("type") == ERROR:
            raise from_status(whole.get("object") or {}, 500)
        try:
            return msgspec.convert(_prune(whole), shape)
        except msgspec.ValidationError as error:
            raise TransportError(f"the server's answer does not fit: {error}") from error


_codecs: dict[type[Any], Codec[Any]] = {}  # one for each type ever asked for


def codec_for(into: type[T]) -> Codec[T]:
    """The one codec of a type."""
    found = _codecs.get(into)
    if found is None:
        found = _codecs[into] = Codec(into)
    return found


def loads(body: bytes) -> Obj:
    """A JSON object as a dict; anything else is no answer."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise TransportError(f"the server's answer is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise TransportError("the server's answer is not a JSON object")
    return found


def error_of(status: int, body: bytes, retry_after: str = "") -> ApiError:
    """The error that a refusal carries, also where a proxy answered without a Status."""
    try:
        found = loads(body)
    except TransportError:
        found = {}
    if found.get("kind") != "Status":
        text = body[:256].decode("utf-8", "replace").strip()
        found = {"message": f"the server answered {status}: {text}" if text else ""}
    error = from_status(found, status)
    if retry_after.isdigit() and error.retry_after_seconds is None:
        error.details["retryAfterSeconds"] = int(retry_after)
    return error


def _prune(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _prune(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_prune(item) for item in value]
    return value
