"""Answers as values: bytes into projections or dicts, refusals into errors.

A decoder is made once for each type. Lists, and objects of a watch, are decoded in one pass, straight from
the bytes. Only where that fails each object is decoded by itself, and those that cannot be are handed out as
`Unreadable`: one bad object must not hide the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec
import orjson

from vacate.api.integers import parse_integer
from vacate.api.objectidentity import Identity, Unreadable, identity_of
from vacate.api.objects import Obj
from vacate.api.status import from_status
from vacate.errors import ApiError, TransportError, UnreadableObject
from vacate.wire.framing import BOOKMARK, ERROR, INITIAL_EVENTS_END, decode_frame

T = TypeVar("T")

# How the lines begin whose object is not of the watched kind, or not a whole one.
_SPECIAL = (b'{"type":"ERROR"', b'{"type":"BOOKMARK"')


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A collection, or a page of it: the objects that could be decoded, and those that could not."""

    items: Sequence[T]
    resource_version: str
    continue_token: str = ""
    unreadable: Sequence[Unreadable] = ()


class WatchEvent(msgspec.Struct, Generic[T], gc=False, frozen=True):
    """One step of a collection. A bookmark has no object, and neither has an event that is unreadable."""

    type: str
    object: T | None
    resource_version: str
    initial_events_end: bool = False  # a bookmark that says: the present state is complete
    unreadable: Unreadable | None = None  # set instead of the object where that cannot be decoded


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
        """One object; UnreadableObject where it does not fit."""
        try:
            return cast(T, self._object.decode(body))
        except _MISFITS:
            return self.convert(loads(body))

    def convert(self, obj: Obj) -> T:
        """One object that is a dict already; UnreadableObject where it does not fit."""
        try:
            # A null means that a field is not set, which projections say by their default.
            return cast(T, msgspec.convert(_prune(obj), self._into))
        except _MISFITS as error:
            raise UnreadableObject(f"{_named(obj)} cannot be decoded: {error}") from error

    def decode_list(self, body: bytes) -> Listing[T]:
        """A list, its items in the server's order."""
        try:
            found = self._list.decode(body)
        except _MISFITS:
            return self._one_by_one(body)
        return Listing(found.items or [], found.metadata.resource_version, found.metadata.continue_)

    def decode_event(self, line: bytes) -> WatchEvent[T]:
        """One line of a watch; an ERROR line raises what it says."""
        if line.startswith(_SPECIAL):
            return self._special(line)
        try:
            event = self._envelope.decode(line)
        except _MISFITS:
            return self._event_alone(line)
        return WatchEvent(event.type, event.object, identity_of(event.object).resource_version)

    def _special(self, line: bytes) -> WatchEvent[T]:
        raw = decode_frame(line)
        obj = loads(bytes(raw.object))
        if raw.type == ERROR:
            raise from_status(obj, 500)
        meta = obj.get("metadata") or {}
        ended = (meta.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true"
        return WatchEvent(BOOKMARK, None, str(meta.get("resourceVersion", "")), ended)

    def _event_alone(self, line: bytes) -> WatchEvent[T]:
        raw = decode_frame(line)
        if raw.type in (ERROR, BOOKMARK):
            return self._special(line)
        found = self._readable(bytes(raw.object))
        if isinstance(found, Unreadable):
            return WatchEvent(raw.type, None, found.identity.resource_version, unreadable=found)
        return WatchEvent(raw.type, found, identity_of(found).resource_version)

    def _one_by_one(self, body: bytes) -> Listing[T]:
        try:
            found = _RAW_LIST.decode(body)
        except _MISFITS as error:
            raise TransportError(f"the server's answer is not a list: {error}") from error
        items: list[T] = []
        unreadable: list[Unreadable] = []
        for one in found.items or ():
            item = self._readable(bytes(one))
            unreadable.append(item) if isinstance(item, Unreadable) else items.append(item)
        meta = found.metadata
        return Listing(items, meta.resource_version, meta.continue_, unreadable)

    def _readable(self, body: bytes) -> T | Unreadable:
        """The object, or what is known about it where it cannot be decoded."""
        try:
            return self.decode(body)
        except TransportError as error:
            return Unreadable(_identity_in(body), str(error))


_RAW_LIST = msgspec.json.Decoder(_List[msgspec.Raw])
# What decoders raise: bytes that are no JSON, values of another shape, and values that are out of range.
_MISFITS = (ValueError, OverflowError, RecursionError)


def _identity_in(body: bytes) -> Identity:
    """Who the object says it is, as far as that is text; all empty where it says nothing."""
    try:
        meta = loads(body).get("metadata")
    except TransportError:
        meta = None
    given = meta if isinstance(meta, dict) else {}
    texts = (given.get(key) for key in ("namespace", "name", "uid", "resourceVersion"))
    return Identity(*(text if isinstance(text, str) else "" for text in texts))


def _named(obj: Obj) -> str:
    meta = obj.get("metadata")
    given = meta if isinstance(meta, dict) else {}
    where = "/".join(str(given[key]) for key in ("namespace", "name") if given.get(key))
    return " ".join(filter(None, (str(obj.get("kind") or "object"), where)))


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
    except (orjson.JSONDecodeError, RecursionError) as error:
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
    seconds = parse_integer(retry_after, "int32")
    if seconds is not None and seconds >= 0 and error.retry_after_seconds is None:
        error.details["retryAfterSeconds"] = seconds
    return error


def _prune(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _prune(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_prune(item) for item in value]
    return value
