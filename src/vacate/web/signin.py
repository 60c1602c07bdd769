"""Many users, each with a token of their own: the pages in a cluster.

The program has no rights. Each user's pages are read with that user's token, which comes in the header
Authorization of a proxy, or is typed in and kept here, in memory, behind a cookie. Nothing that was read for
one is shown to another: caches belong to a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ConfigError, Unauthorized, VacateError
from vacate.web.access import from_elsewhere
from vacate.web.pages.frame import refused_document, sign_in_document
from vacate.web.site import Site
from vacate.web.visitors import LOOPBACK, Visitor, answer, form_of, redirect, secret

log = logging.getLogger(__name__)

MAX_USERS = 20
"""Each has caches of the cluster. Who has not looked for the longest time gives way to another."""

_CHECK_SECONDS = 10.0  # after which it is asked again whether a token is still accepted
_IDLE_SECONDS = 1800.0
_MAX_PORT = 65535
_SESSION_SECONDS = 12 * 3600.0  # of a cookie
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,16000}")
_LOCAL = re.compile(r"(?:127\.0\.0\.1|localhost)(?::([0-9]{1,5}))?")
Connect = Callable[[str, str], AbstractAsyncContextManager[Site]]
"""The pages with the rights of a token, for as long as it is open, and where one signs out of them;
Unauthorized for a token that the API server does not accept."""

_REFUSED = "The API server does not accept this token. It may have expired; sign in with another one."


@dataclass(slots=True)
class _User:
    task: asyncio.Task[None]
    visitor: asyncio.Future[Visitor]
    used: float = 0.0


@dataclass(frozen=True, slots=True)
class _Session:
    token: str = field(repr=False)
    until: float = 0.0


class Users:
    """The users whose pages are open, by a digest of their token."""

    def __init__(self, connect: Connect, clock: Clock, entropy: Entropy) -> None:
        self._connect = connect
        self._clock = clock
        self._entropy = entropy
        self._users: dict[str, _User] = {}

    async def visitor(self, token: str, leave: str) -> Visitor:
        """The pages of a token's user; Unauthorized where the API server does not accept it."""
        if not _TOKEN.fullmatch(token):  # also an empty one, with which one would be anonymous
            raise Unauthorized("no token")
        key = hashlib.sha256(f"{leave}\n{token}".encode()).hexdigest()
        user = self._users.get(key)
        if user is None:
            self._make_room()
            opened: asyncio.Future[Visitor] = asyncio.get_running_loop().create_future()
            user = _User(asyncio.create_task(self._keep(key, token, leave, opened)), opened)
            self._users[key] = user
        user.used = self._clock.monotonic()
        return await asyncio.shield(user.visitor)

    async def close(self) -> None:
        """All of them leave."""
        tasks = [one.task for one in self._users.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _make_room(self) -> None:
        if len(self._users) < MAX_USERS:
            return
        idle = [one for one in self._users.values() if one.visitor.done() and not _streams(one)]
        if not idle:
            raise ConfigError(f"{MAX_USERS} users look at these pages already; try again later")
        min(idle, key=lambda one: one.used).task.cancel()

    async def _keep(self, key: str, token: str, leave: str, opened: asyncio.Future[Visitor]) -> None:
        """Keep the pages of one user, until nobody looks at them or the token is not accepted any more."""
        try:
            async with self._connect(token, leave) as site, _visiting(site, self._entropy) as visitor:
                opened.set_result(visitor)
                await self._watch(self._users[key], site)
        except VacateError as error:
            if not opened.done():
                opened.set_exception(error)
                opened.exception()  # nobody may be there to hear it
        except Exception as error:
            log.exception("the pages of a user have ended")
            if not opened.done():
                opened.set_exception(VacateError(f"the pages cannot be opened: {error}"))
        finally:
            self._users.pop(key, None)
            opened.cancel()

    async def _watch(self, user: _User, site: Site) -> None:
        """A watch goes on after its token has expired: so it is asked."""
        while True:
            await self._clock.sleep(_CHECK_SECONDS)
            now = self._clock.monotonic()
            if _streams(user):
                user.used = now
            if now - user.used > _IDLE_SECONDS:
                return
            try:
                await site.still_accepted()
            except Unauthorized:
                return
            except VacateError:
                pass  # the pages say that the API server does not answer


@contextlib.asynccontextmanager
async def _visiting(site: Site, entropy: Entropy) -> AsyncIterator[Visitor]:
    visitor = Visitor(site, entropy)
    try:
        yield visitor
    finally:
        visitor.leave()


def _streams(user: _User) -> bool:
    done = user.visitor.done() and not user.visitor.cancelled() and user.visitor.exception() is None
    return done and bool(user.visitor.result().streams)


class SignIn:
    """Admits users with a token that the API server accepts, and reads the cluster with that token."""

    def __init__(self, users: Users, clock: Clock, entropy: Entropy, hosts: tuple[str, ...]) -> None:
        self._users = users
        self._clock = clock
        self._entropy = entropy
        self._hosts = hosts
        self._sessions: dict[str, _Session] = {}  # by the value of the cookie

    def opened(self, port: int) -> str:
        """The address to open, on the machine or through a port-forward."""
        return f"http://{LOOPBACK}:{port}/"

    def refusal(self, method: str, headers: Mapping[str, str]) -> str:
        """A port-forward has any port of the user's machine; other names are those that were configured."""
        host = headers.get("Host", "")
        local = _LOCAL.fullmatch(host)
        if host not in self._hosts and (local is None or int(local[1] or 0) > _MAX_PORT):
            return "This page is not served under this name. Its administrator can add it with --host."
        return from_elsewhere(method, headers, (f"http://{host}", f"https://{host}"))

    async def admit(self, request: web.Request) -> Visitor | web.StreamResponse:
        """By the token of a proxy, which always counts; else by the cookie; else by the form."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme:
            token = given.strip() if scheme.lower() == "bearer" else ""
            return await self._enter(request, token, "")
        name = _cookie_name(request)
        if request.path == "/sign-in" and request.method == "POST":
            return await self._sign_in(request, name)
        session = self._sessions.get(cookie := request.cookies.get(name, ""))
        if request.path == "/sign-out" and request.method == "POST":
            self._sessions.pop(cookie, None)
            found = redirect("/drains")
            found.del_cookie(name, path="/")
            return found
        if session is None or self._clock.monotonic() > session.until:
            self._sessions.pop(cookie, None)
            return self._form(request, "")
        return await self._enter(request, session.token, "/sign-out")

    async def close(self) -> None:
        """All users leave."""
        await self._users.close()

    async def _enter(self, request: web.Request, token: str, leave: str) -> Visitor | web.StreamResponse:
        try:
            return await self._users.visitor(token, leave)
        except Unauthorized:
            if not leave:
                text = "The proxy in front of this page has sent a token that the API server does not accept."
                return answer(401, refused_document("You are not signed in", text))
            return self._form(request, _REFUSED)
        except VacateError as error:
            return answer(503, refused_document("This page cannot be shown now", str(error), _path(request)))
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            return answer(503, refused_document("Try it again", "Others needed the room.", _path(request)))

    async def _sign_in(self, request: web.Request, name: str) -> web.StreamResponse:
        form = await form_of(request)
        token, after = "".join(form.get("token", "").split()), form.get("after", "")
        entered = await self._enter(request, token, "/sign-out")
        if not isinstance(entered, Visitor):
            return entered
        cookie = secret(self._entropy)
        now = self._clock.monotonic()
        for one in [one for one, session in self._sessions.items() if session.until < now]:
            del self._sessions[one]
        self._sessions[cookie] = _Session(token, now + _SESSION_SECONDS)
        found = redirect(after)
        found.set_cookie(
            name, cookie, httponly=True, samesite="Strict", path="/",
            secure=request.headers.get("Origin", "").startswith("https:"),
        )  # fmt: skip
        return found

    def _form(self, request: web.Request, why: str) -> web.Response:
        return answer(401, sign_in_document(why, _path(request)))


def _path(request: web.Request) -> str:
    """Where the user wanted to go."""
    wanted = request.path_qs if request.method == "GET" else "/drains"
    return "/drains" if wanted.startswith(("/events", "/sign-")) else wanted


def _cookie_name(request: web.Request) -> str:
    """Cookies know no ports: two clusters that are forwarded to one machine must not share one."""
    port = urlsplit(f"//{request.headers.get('Host', '')}").port
    return f"vacate-{port or 'web'}"
