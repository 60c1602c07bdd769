"""The HTTP side: who is let in, pages as HTML, and one stream of differences for each tab."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from importlib import resources
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from yarl import URL

from vacate.api.times import format_time
from vacate.entropy import Entropy
from vacate.errors import ConfigError
from vacate.web.access import HEADERS, same
from vacate.web.actions import ACTIONS
from vacate.web.components import Page
from vacate.web.door import LOOPBACK, Door, Tab, Visitor, answer
from vacate.web.markup import difference, parts_of
from vacate.web.pages.frame import body_of, document, refused_document, title_of
from vacate.web.site import Site
from vacate.web.snapshot import Snapshot

_STATIC = {"style.css": "text/css", "page.js": "text/javascript", "parts.js": "text/javascript"}
_COALESCE_SECONDS = 0.2
_LOOK_AGAIN_SECONDS = 10.0
_SHARE_OF_TIME, _MAX_PAUSE_SECONDS = 4.0, 0.6
"""A page that takes long to make is made less often, so that bursts of changes leave time for others, and yet
often enough for a change to be on it within a second."""

_VISITOR: ContextVar[Visitor] = ContextVar("visitor")  # whose request it is
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServer:
    """Serves the pages on loopback, to whom the door lets in."""

    def __init__(self, door: Door, entropy: Entropy) -> None:
        self._door = door
        self._entropy = entropy
        self._static = {name: _read_static(name) for name in _STATIC}

    @contextlib.asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[str]:
        """Serve for as long as the block runs; the address to open."""
        app = self.application()
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2.0)
        await runner.setup()
        try:
            yield self._door.opened(await self._listen(runner, port))
        finally:
            await self._door.close()
            await runner.cleanup()

    def application(self) -> web.Application:
        """The application, for a server or for a test."""
        app = web.Application(middlewares=[self._guard], client_max_size=64 * 1024)
        app.router.add_get("/events", self._events)
        app.router.add_get("/static/{name}", self._static_file)
        app.router.add_get("/plan.svg", self._picture)
        app.router.add_get("/act/{action}", self._preview)
        app.router.add_post("/act/{action}", self._act)
        app.router.add_get("/{path:.*}", self._page)
        return app

    async def _listen(self, runner: web.AppRunner, port: int) -> int:
        try:
            await web.TCPSite(runner, LOOPBACK, port).start()
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is taken by another program; choose another, or 0 for any free one" if taken else error
            raise ConfigError(f"--port: {LOOPBACK}:{port}: {why}") from error
        return int(runner.addresses[0][1])

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every answer has the headers, and every request passes the gate."""
        if why := self._door.refusal(request.method, request.headers):
            return answer(403, refused_document("This page cannot be asked for so", why))
        if not request.path.startswith("/static/"):
            found = await self._door.admit(request)
            if not isinstance(found, Visitor):
                return found
            _VISITOR.set(found)
        response = await handler(request)
        if not response.prepared:
            response.headers.update({name: HEADERS[name] for name in HEADERS if name not in response.headers})
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(status=303, headers={"Location": "/drains"})
        visitor = _VISITOR.get()
        await visitor.site.feed.wait_first()
        snapshot, page = await visitor.site.page(request.path, request.query)
        body = body_of(snapshot, page)
        tab = self._entropy.uid()
        visitor.remember(tab, Tab(0, title_of(snapshot, page), parts_of(body)))
        status = 404 if page.title == "Not found" else 200
        return web.Response(
            text=document(snapshot, page, tab, body), content_type="text/html", charset="utf-8", status=status
        )

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        """The picture of a plan. As an image it runs nothing; its own styles are all that it may have."""
        visitor = _VISITOR.get()
        found = visitor.site.picture(request.query)
        if not found:
            raise web.HTTPNotFound(headers=HEADERS)
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        answer = web.Response(text=found, content_type="image/svg+xml", charset="utf-8", headers=HEADERS)
        answer.headers["Content-Security-Policy"] = policy
        return answer

    async def _preview(self, request: web.Request) -> web.StreamResponse:
        """An action before it is done."""
        action = ACTIONS.get(request.match_info["action"])
        if action is None:
            raise web.HTTPNotFound(headers=HEADERS)
        visitor = _VISITOR.get()
        return _shown(await visitor.site.preview(action, request.query, visitor.form_token))

    async def _act(self, request: web.Request) -> web.StreamResponse:
        """Do it: only from a form of our own, whose token no other page knows."""
        action = ACTIONS.get(request.match_info["action"])
        form = {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
        visitor = _VISITOR.get()
        if action is None or not same(form.pop("token", ""), visitor.form_token):
            text = "Open the page again, and begin there."
            return answer(403, refused_document("This does not come from the page", text))
        return _shown(await visitor.site.act(action, form))

    async def _static_file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in self._static:
            raise web.HTTPNotFound(headers=HEADERS)
        return web.Response(body=self._static[name], content_type=_STATIC[name], charset="utf-8")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Differences of one page, until the tab is closed."""
        name, at = request.query.get("tab", ""), urlsplit(request.query.get("at", "/drains"))
        visitor = _VISITOR.get()
        tab = visitor.tab(name)
        if request.headers.get("Last-Event-ID", str(tab.number)) != str(tab.number):
            tab = Tab(tab.number)  # something was lost on the way: all of it again
        visitor.remember(name, tab)
        headers = {**HEADERS, "Content-Type": "text/event-stream; charset=utf-8"}
        out = web.StreamResponse(headers=headers)
        await out.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        visitor.streams.add(task)
        try:
            await out.write(b"retry: 1000\n\n")
            await _follow(out, visitor.site, tab, URL(f"{at.path}?{at.query}"))
        except ConnectionError:
            pass  # the tab was closed
        finally:
            visitor.streams.discard(task)
        return out


async def _follow(out: web.StreamResponse, site: Site, tab: Tab, at: URL) -> None:
    feed, clock = site.feed, site.feed.clock
    while True:
        version, began = feed.version, clock.monotonic()
        snapshot, page = await site.page(at.path, at.query)
        parts, title = parts_of(body_of(snapshot, page)), title_of(snapshot, page)
        changed = difference(tab.parts, parts)
        if changed or title != tab.title:
            message = {"now": format_time(snapshot.now), "title": title, "parts": changed}
            tab.number, tab.parts, tab.title = tab.number + 1, parts, title
            await out.write(b"id: %d\ndata: %b\n\n" % (tab.number, msgspec.json.encode(message)))
        else:
            await out.write(b": still here\n\n")
        pause = min(_SHARE_OF_TIME * (clock.monotonic() - began), _MAX_PAUSE_SECONDS)
        await clock.sleep(max(_COALESCE_SECONDS, pause))
        await feed.wait_change(version, _LOOK_AGAIN_SECONDS)


def _shown(found: tuple[Snapshot, Page]) -> web.Response:
    """A page that is not followed: to make it again would run its command again."""
    snapshot, page = found
    text = document(snapshot, page, "", body_of(snapshot, page))
    return web.Response(text=text, content_type="text/html", charset="utf-8")


def _read_static(name: str) -> bytes:
    return resources.files("vacate.web").joinpath("static", name).read_bytes()
