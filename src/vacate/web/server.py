"""The HTTP side: who is let in, pages as HTML, and one stream of differences for each tab."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from importlib import resources
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from yarl import URL

from vacate.api.times import format_time
from vacate.entropy import Entropy
from vacate.errors import ConfigError
from vacate.web.access import HEADERS
from vacate.web.actions import ACTIONS, Action
from vacate.web.components import Page
from vacate.web.markup import Element, difference, parts_of
from vacate.web.pages.frame import body_of, document, refused_document, title_of
from vacate.web.site import DEFECT, Query, Site, trouble
from vacate.web.snapshot import Snapshot
from vacate.web.visitors import LOOPBACK, Tab, Visitor, Visitors, answer, form_of

log = logging.getLogger(__name__)

_STATIC = {"style.css": "text/css", "page.js": "text/javascript", "parts.js": "text/javascript"}
_COALESCE_SECONDS = 0.2
ALIVE_SECONDS = 1.0
"""A tab hears from the program so often: one that is frozen breaks no connection."""

_LOOK_AGAIN_SECONDS = 10.0
_UNREAD_SECONDS = 30.0  # after which a tab that reads nothing is given up; its browser comes back for it
_SHARE_OF_TIME, _MAX_PAUSE_SECONDS = 4.0, 0.6
"""A page that takes long to make is made less often, so that bursts of changes leave time for others, and yet
often enough for a change to be on it within a second."""

_SHARE_OF_TABS = 2.0  # many tabs together take half of the time, however long that makes each of them wait
_MAX_SPENT_SECONDS = 0.3
"""What seems to take longer was not made all the time: its reader is slow, or the program was stopped."""

_VISITOR: ContextVar[Visitor] = ContextVar("visitor")  # whose request it is
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServer:
    """Serves the pages on loopback, to whom it knows."""

    def __init__(self, visitors: Visitors, entropy: Entropy) -> None:
        self._visitors = visitors
        self._entropy = entropy
        self._tabs = 0  # that are followed now, of all visitors
        self._static = {name: _read_static(name) for name in _STATIC}

    @contextlib.asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[str]:
        """Serve for as long as the block runs; the address to open."""
        app = self.application()
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2.0)
        await runner.setup()
        try:
            yield self._visitors.opened(await self._listen(runner, port))
        finally:
            await self._visitors.close()
            await runner.cleanup()

    def application(self) -> web.Application:
        """The application, for a server or for a test."""
        app = web.Application(middlewares=[self._guard], client_max_size=64 * 1024)
        app.on_response_prepare.append(_add_headers)
        app.router.add_get("/events", self._events, allow_head=False)
        app.router.add_get("/static/{name}", self._static_file)
        app.router.add_get("/plan.svg", self._picture)
        app.router.add_get("/act/{action}", self._preview, allow_head=False)
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
        """Every request passes the gate."""
        if why := self._visitors.refusal(request.method, request.headers):
            return answer(403, refused_document("This page cannot be asked for so", why))
        if request.match_info.handler != self._static_file:  # and no path that only looks like one
            found = await self._visitors.admit(request)
            if not isinstance(found, Visitor):
                return found
            _VISITOR.set(found)
        try:
            return await handler(request)
        except web.HTTPException:
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return answer(500, refused_document("This page cannot be shown", DEFECT, "/drains"))

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(status=303, headers={"Location": "/drains"})
        visitor = _VISITOR.get()
        await visitor.site.feed.wait_first()
        snapshot, page, body, parts = await _made(visitor.site, request.path, request.query)
        tab = self._entropy.uid()
        visitor.remember(tab, Tab(0, title_of(snapshot, page), parts))
        status = 404 if page.title == "Not found" else 200
        return web.Response(
            text=document(snapshot, page, tab, body), content_type="text/html", charset="utf-8", status=status
        )

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        """The picture of a plan. As an image it runs nothing; its own styles are all that it may have."""
        visitor = _VISITOR.get()
        found = visitor.site.picture(request.query)
        if not found:
            raise web.HTTPNotFound
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        headers = {"Content-Security-Policy": policy}
        return web.Response(text=found, content_type="image/svg+xml", charset="utf-8", headers=headers)

    async def _preview(self, request: web.Request) -> web.StreamResponse:
        """An action before it is done."""
        action = ACTIONS.get(request.match_info["action"])
        if action is None:
            raise web.HTTPNotFound
        visitor = _VISITOR.get()
        return _shown(await visitor.site.preview(action, request.query, visitor.offer))

    async def _act(self, request: web.Request) -> web.StreamResponse:
        """Do it: only what was shown, and once. No other page knows the token that stands for it."""
        action = ACTIONS.get(request.match_info["action"])
        form = await form_of(request)
        visitor = _VISITOR.get()
        offered = visitor.confirmed(form.pop("token", ""))
        if action is None or not offered or offered != _command(action, form):
            text = "A confirmation counts once, and for what was shown. Begin again."
            return answer(403, refused_document("This was confirmed before, or never shown", text, "/drains"))
        return _shown(await visitor.site.act(action, form))

    async def _static_file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in self._static:
            raise web.HTTPNotFound
        return web.Response(body=self._static[name], content_type=_STATIC[name], charset="utf-8")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Differences of one page, until the tab is closed."""
        name, at = request.query.get("tab", ""), _address(request.query.get("at", ""))
        visitor = _VISITOR.get()
        if not visitor.has_room(name):
            return answer(503, refused_document("Too many tabs are open", "Close some of them.", "/drains"))
        tab = visitor.tab(name)
        # A browser that connects again by itself sends the header; the script, which begins anew, the other.
        seen = request.headers.get("Last-Event-ID") or request.query.get("last", "0")
        if seen != str(tab.number):
            tab = Tab(tab.number)  # something was lost on the way: all of it again
        visitor.remember(name, tab)
        out = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await out.prepare(request)
        with visitor.following(name):
            alive = asyncio.create_task(_say_alive(out, visitor.site))
            self._tabs += 1
            try:
                await out.write(b"retry: 1000\n\n")
                await self._follow(out, visitor.site, tab, at)
            except ConnectionError:
                pass  # the tab was closed
            except TimeoutError:  # nobody reads it: what waits in it would stay
                if request.transport is not None:
                    request.transport.abort()
            finally:
                self._tabs -= 1
                alive.cancel()
        return out

    async def _follow(self, out: web.StreamResponse, site: Site, tab: Tab, at: URL) -> None:
        feed, clock = site.feed, site.feed.clock
        while True:
            began = clock.monotonic()
            snapshot, page, _, parts = await _made(site, at.path, at.query)
            title, changed = title_of(snapshot, page), difference(tab.parts, parts)
            if changed or title != tab.title:
                message = {"now": format_time(snapshot.now), "title": title, "parts": changed}
                tab.number, tab.parts, tab.title = tab.number + 1, parts, title
                async with asyncio.timeout(_UNREAD_SECONDS):
                    await out.write(b"id: %d\ndata: %b\n\n" % (tab.number, msgspec.json.encode(message)))
            await clock.sleep(pause_after(clock.monotonic() - began, self._tabs))
            await feed.wait_change(snapshot.version, _LOOK_AGAIN_SECONDS)


