"""A very small API server for tests of clients: real bytes, real revisions, and switches for its moods.

It knows objects, revisions, lists in pages, watches with bookmarks, and conditional merge patches. It checks
nothing about the objects themselves: that is what the embedded server is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.status import already_exists, modified, not_found, to_status
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.errors import ApiError, BadRequest, Gone, Invalid, NotFound
from vacate.wire.framing import INITIAL_EVENTS_END, frame
from vacate.wire.message import Request, Response

Where = tuple[str, str, str]  # resource, namespace, name


@dataclass
class TinyServer:
    stream_lists: bool = True  # whether it understands sendInitialEvents
    revision: int = 0
    compacted: int = 0  # watches from before this revision get 410
    objects: dict[Where, Obj] = field(default_factory=dict)
    log: list[tuple[int, str, Where, Obj]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    streams: list[TinyStream] = field(default_factory=list)
    kinds: Sequence[Kind] = SERVED_KINDS

    async def handle(self, request: Request) -> Response:
        self.requests.append(request)
        await asyncio.sleep(0)
        try:
            return self._answer(request)
        except ApiError as error:
            return Response(error.status_code, orjson.dumps(to_status(error)))

    def put(self, kind: Kind, name: str, namespace: str = "default", /, **fields: Any) -> Obj:
        """Create or replace from outside."""
        where = (kind.resource, namespace, name)
        old = self.objects.get(where)
        obj: Obj = {**fields, "apiVersion": kind.api_version, "kind": kind.kind}
        uid = old["metadata"]["uid"] if old else f"uid-{self.revision + 1}"
        obj["metadata"] = {**fields.get("metadata", {}), "name": name, "namespace": namespace, "uid": uid}
        return self._store(where, obj, "MODIFIED" if old else "ADDED")

    def remove(self, kind: Kind, name: str, namespace: str = "default") -> None:
        where = (kind.resource, namespace, name)
        self._store(where, dict(self.objects[where]), "DELETED")

    def compact(self) -> None:
        self.compacted = self.revision
        self.log.clear()

    def bookmark(self) -> None:
        """A bookmark at the present revision to every watcher."""
        for stream in self.streams:
            stream.feed(self._bookmark())

    def count(self, *, watch: bool) -> int:
        return sum(("watch" in request.query) is watch for request in self.requests)

    def _store(self, where: Where, obj: Obj, type_: str) -> Obj:
        self.revision += 1
        obj["metadata"] = {**obj["metadata"], "resourceVersion": str(self.revision)}
        if type_ == "DELETED":
            del self.objects[where]
        else:
            self.objects[where] = obj
        self.log.append((self.revision, type_, where, obj))
        for stream in self.streams:
            if where[0] == stream.resource:
                stream.feed(frame(type_, orjson.dumps(obj)))
        return obj

    def _bookmark(self, *, end: bool = False) -> bytes:
        metadata: Obj = {"resourceVersion": str(self.revision)}
        if end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        return frame("BOOKMARK", orjson.dumps({"metadata": metadata}))

    def _answer(self, request: Request) -> Response:
        if (version := request.path.removeprefix("/apis/")).count("/") == 1:
            if version not in {kind.api_version for kind in self.kinds}:
                raise NotFound("the server could not find the requested resource")
            return _ok({"kind": "APIResourceList", "groupVersion": version, "resources": []})
        kind, namespace, name = _route(request.path, self.kinds)
        match request.method:
            case "GET" if name:
                return _ok(self._found(kind, (kind.resource, namespace, name)))
            case "GET" if "watch" in request.query:
                return self._watch(kind, request)
            case "GET":
                return self._list(kind, request)
            case "POST":
                return self._create(kind, namespace, orjson.loads(request.body))
            case "PATCH":
                return self._patch(kind, (kind.resource, namespace, name), orjson.loads(request.body))
            case "DELETE":
                self._found(kind, (kind.resource, namespace, name))
                self.remove(kind, name, namespace)
                return _ok({"kind": "Status", "status": "Success"})
        raise BadRequest(f"{request.method} is not for this server")

    def _found(self, kind: Kind, where: Where) -> Obj:
        if where not in self.objects:
            raise not_found(kind, where[2])
        return self.objects[where]

    def _list(self, kind: Kind, request: Request) -> Response:
        token = request.query.get("continue", "")
        start, at = (map(int, token.split("@"))) if token else (0, self.revision)
        if token and at <= self.compacted:
            raise Gone("The provided continue parameter is too old")
        everything = [obj for where, obj in sorted(self.objects.items()) if where[0] == kind.resource]
        limit = int(request.query.get("limit", 0)) or len(everything)
        metadata: Obj = {"resourceVersion": str(at)}
        if start + limit < len(everything):
            metadata["continue"] = f"{start + limit}@{at}"
        return _ok({"metadata": metadata, "items": everything[start : start + limit]})

    def _watch(self, kind: Kind, request: Request) -> Response:
        version = request.query.get("resourceVersion", "")
        initial = request.query.get("sendInitialEvents") == "true"
        if initial and not self.stream_lists:
            raise Invalid("sendInitialEvents is forbidden for watch")
        if version and int(version) < self.compacted:
            raise Gone(f"too old resource version: {version} ({self.compacted})")
        stream = TinyStream(self, kind.resource)
        if initial:
            for where, obj in sorted(self.objects.items()):
                if where[0] == kind.resource:
                    stream.feed(frame("ADDED", orjson.dumps(obj)))
            stream.feed(self._bookmark(end=True))
        for revision, type_, where, obj in self.log:
            if version and revision > int(version) and where[0] == kind.resource:
                stream.feed(frame(type_, orjson.dumps(obj)))
        self.streams.append(stream)
        return Response(200, stream)

    def _create(self, kind: Kind, namespace: str, obj: Obj) -> Response:
        where = (kind.resource, namespace, obj["metadata"]["name"])
        if where in self.objects:
            raise already_exists(kind, where[2])
        return _ok(self.put(kind, where[2], namespace, **obj), 201)

    def _patch(self, kind: Kind, where: Where, change: Obj) -> Response:
        old = self._found(kind, where)
        expected = change.pop("metadata", {}).get("resourceVersion")
        if expected and expected != old["metadata"]["resourceVersion"]:
            raise modified(kind, where[2])
        fields = {**old, **{key: _merged(old.get(key), value) for key, value in change.items()}}
        return _ok(self.put(kind, where[2], where[1], **fields))


class TinyStream:
    """One watch: chunks wait here until they are read."""

    def __init__(self, server: TinyServer, resource: str) -> None:
        self.resource = resource
        self.closed = False
        self._server = server
        self._chunks: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    def feed(self, chunk: bytes) -> None:
        self._chunks.put_nowait(chunk)

    def end(self) -> None:
        self._chunks.put_nowait(None)

    def fail(self, error: Exception) -> None:
        self._chunks.put_nowait(error)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def aclose(self) -> None:
        self.closed = True
        if self in self._server.streams:
            self._server.streams.remove(self)


def _merged(old: Any, change: Any) -> Any:
    return {**old, **change} if isinstance(old, dict) and isinstance(change, dict) else change


def _ok(obj: Obj, status: int = 200) -> Response:
    return Response(status, orjson.dumps(obj))


def _route(path: str, kinds: Sequence[Kind]) -> tuple[Kind, str, str]:
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    group = "" if parts[0] == "api" else parts[1]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    kind = next(kind for kind in kinds if kind.plural == rest[0] and kind.group == group)
    return kind, namespace, rest[1] if len(rest) > 1 else ""
