"""What others may try at the pages: odd headers and cookies, changes by a link, used confirmations, bodies
and streams without an end. Each is refused, or answered as a page, and the pages stay there for their user.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from aiohttp import ClientError, ClientResponse
from yarl import URL

from vacate.api.kinds import NODEMAINTENANCES
from vacate.cli.common.connection import Connection
from vacate.cli.web import reads
from vacate.clock import SystemClock
from vacate.web import server, visitors
from vacate.web.actions import Outcome
from web.test_server import BLOCKED, Differences, Web, drain, maintenance, web
from web.test_signin import pages

pytestmark = pytest.mark.process

CLOCK = SystemClock()
WRONG_HOSTS = (
    "", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:0x50", "localhost:1", "127.0.0.1.attacker.example:80",
    "attacker.example", "[::1]:80", "127.1:80", "LOCALHOST.:80", "user@127.0.0.1:80", "127.0.0.1:80:80",
    "a/b", "127.0.0.1:80, attacker.example",
)  # fmt: skip
ODD_NUMBERS = ("-1", "0x0", "NaN", "1e3", "٣", "9" * 4000, "0, 0", "null", "%00")
ODD_PLACES = (
    "", "drains", "http://[", "//attacker.example/", "http://attacker.example/drains", "\x00", "/" * 3000,
    "/act/drain?node=node-1", "/events?at=/events", "/sign-out", "/static/page.js", "/drains?q=%",
    "/pods/a/%2e%2e/b", "/nodes/\N{PILE OF POO}",
)  # fmt: skip
ELSEWHERE = (
    "http://[", "//attacker.example/", "/\\attacker.example", "\\\\attacker.example", "/\t/attacker.example",
    "https:attacker.example", "https://attacker.example/x", "javascript:alert(1)", "/%0d%0aSet-Cookie:a=b",
    "\r\nX-Evil: 1", " //attacker.example", "///attacker.example", "x" * 9000, "http://a:99999/",
)  # fmt: skip


def runs_of(page: Web) -> list[Sequence[str]]:
    """The commands that the pages run from now on."""
    ran: list[Sequence[str]] = []

    async def run(words: Sequence[str]) -> Outcome:
        ran.append(words)
        return Outcome(0, "printed")

    site = page.visitors.visitor.site
    site._reads = replace(site._reads, run=run)
    return ran


def origin_of(page: Web) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{page.browser.server.port}"}


def form_of(shown: str) -> dict[str, str]:
    """What a confirmation sends."""
    form = shown.partition('class="confirm"')[2].partition("</form>")[0]
    return dict(re.findall(r'name="([^"]*)" value="([^"]*)"', form))


@pytest.mark.parametrize("host", WRONG_HOSTS)
async def test_a_name_that_is_not_ours_is_refused(host: str) -> None:
    async with web() as page:
        await page.enter()
        answer = await page.browser.get("/drains", headers={"Host": host})
        assert (answer.status, answer.headers["X-Frame-Options"]) == (403, "DENY")


@pytest.mark.parametrize("host", [*WRONG_HOSTS[2:4], *WRONG_HOSTS[5:]])
async def test_so_is_one_where_many_users_sign_in(host: str) -> None:
    async with pages(("vacate.example.com",)) as page:
        ada = await page.sign_in("admins")
        answer = await page.ask("GET", "/drains", ada, headers={"Host": host})
        assert (answer.status, answer.headers["X-Frame-Options"]) == (403, "DENY")


@pytest.mark.parametrize("number", ODD_NUMBERS)
async def test_an_odd_number_of_the_last_message_gets_all_of_the_page(number: str) -> None:
    async with web() as page:
        await page.enter()
        for given in ({"Last-Event-ID": number}, {}):
            shown = await page.text("/drains")
            tab = shown.partition('data-tab="')[2].partition('"')[0]
            params = {"at": "/drains", "tab": tab} | ({} if given else {"last": number})
            async with page.browser.get("/events", params=params, headers=given) as answer:
                assert {"body", "main"} <= set((await Differences(answer, tab).next())["parts"])


@pytest.mark.parametrize("place", ODD_PLACES)
async def test_the_stream_of_an_odd_address_is_that_of_a_page_and_runs_nothing(place: str) -> None:
    async with web() as page:
        await page.enter()
        ran = runs_of(page)
        params = {"at": place, "tab": place[:50]}
        async with page.browser.get(URL("/events").with_query(params)) as answer:
            assert answer.status == 200
            message = json.dumps(await Differences(answer, "").next())
        assert "There is nothing here" in message or "Nothing is stuck" in message
        assert not ran


@pytest.mark.parametrize("after", ELSEWHERE)
async def test_nobody_is_led_to_another_site(after: str) -> None:
    """Browsers leave out tabs and line breaks, and take a backslash for a slash."""
    async with pages() as page:
        answer = await page.ask("POST", "/sign-in", data={"token": "admins", "after": after})
        assert answer.status == 303
        assert "X-Evil" not in answer.headers
        assert len(answer.headers.getall("Set-Cookie")) == 1
        led = re.sub(r"[\t\r\n]", "", answer.headers["Location"]).replace("\\", "/")
        assert re.match("/(?!/)", led)
        assert "/sign-out" not in led


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_only_a_form_that_is_posted_changes_anything(method: str) -> None:
    async with web() as page:
        await page.enter()
        ran = runs_of(page)
        form = form_of(await page.text("/act/drain?node=node-1"))
        ran.clear()
        ask = partial(
            page.browser.request, method, "/act/drain", headers=origin_of(page), allow_redirects=False
        )
        assert (await ask(params=form)).status in (303, 404, 405)
        assert ran == []
        del form["token"]  # which is looked for in every address, and taken out of it
        assert (await ask(params=form)).status in (200, 404, 405)
        assert len(ran) == (method == "GET"), "only a person who looks has a dry run"
        assert all("--dry-run" in words for words in ran)


async def test_a_link_does_not_sign_out() -> None:
    """The page of another site can lead here; browsers then send no cookie, and obey the answer."""
    async with pages() as page:
        ada = await page.sign_in("admins")
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        for cookie, headers in (("", foreign), (ada, {})):
            answer = await page.ask("GET", "/sign-out", cookie, headers=headers)
            assert "Set-Cookie" not in answer.headers
        assert (await page.ask("POST", "/sign-out", ada, headers={"Origin": "null"})).status == 403
        assert (await page.ask("GET", "/drains", ada)).status == 200
        assert (await page.ask("POST", "/sign-out", ada)).status == 303
        assert (await page.ask("GET", "/drains", ada)).status == 401


async def test_a_confirmation_counts_once_and_for_what_was_shown() -> None:
    """To load the page again sends the form again; a form that was changed asks for what nobody has seen."""
    async with web() as page:
        await page.enter()
        ran = runs_of(page)
        own = origin_of(page)

        async def confirm(form: dict[str, str], action: str = "drain") -> int:
            ran.clear()
            return (await page.browser.post(f"/act/{action}", data=form, headers=own)).status

        async def shown() -> dict[str, str]:
            return form_of(await page.text("/act/drain?node=node-1"))

        form = await shown()
        assert (await confirm(form), len(ran)) == (200, 1)
        assert (await confirm(form), ran) == (403, []), "again"
        changes: list[dict[str, str]] = [
            {"node": "node-2"}, {"node": "--force"}, {"node": ""}, {"--force": "on"}, {"reason": "another"},
            {"token": ""}, {"token": "x"}, {"token": "é" * 9},
        ]  # fmt: skip
        for change in changes:
            assert (await confirm({**await shown(), **change}), ran) == (403, []), change
        assert (await confirm(await shown(), "uncordon"), ran) == (403, [])
        assert (await confirm(await shown(), "none"), ran) == (403, [])
        assert (await confirm(await shown()), len(ran)) == (200, 1)


async def test_confirmations_that_are_never_sent_are_forgotten() -> None:
    async with web() as page:
        await page.enter()
        ran = runs_of(page)
        first = form_of(await page.text("/act/drain?node=node-1"))
        for _ in range(visitors.MAX_OFFERS):
            await page.text("/act/drain?node=node-1")
        ran.clear()
        answer = await page.browser.post("/act/drain", data=first, headers=origin_of(page))
        assert (answer.status, ran) == (403, [])


async def test_what_another_user_has_open_is_not_sent() -> None:
    """Neither by the name of their tab, nor by their cookie under another name, nor by parts of it."""
    async with pages() as page:
        ada, bob = await page.sign_in("admins"), await page.sign_in("nobodys")
        shown = await page.text_with("/nodes", "node-1", ada)
        tab = shown.partition('data-tab="')[2].partition('"')[0]
        headers = {"Cookie": f"{page.cookie_name}={bob}"}
        address = f"{page.base}/events?at=/nodes&last=0&tab={tab}"
        async with page.session.get(address, headers=headers) as answer:
            message = json.dumps(await Differences(answer, tab).next())
        assert "hidden from you" in message or "Reading" in message
        assert "node-1" not in message
        for name in ("vacate-1", "vacate-web", page.cookie_name.upper()):
            assert (await page.ask("GET", "/nodes", headers={"Cookie": f"{name}={ada}"})).status == 401
        for value in ("", "x", ada[:-1], f"{ada}x", f'"{ada} "', ada.upper() + "0", "*", "%00"):
            assert (await page.ask("GET", "/nodes", value or '""')).status == 401, value


@pytest.mark.parametrize("path", ["/act/drain", "/act/none", "/drains", "/events", "/static/page.js"])
@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/x"]
)
async def test_a_body_without_end_is_not_kept(path: str, kind: str) -> None:
    async with web() as page:
        await page.enter()
        ran = runs_of(page)
        sent = 0

        async def endless() -> Any:
            nonlocal sent
            yield (
                b'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n'
                if "multipart" in kind
                else b"token="
            )
            while sent < 64_000_000:
                sent += 64_000
                yield b"x" * 64_000

        headers = origin_of(page) | {"Content-Type": kind}
        try:
            async with page.browser.post(path, data=endless(), headers=headers) as answer:
                assert answer.status in range(400, 500)
        except ClientError:
            pass  # it hangs up
        assert sent < 16_000_000
        assert not ran
        assert "Nothing is stuck" in await page.text("/drains")


async def test_connections_that_never_ask_do_not_keep_others_out() -> None:
    async with web() as page:
        await page.enter()
        begun = []
        for sent in (
            b"",
            b"GET /drains HT",
            b"POST /act/drain HTTP/1.1\r\nContent-Length: 9\r\nHost: a\r\n\r\nto",
        ) * 50:
            _, writer = await asyncio.open_connection("127.0.0.1", page.browser.server.port)
            writer.write(sent)
            begun.append(writer)
        assert "Nothing is stuck" in await page.text("/drains")
        for writer in begun:
            writer.transport.abort()


async def test_a_stream_that_nobody_reads_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its browser is gone without a word, or hangs: what waits for it would stay for ever."""
    monkeypatch.setattr(server, "_UNREAD_SECONDS", 0.2)
    async with web() as page:
        await page.enter()
        port = page.browser.server.port
        cookie = f"{page.visitors.gate.cookie_name}={page.visitors.gate.session}"
        runner: Any = page.browser.server.runner
        for listening in next(iter(runner.sites))._server.sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        place = "/drains?q=" + "x" * 200
        ask = f"GET /events?tab=t&at={place} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
        writer.write(ask.encode())
        await reader.read(1)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        assert page.visitors.visitor.streams
        visitor, number = page.visitors.visitor, 0
        while visitor.streams:
            sent = visitor.tab("t").number
            for _ in range(40):
                number += 1
                await drain_of_size(page, number)
            # Not faster than the page is made: the more there is, the longer that takes.
            while visitor.streams and visitor.tab("t").number == sent:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        writer.transport.abort()
        async with page.stream("/drains") as stream:
            await drain(page.admin, BLOCKED)
            await stream.until("Stuck: 1 cause needs you")


async def drain_of_size(page: Web, number: int) -> None:
    """Much to show."""
    made = maintenance(f"big-{number}")
    made["spec"]["reason"] = f"{number} " + "x" * 1000
    await page.admin.create(NODEMAINTENANCES, made)


async def test_more_tabs_than_anybody_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "MAX_TABS", 5)
    async with web() as page:
        await page.enter()
        opened: list[ClientResponse] = []
        while len(opened) <= visitors.MAX_TABS:
            params = {"at": "/drains", "tab": f"t{len(opened)}"}
            opened.append(await page.browser.get("/events", params=params))
        assert [one.status for one in opened] == [200] * visitors.MAX_TABS + [503]
        assert len(page.visitors.visitor.streams) == visitors.MAX_TABS
        for one in opened:
            one.close()


async def test_commands_run_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run is a process: whoever asks for hundreds waits."""
    running, most = 0, 0

    async def one(*words: object) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await CLOCK.sleep(0)
        running -= 1
        return Outcome(0, "")

    monkeypatch.setattr(reads, "_run", one)
    run = reads.run_at(Connection())
    await asyncio.gather(*(run(["drain"]) for _ in range(30)))
    assert most == reads.MAX_COMMANDS