def _command(action: Action, form: Query) -> Sequence[str]:
    """What a form asks for; nothing where it cannot."""
    try:
        return action.command(form)
    except ConfigError:
        return ()


def _address(text: str) -> URL:
    """The page that a tab shows; what is no address is that of the first one."""
    try:
        found = urlsplit(text)
        return URL(f"{found.path}?{found.query}")
    except ValueError:
        return URL("/drains")


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """To every answer, also to those that the library makes."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


async def _made(site: Site, path: str, query: Query) -> tuple[Snapshot, Page, Element, dict[str, bytes]]:
    """The page of an address with all that surrounds it, and its parts.

    Where that has a defect: without what the navigation counts, and else without the page.
    """
    snapshot, page = await site.page(path, query)
    bare = replace(snapshot, maintenances=(), requests=())
    for around, shown in ((snapshot, page), (bare, page)):
        try:
            body = body_of(around, shown)
            return around, shown, body, parts_of(body)
        except Exception:  # such as a tree that is none, with a key twice
            log.exception("%s cannot be shown", path)
    shown = trouble("This page cannot be shown", DEFECT)
    body = body_of(bare, shown)
    return bare, shown, body, parts_of(body)


async def _say_alive(out: web.StreamResponse, site: Site) -> None:
    """Say that the program is there, also while a page takes long; the script listens for it."""
    with contextlib.suppress(ConnectionError):
        while True:
            await site.feed.clock.sleep(ALIVE_SECONDS)
            await out.write(b"event: alive\ndata: 1\n\n")


def pause_after(spent: float, tabs: int) -> float:
    """For how many seconds a page is not made again after it took so long, beside the other tabs."""
    spent = min(spent, _MAX_SPENT_SECONDS)
    own = max(_COALESCE_SECONDS, min(_SHARE_OF_TIME * spent, _MAX_PAUSE_SECONDS))
    return max(own, _SHARE_OF_TABS * spent * (tabs - 1))


def _shown(found: tuple[Snapshot, Page]) -> web.Response:
    """A page that is not followed: to make it again would run its command again."""
    snapshot, page = found
    text = document(snapshot, page, "", body_of(snapshot, page))
    return web.Response(text=text, content_type="text/html", charset="utf-8")


def _read_static(name: str) -> bytes:
    return resources.files("vacate.web").joinpath("static", name).read_bytes()
