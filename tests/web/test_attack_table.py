"""Each attack on each address of the pages, for one browser and for many users who sign in."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession, DummyCookieJar

from vacate.web import visitors
from vacate.web.actions import ACTIONS
from vacate.web.pages.frame import NAV
from vacate.web.server import WebServer
from web.test_attacks import form_of, runs_of
from web.test_server import web
from web.test_signin import pages

pytestmark = pytest.mark.process

NAMES = {"node": "node-1", "drain": "drain-a", "namespace": "default", "pod": "db"}
SHOWN = (
    "/", "/drains", "/drains/drain-a", "/blockers", "/nodes", "/nodes/node-1", "/requests",
    "/pods/default/db", "/interceptors", "/fencing", "/plan", "/health", "/nothing", "/plan.svg?nodes=node-1",
    "/events?at=/nodes&tab=t",
)  # fmt: skip
ACTED = {name: one.address(**{key: NAMES[key] for key in one.takes}) for name, one in ACTIONS.items()}
STATIC = ("/static/style.css", "/static/page.js", "/static/parts.js", "/static/none")
GUARDED = [*(("GET", one) for one in (*SHOWN, *ACTED.values())), *(("POST", f"/act/{one}") for one in ACTED)]
ROUTES = [*GUARDED, *(("GET", one) for one in STATIC)]
SIGN = [("POST", "/sign-in"), ("POST", "/sign-out")]


@dataclass
class Way:
    """To the pages, for a client that sends what a test says and nothing else."""

    base: str
    name: str  # of the cookie
    value: str
    ran: list[Any]
    session: ClientSession
    others: dict[str, str] = field(default_factory=dict)  # the values of other users' cookies

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str] = {}, **more: Any
    ) -> tuple[int, str, Mapping[str, str]]:
        """Status, text and headers; of a stream nothing but that it has begun."""
        url = f"{self.base}{path}"
        async with self.session.request(
            method, url, headers=headers, allow_redirects=False, **more
        ) as answer:
            text = "" if answer.content_type == "text/event-stream" else await answer.text()
            return answer.status, text, answer.headers

    async def raw(self, line: str, *headers: str, body: bytes = b"") -> tuple[int, str, str]:
        """Status, head and body of a request that no library has made well."""
        reader, writer = await asyncio.open_connection(*self.base.removeprefix("http://").split(":"))
        head = (line, f"Host: {self.base[7:]}", f"Origin: {self.base}", "Connection: close", *headers, "", "")
        with contextlib.suppress(ConnectionError):
            writer.write("\r\n".join(head).encode() + body)
            status = (await reader.readline()).split()
            if not status:
                return 0, "", ""
            found = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"(?im)^content-length: (\d+)", found)
            text = (await reader.readexactly(int(length[1]))).decode() if length else ""
            writer.transport.abort()
            return int(status[1]), found, text
        return 0, "", ""

    @property
    def own(self) -> dict[str, str]:
        """What the browser of the user sends with a form."""
        return {"Cookie": self.cookie(self.value), "Origin": self.base}

    def cookie(self, value: str) -> str:
        return f"{self.name}={value}"

    async def is_there(self) -> None:
        """The pages are, for their user."""
        assert (await self.ask("GET", "/drains", self.own))[0] == 200


@asynccontextmanager
async def one_browser() -> AsyncIterator[Way]:
    async with web() as page, ClientSession(cookie_jar=DummyCookieJar()) as session:
        gate, port = page.visitors.gate, page.browser.server.port
        yield Way(f"http://127.0.0.1:{port}", gate.cookie_name, gate.session, runs_of(page), session)


@asynccontextmanager
async def many_users() -> AsyncIterator[Way]:
    async with pages() as page:
        ada, bob = await page.sign_in("admins"), await page.sign_in("nobodys")
        for cookie, wanted in ((ada, "node-1"), (bob, "hidden from you")):
            await page.text_with("/nodes", wanted, cookie)
        yield Way(page.base, page.cookie_name, ada, page.ran, page.session, {"bob": bob})


DOORS = pytest.mark.parametrize("opened", [one_browser, many_users])
Opened = Callable[[], AbstractAsyncContextManager[Way]]


def test_no_address_is_left_out() -> None:
    listed = {one.canonical for one in WebServer(None, None).application().router.resources()}  # type: ignore[arg-type]
    assert listed == {"/events", "/static/{name}", "/plan.svg", "/act/{action}", "/{path}"}
    assert {address for _, address, _ in NAV} <= set(SHOWN)


@DOORS
async def test_nobody_is_let_in_by_a_cookie_that_is_not_theirs(opened: Opened) -> None:
    """Nor by one of before a restart: its secrets are gone with the program."""
    async with opened() as before:
        stale = before.value
        assert (await before.ask("GET", "/drains", before.own))[0] == 200
    async with opened() as way:
        good = way.value
        values = ("", "x", good[:-1], good + "0", good.upper() + "x", "*", "%00", "x" * 5000, stale)
        cookies = [way.cookie(one) for one in values]
        cookies += [f"vacate-1={good}", f"{way.name.upper()}={good}", f"session={good}", ""]
        for (method, path), cookie in product(GUARDED, cookies):
            headers = {"Origin": way.base, "Cookie": cookie} if cookie else {"Origin": way.base}
            status, text, answered = await way.ask(method, path, headers)
            assert (status, "Set-Cookie" in answered) == (401, False), (method, path, cookie)
            assert "/nodes/node-1" not in text.replace(path, ""), (method, path, cookie)
        assert way.ran == []
        await way.is_there()


@DOORS
@pytest.mark.parametrize("token", ["", "x", "used", "x" * 5000, "%00", "a%0d%0ab"])
async def test_no_token_of_an_address_is_a_cookie(opened: Opened, token: str) -> None:
    """One that was used up, or that is none; beside one, too."""
    async with opened() as way:
        for _, path in (one for one in GUARDED if one[0] == "GET"):
            sign = "&" if "?" in path else "?"
            for query in (f"token={token}", f"token={token}&token={way.value}", f"token={way.value}"):
                status, _, answered = await way.ask("GET", f"{path}{sign}{query}")
                assert (status, "Set-Cookie" in answered) == (401, False), (path, query[:50])
        await way.is_there()


FOREIGN: tuple[dict[str, str], ...] = (
    {"Host": "attacker.example"}, {"Host": "127.0.0.1.attacker.example:80"}, {"Host": ""},
    {"Origin": "http://attacker.example"}, {"Origin": "null"}, {"Origin": ""}, {"Origin": "http://127.0.0.1"},
    {"Origin": "http://127.0.0.1:1"}, {"Origin": "file://"}, {"Origin": "chrome-extension://x"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "websocket"},
)  # fmt: skip


@DOORS
@pytest.mark.parametrize("foreign", FOREIGN)
async def test_no_other_site_may_ask(opened: Opened, foreign: dict[str, str]) -> None:
    async with opened() as way:
        for method, path in [*ROUTES, *SIGN]:
            status, text, headers = await way.ask(method, path, {**way.own, **foreign})
            assert status == 403, (method, path)
            assert "node-1" not in text, (method, path)
            assert "Access-Control-Allow-Origin" not in headers, (method, path)
            assert (headers["X-Frame-Options"], "Set-Cookie" in headers) == ("DENY", False), (method, path)
        assert way.ran == []
        await way.is_there()


@DOORS
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "POST", "HEAD"])
async def test_no_other_method_does_anything(opened: Opened, method: str) -> None:
    async with opened() as way:
        for known, path in ROUTES:
            if known == method or (method == "POST" and path.startswith("/act/")):
                continue
            status, text, _ = await way.ask(method, path, way.own)
            allowed = (200, 303, 404, 405) if method == "HEAD" else (404, 405)
            assert status in allowed, (path, status)
            assert "node-1" not in text, path
        assert way.ran == []
        await way.is_there()


ODD_ENDS = (
    "/../../../../etc/passwd", "/..%2f..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/server.py",
    "/..\\..\\server.py", "/....//....//server.py", "/%252e%252e%252fserver.py", "/%c0%ae%c0%ae/server.py",
    "//attacker.example/%2e%2e", "/@attacker.example", "/\\attacker.example", "/%00", "%00.css",
    ";/../server.py", "/%0d%0aX-Evil:%201", "/%0aSet-Cookie:%20a=b", "?q=%0d%0aX-Evil:%201",
    "?node=%0d%0aX-Evil:%201&pod=../x&drain=--force&namespace=%00",
)  # fmt: skip


@DOORS
@pytest.mark.parametrize("end", ODD_ENDS)
async def test_no_odd_name_leads_elsewhere(opened: Opened, end: str) -> None:
    """Neither to a file, nor to another site, nor to a header of its own."""
    async with opened() as way:
        for method, path in [*ROUTES, *SIGN[:1]]:
            place = path.partition("?")[0]
            cookie = f"Cookie: {way.cookie(way.value)}"
            status, head, text = await way.raw(f"{method} {place}{end} HTTP/1.1", cookie, "Content-Length: 0")
            where = (method, place, end)
            assert status in (200, 303, 400, 401, 403, 404, 405, 415), where
            assert not re.search(r"(?im)^(x-evil|set-cookie: a=b)", head), where
            led = re.search(r"(?im)^location: (.*)", head)
            assert led is None or re.match(r"/(?![/\\])", led[1]), where
            assert not re.search("root:.:0|class WebServer|<script>", text.partition("<main")[2] or text), (
                where
            )
        assert way.ran == []
        await way.is_there()


LARGE = {
    "a header": ("X-Large: " + "x" * 100_000,),
    "a cookie": ("Cookie: a=" + "x" * 100_000,),
    "many headers": tuple(f"X-{number}: b" for number in range(20_000)),
    "a wrong length": ("Content-Length: -1",),
    "two lengths": ("Content-Length: 1", "Content-Length: 2"),
    "a length and chunks": ("Content-Length: 4", "Transfer-Encoding: chunked"),
}


@DOORS
@pytest.mark.parametrize("large", LARGE)
async def test_no_head_is_too_large(opened: Opened, large: str) -> None:
    async with opened() as way:
        for method, path in [*ROUTES, *SIGN]:
            status, _, text = await way.raw(f"{method} {path} HTTP/1.1", *LARGE[large], body=b"0\r\n\r\n")
            assert status in (0, 400, 431), (method, path)  # or it hangs up
            assert "node-1" not in text
        await way.is_there()


BODIES = {
    "a form of a megabyte": ("application/x-www-form-urlencoded", b"token=" + b"x" * 1_000_000),
    "parts of a megabyte": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n' + b"x" * 1_000_000 + b"\r\n--b--\r\n",
    ),
    "no boundary": ("multipart/form-data", b"--b\r\n\r\n"),
    "parts that do not end": (
        "multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="t'
    ),
    "a part without a name": ("multipart/form-data; boundary=b", b"--b\r\n\r\nx\r\n--b--\r\n"),
    "parts within a part": (
        "multipart/form-data; boundary=b", b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n"
    ),
    "an unknown encoding": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="token"\r\nContent-Encoding: x\r\n\r\nx\r\n--b--\r\n',
    ),
    "no text": ("application/x-www-form-urlencoded", b"token=\xff\xfe&%ff=%zz"),
    "an unknown character set": ("application/x-www-form-urlencoded; charset=none", b"token=x"),
    "thousands of fields": ("application/x-www-form-urlencoded", b"a=b&" * 16_000),
    "JSON": ("application/json", b'{"token": "x"}'),
    "nothing": ("text/plain", b""),
}  # fmt: skip


@DOORS
@pytest.mark.parametrize("body", BODIES)
async def test_no_body_is_a_defect_or_a_confirmation(
    opened: Opened, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    kind, sent = BODIES[body]
    async with opened() as way:
        for method, path in [*ROUTES, *SIGN[:1]]:
            try:
                headers = {**way.own, "Content-Type": kind}
                status, text, _ = await way.ask(method, path, headers, data=sent)
            except ClientError:
                continue  # it hangs up
            wanted = range(400, 500) if method == "POST" else (200, 303, 404)
            assert status in wanted, (method, path, text)
        assert [words for words in way.ran if "--dry-run" not in str(words)] == []
        await way.is_there()
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []


@DOORS
async def test_no_slow_client_keeps_others_out(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that never ends is given up; a request that never begins takes nobody's place."""
    monkeypatch.setattr(visitors, "_FORM_SECONDS", 0.1)
    async with opened() as way:
        begun = []
        for method, path in [*ROUTES, *SIGN]:
            _, writer = await asyncio.open_connection(*way.base.removeprefix("http://").split(":"))
            writer.write(f"{method} {path} HTTP/1.1\r\nHost: {way.base[7:]}\r\nCook".encode())
            begun.append(writer)
        kind = "Content-Type: application/x-www-form-urlencoded"
        for method, path in [*GUARDED, *(SIGN[:1] if way.others else ())]:
            if method == "GET":
                continue
            cookie = f"Cookie: {way.cookie(way.value)}"
            length = "Content-Length: 100"
            status, _, text = await way.raw(f"{method} {path} HTTP/1.1", cookie, kind, length, body=b"token=")
            assert status == 408, (path, text)
        assert way.ran == []
        await way.is_there()
        for writer in begun:
            writer.transport.abort()


