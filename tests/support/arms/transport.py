"""Arms over a transport of Vacate's own client: in one process, or over HTTPS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import orjson
from multidict import CIMultiDict, MultiDict

from support.arms import arm as arms
from support.arms.arm import ADMIN, JSON, Answer, As, Event, Obj, Query
from vacate.client.transport import Transport
from vacate.wire.framing import LineSplitter
from vacate.wire.message import Request, Response

Compact = Callable[[], Awaitable[None]]


class TransportArm:
    """Requests as they are, answers whole."""

    def __init__(
        self, name: str, admin: Transport, anonymous: Transport, compact: Compact | None = None
    ) -> None:
        self.name = name
        self._admin = admin
        self._anonymous = anonymous
        self._compact = compact

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
        accept: str = JSON,
        as_user: As | None = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        request = _request(method, path, body, query, accept, as_user)
        if body is not None:
            request.headers.add("Content-Type", content_type)  # type: ignore[union-attr]
        if headers:
            request.headers.update(headers)  # type: ignore[union-attr]
        return await answer_of(await self._transport(as_user).send(request))

    async def open_watch(
        self, path: str, query: Query = (), *, accept: str = JSON, as_user: As | None = ADMIN
    ) -> arms.Stream:
        query = [*arms.pairs(query), ("watch", "true")]
        response = await self._transport(as_user).send(_request("GET", path, None, query, accept, as_user))
        assert response.status == 200, response.body
        assert not isinstance(response.body, bytes)
        return LineStream(response)

    async def given(self, method: str, path: str, body: Any = None, *, content_type: str = JSON) -> Obj:
        answer = await self.call(method, path, body=body, content_type=content_type)
        assert not answer.failed, f"{method} {path}: {answer.code} {answer.message}"
        return answer.obj

    async def drop(self, path: str) -> None:
        await self.call("DELETE", path)

    async def forget_history(self) -> None:
        assert self._compact is not None, f"{self.name} has no way to compact its storage"
        await self._compact()

    async def aclose(self) -> None:
        await self._admin.aclose()
        await self._anonymous.aclose()

    def _transport(self, as_user: As | None) -> Transport:
        return self._anonymous if as_user is not None and as_user.anonymous else self._admin


class LineStream:
    """A watch whose events are lines of JSON."""

    def __init__(self, response: Response) -> None:
        assert not isinstance(response.body, bytes)
        self._body = response.body
        self._chunks: AsyncIterator[bytes] = aiter(response.body)
        self._splitter = LineSplitter()
        self._lines: list[bytes] = []

    async def next(self, seconds: float = 60.0) -> Event | None:
        async with asyncio.timeout(seconds):
            while not self._lines:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    return None
                self._lines = self._splitter.feed(chunk)
        return event_of(self._lines.pop(0))

    async def aclose(self) -> None:
        await self._body.aclose()


def event_of(line: bytes) -> Event:
    """An event from its line."""
    frame = orjson.loads(line)
    return Event(frame["type"], frame["object"])


def json_bytes(body: Any) -> bytes:
    """A body as it is sent."""
    return b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)


async def answer_of(response: Response) -> Answer:
    """A response, taken apart; a stream is read to its end."""
    body = response.body
    if not isinstance(body, bytes):
        body = b"".join([chunk async for chunk in body])
    text = body.decode()
    obj = _parsed(body)
    return from_status(response.status, obj, text, CIMultiDict(response.headers))


def from_status(code: int, obj: Obj, text: str, headers: Mapping[str, str]) -> Answer:
    """An answer from a whole response."""
    if code < 400:
        return Answer(failed=False, code=code, obj=obj, text=text, headers=headers)
    details = obj.get("details") or {}
    listed = [f"{one.get('field', '')}: {one.get('message', '')}" for one in details.get("causes", ())]
    reason = str(obj.get("reason", ""))
    return Answer(
        failed=True,
        code=code,
        obj=obj,
        text=text,
        headers=headers,
        reason=reason,
        message=str(obj.get("message", text)),
        field_errors=tuple(dict.fromkeys(listed)) if reason == "Invalid" else (),
        details=details,
    )


def _parsed(body: bytes) -> Obj:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _request(method: str, path: str, body: Any, query: Query, accept: str, as_user: As | None) -> Request:
    headers = CIMultiDict({"Accept": accept})
    if as_user is not None and not as_user.anonymous:
        headers["Impersonate-User"] = as_user.name
        for group in as_user.groups:
            headers.add("Impersonate-Group", group)
        if as_user.uid:
            headers["Impersonate-Uid"] = as_user.uid
    return Request(method, path, MultiDict(arms.pairs(query)), headers, json_bytes(body))
