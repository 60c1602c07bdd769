"""Who is let in, and what is kept for each of them. Here: one browser, by a token that is used up."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

from vacate.entropy import Entropy
from vacate.web.access import Gate
from vacate.web.pages.frame import refused_document
from vacate.web.site import Site

LOOPBACK = "127.0.0.1"
MAX_TABS, MAX_OFFERS = 100, 100
"""Of one visitor: the tabs that are open or may come back, and the actions that await a confirmation."""

_FORM_SECONDS = 10.0  # after which a form that has not arrived is given up
_OWN_ADDRESS = re.compile(r"/(?![/\\])[!-\[\]-~]{0,4000}")


@dataclass(slots=True)
class Tab:
    """What a browser's tab has been sent."""

    number: int = 0
    title: str = ""
    parts: dict[str, bytes] = field(default_factory=dict)


class Visitor:
    """Someone who was let in: the pages with their rights, and the tabs that they have open."""

    def __init__(self, site: Site, entropy: Entropy) -> None:
        self.site = site
        self._entropy = entropy
        self._offers: OrderedDict[str, Sequence[str]] = OrderedDict()
        self.streams: dict[object, asyncio.Task[object]] = {}  # by the name of the tab, if it has one
        self._tabs: OrderedDict[str, Tab] = OrderedDict()

    def tab(self, name: str) -> Tab:
        """What the tab has; nothing, where it is not known."""
        return self._tabs.get(name) or Tab()

    def remember(self, name: str, tab: Tab) -> None:
        """Keep what the tab has; the oldest is forgotten."""
        self._tabs[name] = tab
        self._tabs.move_to_end(name)
        while len(self._tabs) > MAX_TABS:
            self._tabs.popitem(last=False)

    def offer(self, command: Sequence[str]) -> str:
        """Remember that this command was shown to the visitor; what confirms it, once."""
        token = secret(self._entropy)
        self._offers[token] = command
        while len(self._offers) > MAX_OFFERS:
            self._offers.popitem(last=False)
        return token

    def confirmed(self, token: str) -> Sequence[str]:
        """The command that the token confirms; none where it was confirmed before."""
        return self._offers.pop(token, ())

    def has_room(self, name: str) -> bool:
        """Whether another tab can be followed."""
        return len(self.streams) < MAX_TABS or name in self.streams

    @contextlib.contextmanager
    def following(self, name: str) -> Iterator[None]:
        """The stream of a tab for as long as the block runs. An older one of that tab ends: what it sends
        reaches nobody any more, and would count as seen."""
        task = asyncio.current_task()
        assert task is not None
        key: object = name or task
        if (old := self.streams.get(key)) is not None:
            old.cancel()
        self.streams[key] = task
        try:
            yield
        finally:
            if self.streams.get(key) is task:
                del self.streams[key]

    def leave(self) -> None:
        """End what is open."""
        self.site.close()
        for stream in self.streams.values():
            stream.cancel()


class Visitors(Protocol):
    """Those who may be let in; decides about every request."""

    def opened(self, port: int) -> str:
        """The server listens at this port now; the address to open."""
        ...

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """Why a request comes from another site; empty where it does not."""
        ...

    async def admit(self, request: web.Request) -> Visitor | web.StreamResponse:
        """Whose request it is, or what is answered in place of a page."""
        ...

    async def close(self) -> None:
        """All visitors leave."""
        ...


class OneBrowser:
    """The program of one person, on their machine."""

    def __init__(self, site: Site, entropy: Entropy) -> None:
        self.gate = Gate((), "", secret(entropy), secret(entropy))
        self.visitor = Visitor(site, entropy)

    def opened(self, port: int) -> str:
        """From now on requests for this port are answered; the address has the token that lets one in."""
        self.gate.hosts = (f"{LOOPBACK}:{port}", f"localhost:{port}")
        self.gate.cookie_name = f"vacate-{port}"  # cookies know no ports: two programs must not share one
        return f"http://{LOOPBACK}:{port}/?token={self.gate.token}"

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """As the gate decides it."""
        return self.gate.refusal(method, headers)

    async def admit(self, request: web.Request) -> Visitor | web.StreamResponse:
        """Accepts the cookie, or the token, which becomes a cookie and is removed from the address."""
        known = self.gate.admits_session(request.cookies.get(self.gate.cookie_name, ""))
        if "token" in request.query:
            return self._enter(request, known=known)
        if known:
            return self.visitor
        return answer(
            401,
            refused_document(
                "Open the address that the program has printed",
                "It lets one browser in, once. If it has been used, end the program with Ctrl-C and "
                "start it again. If you have followed a link from elsewhere, open the page here.",
                link=request.path_qs if request.path != "/events" else "/drains",
            ),
        )

    async def close(self) -> None:
        """End what is open."""
        self.visitor.leave()

    def _enter(self, request: web.Request, *, known: bool) -> web.StreamResponse:
        if not known and not self.gate.admits_token(request.query["token"]):
            text = "It lets one browser in, once. End the program with Ctrl-C and start it again."
            return answer(401, refused_document("This address has been used, or is another one's", text))
        found = redirect(str(request.rel_url.without_query_params("token")))
        if not known:
            found.set_cookie(
                self.gate.cookie_name, self.gate.session, httponly=True, samesite="Strict", path="/"
            )
        return found


async def form_of(request: web.Request) -> dict[str, str]:
    """A form as these pages send it; others are refused, and one that does not come to its end."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPUnsupportedMediaType
    try:
        async with asyncio.timeout(_FORM_SECONDS):
            return {key: one for key, one in (await request.post()).items() if isinstance(one, str)}
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (ValueError, LookupError):  # of a text that is none, or of an unknown character set
        raise web.HTTPBadRequest from None


def answer(status: int, text: str) -> web.Response:
    """A document without a page."""
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


def redirect(address: str) -> web.Response:
    """To an address of ours: what a browser takes for two slashes begins another host's."""
    own = address if _OWN_ADDRESS.fullmatch(address) else "/drains"
    return web.Response(status=303, headers={"Location": own})


def secret(entropy: Entropy) -> str:
    """What nobody can guess."""
    return f"{entropy.uid()}{entropy.uid()}".replace("-", "")