@DOORS
@pytest.mark.parametrize("name", ACTIONS)
async def test_no_action_is_done_by_another_page(opened: Opened, name: str) -> None:
    """Only by the form that was shown, sent by the page, and once."""
    other = next(one for one in ACTIONS if one != name)
    async with opened() as way:

        async def shown(action: str = name, cookie: str = way.value) -> dict[str, str]:
            return form_of((await way.ask("GET", ACTED[action], {"Cookie": way.cookie(cookie)}))[1])

        async def sent(form: Mapping[str, str], method: str = "POST", at: str = name, **headers: str) -> int:
            way.ran.clear()
            own = {key: one for key, one in {**way.own, **headers}.items() if one != "none"}
            more = {"data": form} if method == "POST" else {"params": {**form, "token": ""}}
            return (await way.ask(method, f"/act/{at}", own, **more))[0]

        form = await shown()
        assert {"token", *ACTIONS[name].takes} <= set(form)
        for headers in (
            {"Origin": "none"}, {"Origin": "null"}, {"Origin": "http://attacker.example"},
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Cookie": "none"},
        ):  # fmt: skip
            assert await sent(form, **headers) in (401, 403), headers
            assert way.ran == [], headers
        for given in ("", "x", (await shown(other))["token"], way.value):
            assert (await sent({**form, "token": given}), way.ran) == (403, []), given
        for take in ACTIONS[name].takes:
            assert (await sent({**(await shown()), take: "another"}), way.ran) == (403, []), take
        assert (await sent(await shown(), at=other), way.ran) == (403, [])
        for cookie in way.others.values():
            assert (await sent(await shown(), Cookie=way.cookie(cookie)), way.ran) == (403, [])
        await sent(form, "GET")
        assert all("--dry-run" in str(words) for words in way.ran)
        assert (await sent(form), len(way.ran)) == (200, 1), "what was refused has not used it up"
        assert (await sent(form), way.ran) == (403, [])


async def test_nothing_of_one_user_is_shown_to_another() -> None:
    """By a cookie of their own, or by the token that a proxy sends, which counts in place of any cookie."""
    async with many_users() as way:
        as_bob = (
            {"Cookie": way.cookie(way.others["bob"])},
            {"Cookie": way.cookie(way.value), "Authorization": "Bearer nobodys"},
            {"Cookie": f"{way.cookie(way.others['bob'])}; vacate-1={way.value}"},
        )
        for (method, path), headers in product(GUARDED, as_bob):
            if method == "GET" and "/events" not in path:
                status, text, _ = await way.ask(method, path, headers)
                assert status in (200, 303, 404), path
                assert "You are ada" not in text, path
                assert "node-1" in path or "/nodes/node-1" not in text, path
        assert not any(whose == "admins" for whose, _ in way.ran)
        for headers in as_bob[:1] + as_bob[2:]:
            for other in ("Basic YTpi", "Bearer", "Bearer x", "Negotiate x", "bearer  ", "Bearer admins x"):
                sent = {**headers, "Cookie": way.cookie(way.value), "Authorization": other}
                for method, path in GUARDED:
                    assert (await way.ask(method, path, {**sent, "Origin": way.base}))[0] == 401, (
                        path,
                        other,
                    )
