"""Pages for many users: each sees with their own token, and the program has none."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import ClientPayloadError, ClientResponse, ClientSession, DummyCookieJar
from aiohttp.test_utils import TestServer

from support.waiting import LIMIT
from vacate.api.identity import MASTERS
from vacate.api.kinds import NODES
from vacate.cli.common.connection import Cluster
from vacate.cli.web.reads import reads_of
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import seeded_entropy, system_entropy
from vacate.errors import Unauthorized
from vacate.web import signin
from vacate.web.actions import Outcome
from vacate.web.feed import Feed
from vacate.web.server import WebServer
from vacate.web.signin import SignIn, Users
from vacate.web.site import Site
from vacate.wire.message import Peer, Request, Response

pytestmark = pytest.mark.process

CLOCK = SystemClock()
PEERS = {"admins": Peer("ada", (MASTERS,)), "nobodys": Peer("bob", ())}
"""Who the API server takes the owner of a token for."""


class Checked(InProcessTransport):
    """As a real server does: each request is authenticated, and an expired token is refused."""

    def __init__(self, server: Any, token: str, expired: set[str]) -> None:
        super().__init__(server, PEERS[token])
        self._token, self._expired = token, expired

    async def send(self, request: Request) -> Response:
        if self._token in self._expired:
            raise Unauthorized("Unauthorized")
        return await super().send(request)


@dataclass
class Pages:
    """A browser without a memory of its own, so that each test says what it sends."""

    base: str
    host: str
    session: ClientSession
    expired: set[str]
    ran: list[tuple[str, list[str]]] = field(default_factory=list)

    async def ask(self, method: str, path: str, cookie: str = "", **more: Any) -> ClientResponse:
        headers = {**more.pop("headers", {})}
        if cookie:
            headers["Cookie"] = f"{self.cookie_name}={cookie}"
        if method == "POST":
            headers.setdefault("Origin", self.base)
        answer = await self.session.request(
            method, self.base + path, headers=headers, allow_redirects=False, **more
        )
        await answer.read()
        return answer

    @property
    def cookie_name(self) -> str:
        return f"vacate-{self.host.partition(':')[2]}"

    async def sign_in(self, token: str) -> str:
        answer = await self.ask("POST", "/sign-in", data={"token": token, "after": "/nodes?q=x"})
        assert (answer.status, answer.headers["Location"]) == (303, "/nodes?q=x")
        shown = answer.headers["Set-Cookie"]
        assert "HttpOnly" in shown
        assert "SameSite=Strict" in shown
        assert token not in shown
        return str(answer.cookies[self.cookie_name].value)

    async def text_with(self, path: str, wanted: str, cookie: str) -> str:
        while wanted not in (found := await (await self.ask("GET", path, cookie)).text()):
            await CLOCK.sleep(0.02)
        return found


@asynccontextmanager
async def pages(hosts: tuple[str, ...] = ()) -> AsyncIterator[Pages]:
    api = await open_server(ServerParts(MemoryLog(), CLOCK, seeded_entropy(1)))
    admin = Client(InProcessTransport(api, Peer("admin", (MASTERS,))))
    await admin.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    expired: set[str] = set()
    ran: list[tuple[str, list[str]]] = []

    @asynccontextmanager
    async def connect(token: str, leave: str) -> AsyncIterator[Site]:
        if token not in PEERS:
            raise Unauthorized("Unauthorized")
        client = Client(Checked(api, token, expired))

        async def run(words: Any) -> Outcome:
            ran.append((token, list(words)))
            return Outcome(0, "printed")

        reads = reads_of(Cluster(client, "default", CLOCK), run)
        user = await reads.user()
        feed = Feed(client, CLOCK, seeded_entropy(2), context="", program="vacate", user=user, leave=leave)
        async with feed.running():
            yield Site(feed, reads)

    users = Users(connect, CLOCK, system_entropy())
    server = WebServer(SignIn(users, CLOCK, system_entropy(), hosts), seeded_entropy(5))
    try:
        async with (
            asyncio.timeout(LIMIT),
            TestServer(server.application()) as listening,
            ClientSession(cookie_jar=DummyCookieJar()) as session,
        ):
            host = f"127.0.0.1:{listening.port}"
            yield Pages(f"http://{host}", host, session, expired, ran)
            await users.close()
    finally:
        await api.storage.store.aclose()


async def test_whoever_has_no_token_sees_the_form_and_nothing_else() -> None:
    async with pages() as page:
        for path in ("/drains", "/events?at=/drains", "/health", "/plan.svg", "/act/drain?node=node-1"):
            answer = await page.ask("GET", path)
            assert answer.status == 401
            assert "Sign in to Vacate" in await answer.text()
            assert "node-1" not in (await answer.text()).replace("node=node-1", "")
            assert answer.headers["Cache-Control"] == "no-store"
        assert (await page.ask("GET", "/static/style.css")).status == 200


@pytest.mark.parametrize("token", ["", "wrong", "a b\r\nX: y", "x" * 20_000])
async def test_a_token_that_is_none_lets_nobody_in(token: str) -> None:
    async with pages() as page:
        answer = await page.ask("POST", "/sign-in", data={"token": token})
        assert answer.status == 401
        assert "Set-Cookie" not in answer.headers
        proxied = {"Authorization": f"Bearer {token}".replace("\r\n", "")}
        if len(token) < 8000:  # more than a header holds
            assert (await page.ask("GET", "/drains", headers=proxied)).status == 401


async def test_each_user_sees_with_their_own_rights() -> None:
    async with pages() as page:
        ada, bob = await page.sign_in("admins"), await page.sign_in("nobodys")
        assert "You are ada." in await page.text_with("/nodes", "node-1", ada)
        seen = await page.text_with("/nodes", "you may not read them", bob)
        assert "You are bob." in seen
        assert "/nodes/node-1" not in seen


async def test_the_token_of_a_proxy_counts_and_no_cookie_of_another_user() -> None:
    async with pages(("vacate.example.com",)) as page:
        ada = await page.sign_in("admins")
        headers = {"Host": "vacate.example.com", "Authorization": "Bearer nobodys"}
        answer = await page.ask("GET", "/nodes", headers=headers)
        assert "You are bob." in await answer.text()
        headers = {"Authorization": "Bearer nobodys", "Cookie": f"{page.cookie_name}={ada}"}
        assert "You are bob." in await (await page.ask("GET", "/nodes", headers=headers)).text()
        for other in ("Basic YTpi", "Bearer", "Negotiate x"):
            headers = {"Authorization": other, "Cookie": f"{page.cookie_name}={ada}"}
            assert (await page.ask("GET", "/nodes", headers=headers)).status == 401


async def test_an_action_is_done_with_the_token_of_the_one_whose_form_it_is() -> None:
    async with pages() as page:
        ada, bob = await page.sign_in("admins"), await page.sign_in("nobodys")
        shown = await (await page.ask("GET", "/act/drain?node=node-1", ada)).text()
        token = shown.partition('name="token" value="')[2].partition('"')[0]
        form = {"node": "node-1", "token": token}
        refused = await page.ask("POST", "/act/drain", bob, data=form)
        assert refused.status == 403
        assert "Done" in await (await page.ask("POST", "/act/drain", ada, data=form)).text()
        assert {whose for whose, _ in page.ran} == {"admins"}
        assert page.ran[-1][1][:2] == ["drain", "node/node-1"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/drains", {"Host": "attacker.example"}),
        ("/drains", {"Host": "127.0.0.1.attacker.example:80"}),
        ("/drains", {"Origin": "http://attacker.example"}),
        ("/drains", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}),
        ("/sign-in", {"Origin": "http://attacker.example"}),
        ("/sign-in", {"Origin": "null"}),
    ],
)
async def test_other_sites_are_refused(path: str, headers: dict[str, str]) -> None:
    async with pages() as page:
        ada = await page.sign_in("admins")
        method = "POST" if path == "/sign-in" else "GET"
        answer = await page.ask(method, path, ada, headers=headers, data={"token": "admins"})
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers


async def test_whoever_signs_out_is_out() -> None:
    async with pages() as page:
        ada = await page.sign_in("admins")
        await page.text_with("/drains", 'action="/sign-out"', ada)
        await page.ask("POST", "/sign-out", ada)
        assert (await page.ask("GET", "/drains", ada)).status == 401


async def test_an_expired_token_ends_what_is_open_and_asks_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A watch outlives the token that it was opened with."""
    monkeypatch.setattr(signin, "_CHECK_SECONDS", 0.05)
    async with pages() as page:
        ada = await page.sign_in("admins")
        await page.text_with("/nodes", "node-1", ada)
        headers = {"Cookie": f"{page.cookie_name}={ada}"}
        async with page.session.get(f"{page.base}/events?at=/nodes", headers=headers) as stream:
            page.expired.add("admins")
            with contextlib.suppress(ClientPayloadError):
                while await stream.content.readany():
                    pass
        answer = await page.ask("GET", "/nodes", ada)
        assert answer.status == 401
        assert "does not accept this token" in await answer.text()
        page.expired.clear()
        assert "node-1" in await page.text_with("/nodes", "node-1", await page.sign_in("admins"))


async def test_room_is_made_of_those_who_do_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signin, "MAX_USERS", 1)
    async with pages() as page:
        ada = await page.sign_in("admins")
        bob = await page.sign_in("nobodys")
        await page.text_with("/drains", "You are bob.", bob)
        headers = {"Cookie": f"{page.cookie_name}={bob}"}
        async with page.session.get(f"{page.base}/events?at=/nodes", headers=headers):
            answer = await page.ask("GET", "/drains", ada)
            assert answer.status == 503
            assert "1 users look at these pages already" in await answer.text()
        await page.text_with("/drains", "You are ada.", ada)
