"""Pages of a real API server: who is let in, what is shown, and what is sent when it changes."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from aiohttp import ClientPayloadError, ClientResponse
from aiohttp.test_utils import BaseTestServer, TestClient, TestServer
from yarl import URL

from support.waiting import LIMIT
from support.webscene import manager, write
from vacate.api.identity import MASTERS, service_account_user
from vacate.api.kinds import (
    EVENTS,
    EVICTIONREQUESTS,
    LEASES,
    NODEMAINTENANCES,
    NODES,
    PODS,
    ROLEBINDINGS,
    ROLES,
)
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.cli.common.connection import Cluster, Connection
from vacate.cli.web.reads import reads_of, run_at
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import seeded_entropy, system_entropy
from vacate.errors import TransportError
from vacate.testing.builders import node as build_node
from vacate.testing.builders import pod as build_pod
from vacate.web import feed
from vacate.web import snapshot as snapshot_module
from vacate.web.actions import Outcome
from vacate.web.components import Page
from vacate.web.feed import ASK_SECONDS, Feed
from vacate.web.server import ALIVE_SECONDS, WebServer, pause_after
from vacate.web.site import Query, Site
from vacate.web.snapshot import Snapshot
from vacate.web.visitors import OneBrowser
from vacate.wire.message import Peer, Request, Response, Stream

pytestmark = pytest.mark.process

HOSTILE = "<img src=x onerror=alert(1)>"
CLOCK = SystemClock()


class Interruptible(InProcessTransport):
    """The way to the API server, which can be cut."""

    def __init__(self, server: Any, peer: Peer, late: str = "") -> None:
        super().__init__(server, peer)
        self.late = late  # the end of an address that is not answered until it has arrived
        self.arrived = asyncio.Event()
        self.cut = asyncio.Event()
        self.thawed = asyncio.Event()
        self.thawed.set()
        self.queues: list[asyncio.Queue[bytes | TransportError | None]] = []

    async def send(self, request: Request) -> Response:
        if self.cut.is_set():
            raise TransportError("the API server does not answer")
        await self.thawed.wait()
        if self.late and request.path.endswith(self.late):
            await self.arrived.wait()
        found = await super().send(request)
        if isinstance(found.body, bytes):
            return found
        return replace(found, body=self._until_cut(found.body))

    def freeze(self) -> None:
        """From now on connections are open and nothing comes."""
        self.thawed.clear()

    def lose(self) -> None:
        """From now on nothing is answered, and open watches break."""
        self.cut.set()
        for queue in self.queues:
            queue.put_nowait(TransportError("the API server does not answer"))

    async def _until_cut(self, body: Stream) -> AsyncGenerator[bytes, None]:
        queue: asyncio.Queue[bytes | TransportError | None] = asyncio.Queue()
        self.queues.append(queue)

        async def pump() -> None:
            async for chunk in body:
                queue.put_nowait(chunk)
            queue.put_nowait(None)

        task = asyncio.ensure_future(pump())
        try:
            while (chunk := await queue.get()) is not None:
                await self.thawed.wait()
                if isinstance(chunk, TransportError):
                    raise chunk
                yield chunk
        finally:
            self.queues.remove(queue)
            task.cancel()
            await asyncio.wait({task})
            await body.aclose()


@dataclass
class Web:
    """A browser's view of the program, and the cluster behind it."""

    browser: TestClient[Any, Any]
    admin: Client
    visitors: OneBrowser
    transport: Interruptible
    api: Any

    async def enter(self) -> None:
        answer = await self.browser.get("/", params={"token": self.visitors.gate.token})
        assert answer.status == 200

    async def text(self, path: str, status: int = 200) -> str:
        answer = await self.browser.get(path)
        assert answer.status == status, await answer.text()
        return await answer.text()

    async def text_with(self, path: str, wanted: str) -> str:
        """The page, once it shows what is wanted."""
        while wanted not in (found := await self.text(path)):
            await CLOCK.sleep(0.02)
        return found

    @asynccontextmanager
    async def stream(self, path: str, **headers: str) -> AsyncIterator[Differences]:
        page = await self.text(path)
        tab = page.partition('data-tab="')[2].partition('"')[0]
        async with self.browser.get("/events", params={"at": path, "tab": tab}, headers=headers) as answer:
            yield Differences(answer, tab)


@dataclass
class Differences:
    """The differences that a tab is sent."""

    answer: ClientResponse
    tab: str
    number: str = ""

    async def next(self) -> Obj:
        """The next message; lines that only keep the connection open are passed over."""
        while line := (await self.answer.content.readline()).decode():
            if line.startswith("id: "):
                self.number = line[4:].strip()
            if line.startswith("data: {"):
                message: Obj = json.loads(line[6:])
                return message
        raise AssertionError("the stream has ended")

    async def until(self, wanted: str) -> Obj:
        while wanted not in json.dumps(message := await self.next()):
            pass
        return message


@asynccontextmanager
async def web(peer: Peer | None = None, late: str = "") -> AsyncIterator[Web]:
    api = await open_server(ServerParts(MemoryLog(), CLOCK, seeded_entropy(1)))
    admin = Client(InProcessTransport(api, Peer("admin", (MASTERS,))))
    transport = Interruptible(api, peer or Peer("admin", (MASTERS,)), late)
    client = Client(transport)
    followed = Feed(client, CLOCK, seeded_entropy(2), context="prod-eu-1", program="vacate", user="me")
    site = Site(followed, reads_of(Cluster(client, "default", CLOCK), run_at(Connection())))
    visitors = OneBrowser(site, system_entropy())
    try:
        async with (
            asyncio.timeout(LIMIT),
            followed.running(),
            TestServer(WebServer(visitors, seeded_entropy(4)).application()) as listening,
            make_browser(listening) as browser,
        ):
            assert listening.port is not None
            await manager(admin)
            visitors.opened(listening.port)
            while not late and followed.snapshot().reading:
                await CLOCK.sleep(0.02)
            yield Web(browser, admin, visitors, transport, api)
    finally:
        await api.storage.store.aclose()


def make_browser(listening: BaseTestServer) -> TestClient[Any, Any]:
    return TestClient(listening)


def maintenance(name: str = "drain-a", **status: Any) -> Obj:
    return {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": "NodeMaintenance",
        "metadata": {"name": name},
        "spec": {"nodes": ["node-1", "node-2"], "reason": HOSTILE},
        "status": status,
    }


BLOCKED = {
    "phase": "Blocked",
    "nodesTotal": 2,
    "nodes": [
        {"name": "node-1", "phase": "Blocked", "podsTotal": 3, "podsEvicted": 2},
        {"name": "node-2", "phase": "Cordoned"},
    ],
    "blockers": [
        {
            "node": "node-1",
            "namespace": "default",
            "pod": "ledger-2",
            "kind": "DisruptionBudget",
            "name": "ledger",
            "message": f"the budget allows none {HOSTILE}",
            "remedy": "add replicas",
            "since": "2026-01-01T00:00:00Z",
        }
    ],
    "blockersTotal": 1,
}  # fmt: skip


async def drain(admin: Client, status: Obj) -> None:
    made = await admin.create(NODEMAINTENANCES, maintenance())
    seen = {"observedGeneration": 1, **status}  # a manager has seen it
    await admin.update(NODEMAINTENANCES, {**made, "status": seen}, subresource="status")


async def test_the_token_lets_one_browser_in_once() -> None:
    async with web() as page:
        token = page.visitors.gate.token
        assert (await page.browser.get("/drains")).status == 401
        entered = await page.browser.get("/nodes", params={"token": token}, allow_redirects=False)
        assert (entered.status, entered.headers["Location"]) == (303, "/nodes")
        cookie = entered.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert (await page.browser.get("/drains")).status == 200
        page.browser.session.cookie_jar.clear()
        assert (await page.browser.get("/", params={"token": token})).status == 401
        assert (await page.browser.get("/events")).status == 401


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"Host": "attacker.example:80"}),
        ("GET", {"Origin": "http://attacker.example"}),
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}),
        ("GET", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}),
        ("POST", {}),
    ],
)
async def test_other_sites_are_refused(method: str, headers: dict[str, str]) -> None:
    async with web() as page:
        await page.enter()
        answer = await page.browser.request(method, "/drains", headers=headers)
        assert answer.status == 403
        assert answer.headers["Cache-Control"] == "no-store"


async def test_every_answer_forbids_what_the_page_does_not_need() -> None:
    async with web() as page:
        await page.enter()
        for path in ("/drains", "/nodes/none", "/static/page.js", "/static/none", "/events?at=/drains"):
            async with page.browser.get(path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self'")
                assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
                assert answer.headers["Cache-Control"] == "no-store"


async def test_so_does_what_the_library_answers_and_what_a_defect_leaves() -> None:
    async with web() as page:
        await page.enter()
        own = {"Origin": f"http://127.0.0.1:{page.browser.server.port}"}
        site = page.visitors.visitor.site

        async def broken(path: str, query: object) -> object:
            raise RuntimeError("a defect")

        wrong = [await page.browser.post("/drains", headers=own), await page.browser.get("/act/none")]
        site.page = broken  # type: ignore[method-assign,assignment]
        wrong.append(await page.browser.get("/drains"))
        assert [one.status for one in wrong] == [405, 404, 500]
        for one in wrong:
            assert one.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
            assert one.headers["Cache-Control"] == "no-store"
            assert one.headers["X-Frame-Options"] == "DENY"
        assert "This page cannot be shown" in await wrong[2].text()


async def test_a_drain_that_no_manager_works_on_is_called_stuck_on_every_page() -> None:
    async with web() as page:
        await page.enter()
        rows = [{"name": "node-1", "phase": "Draining"}]
        status = {"phase": "Draining", "observedGeneration": 1, "nodesTotal": 1, "nodes": rows}
        await page.admin.create(NODES, build_node("node-1"))
        await write(page.admin, NODEMAINTENANCES, maintenance(), status)
        await page.text_with("/drains", "and nothing is stuck")
        async with page.stream("/drains") as stream:
            gone = {"spec": {"holderIdentity": ""}}
            await page.admin.patch(LEASES, "vacate-manager", gone, "default")
            await stream.until("No manager works")
            for path in ("/drains", "/drains/drain-a", "/blockers", "/nodes/node-1"):
                shown = await page.text(path)
                assert "<title>▲ " in shown
                assert "No manager works" in shown
                assert "vacate up" in shown, "what helps on an embedded cluster"
            await page.admin.delete(NODEMAINTENANCES, "drain-a")
            await stream.until("Nothing is stuck, and nothing is draining")
            assert "No manager works" in await page.text("/drains"), "although nothing waits for it"
            back = {"spec": {"holderIdentity": "vacate-manager-1"}}
            await page.admin.patch(LEASES, "vacate-manager", back, "default")
            while "No manager works" in await page.text("/drains"):
                await CLOCK.sleep(0.02)


async def test_what_is_around_every_page_does_not_lose_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The navigation counts causes: where that has a defect, pages without causes are shown, and say so."""

    def broken(maintenances: Sequence[object], *_: object, **__: object) -> tuple[()]:
        if maintenances:
            raise OverflowError("date value out of range")
        return ()

    monkeypatch.setattr(snapshot_module, "causes_of", broken)
    async with web() as page:
        await page.enter()
        await page.admin.create(NODEMAINTENANCES, maintenance())
        await page.text_with("/drains", "This page cannot be shown")
        assert "What would a drain come to?" in await page.text("/plan")


async def test_a_page_that_is_no_tree_does_not_lose_the_others() -> None:
    async with web() as page:
        await page.enter()
        site = page.visitors.visitor.site
        made = site.page

        async def twice(path: str, query: Query) -> tuple[Snapshot, Page]:
            snapshot, found = await made(path, query)
            return snapshot, replace(found, main=(*found.main, *found.main)) if path == "/drains" else found

        site.page = twice  # type: ignore[method-assign]
        shown = await page.text("/drains")
        assert "This page cannot be shown" in shown
        assert 'href="/nodes"' in shown
        assert "This page cannot be shown" not in await page.text("/nodes")
        async with page.stream("/nodes") as stream:
            await page.admin.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
            await stream.until("/nodes/n")


async def test_a_drain_that_is_stuck_says_on_what() -> None:
    async with web() as page:
        await drain(page.admin, BLOCKED)
        await page.enter()
        text = await page.text_with("/drains", "Stuck: 1 cause needs you")
        assert "▲ 1 needs you: Drains, prod-eu-1" in text
        assert "ledger-2" in text
        assert HOSTILE not in text
        assert "&lt;img src=x onerror=alert(1)&gt;" in text


@pytest.mark.parametrize("late", ["/pods", "/nodemaintenances", "/poddisruptionbudgets"])
async def test_a_page_is_there_before_all_of_the_cluster_and_says_so(late: str) -> None:
    """And not that nothing is stuck. It fills by itself, with or without scripts."""
    async with web(late=late) as page:
        await page.enter()
        shown = await page.text("/drains")
        assert "Reading the cluster" in shown
        assert late.strip("/") in shown
        assert "Nothing is stuck" not in shown
        assert '<meta http-equiv="refresh" content="1">' in shown
        async with page.stream("/drains") as stream:
            page.transport.arrived.set()
            await stream.until("Nothing is stuck")
        assert '<meta http-equiv="refresh" content="10">' in await page.text("/drains")


async def test_what_never_arrives_is_named_and_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_READING_SECONDS", 2.0)
    async with web(late="/persistentvolumes") as page:
        await page.enter()
        shown = await page.text_with("/drains", "Nothing is stuck")
        assert "persistentvolumes: they have not arrived yet" in re.sub("<[^>]*>", "", shown)


async def test_tabs_share_what_is_made_of_the_cluster_and_all_get_the_last_change() -> None:
    async with web() as page:
        await page.enter()
        followed = page.visitors.visitor.site.feed
        async with page.stream("/drains") as one, page.stream("/blockers") as two, page.stream("/") as three:
            await drain(page.admin, BLOCKED)
            for stream in (one, two):
                await stream.until("ledger-2")
            assert three.answer.status == 200
        clock = followed.clock = Stopped()
        clock.seconds = CLOCK.monotonic() + 60
        first = followed.snapshot()
        followed.touch()
        assert followed.snapshot() is first
        assert first.version < followed.version, "it is known that there is more"
        clock.seconds += feed._BURST_SECONDS
        assert followed.snapshot().version == followed.version


class Stopped(SystemClock):
    """Shows the time that it is set to."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.mark.parametrize(
    ("spent", "tabs", "pause"),
    [
        (0.0, 1, 0.2), (0.01, 1, 0.2), (0.1, 1, 0.4), (3.0, 1, 0.6),  # one is made again within a second
        (0.01, 10, 0.2), (0.1, 10, 1.8), (0.1, 100, 19.8),  # many leave half of the time
        (10.0, 2, 0.6), (60.0, 10, 5.4),  # the program was stopped meanwhile
    ],
)  # fmt: skip
def test_pages_leave_time_for_others(spent: float, tabs: int, pause: float) -> None:
    assert pause_after(spent, tabs) == pytest.approx(pause)


async def test_every_page_can_be_read_in_an_empty_cluster() -> None:
    async with web() as page:
        await page.enter()
        for path in ("/drains", "/blockers", "/nodes", "/requests", "/interceptors", "/fencing", "/health"):
            assert "This page cannot be shown" not in await page.text(path)
        for path in ("/nodes/none", "/drains/none", "/pods/default/none", "/nothing"):
            assert "There is nothing here" in await page.text(path, 404)


async def test_the_page_of_a_pod_has_the_sentences_of_explain() -> None:
    async with web() as page:
        await page.admin.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
        made = await page.admin.create(
            PODS, build_pod("db", node="node-1", interceptors=["backup.example.com"])
        )
        await page.enter()
        assert "No eviction of pod db is requested" in await page.text_with("/pods/default/db", "db")
        await page.admin.create(EVICTIONREQUESTS, request_for(made))
        text = await page.text_with("/pods/default/db", "Turns")
        assert "requested by me.example.com." in text
        assert "Interceptor 1" in text
        await page.text_with("/requests?q=node-1", "/pods/default/db")
        assert "/pods/default/db" not in await page.text("/requests?q=other")
        await page.text_with("/nodes/node-1", "/pods/default/db")


async def test_the_page_of_a_pod_shows_when_its_own_request_was_refused() -> None:
    """By the Events about that request: not by those about another of the same name."""
    async with web() as page:
        made = await page.admin.create(PODS, build_pod("db", node="node-1"))
        request = await page.admin.create(EVICTIONREQUESTS, request_for(made))
        blocked = {
            "type": "Progressing", "status": "True", "reason": "Blocked", "message": "",
            "lastTransitionTime": request["metadata"]["creationTimestamp"],
        }  # fmt: skip
        status = {"conditions": [blocked], "podEvictionStatus": {"failedAPIEvictionCounter": 3}}
        controller = Peer(service_account_user("kube-system", "evictionrequest-controller"), (MASTERS,))
        writing = Client(InProcessTransport(page.api, controller))
        await writing.update(EVICTIONREQUESTS, {**request, "status": status}, subresource="status")
        await page.enter()
        await page.text_with("/pods/default/db", "3 attempts refused")  # the request is in the caches, too
        for number, uid in enumerate((request["metadata"]["uid"], "another")):
            regarding = {"kind": "EvictionRequest", "name": request["metadata"]["name"], "uid": uid}
            await page.admin.create(EVENTS, {
                "apiVersion": "v1", "kind": "Event",
                "metadata": {"name": f"e{number}", "namespace": "default"},
                "involvedObject": {**regarding, "namespace": "default"}, "reason": "EvictionRefused",
                "type": "Warning", "count": 3, "message": f"the budget of {uid} allows none",
                "firstTimestamp": "2026-01-01T10:00:00Z", "lastTimestamp": "2026-01-01T10:20:00Z",
            })  # fmt: skip
        shown = await page.text_with("/pods/default/db", "Refused 3 times from")
        for moment in ("2026-01-01T10:00:00Z", "2026-01-01T10:20:00Z"):
            assert f'datetime="{moment}"' in shown
        assert shown.partition('"lane/eviction"')[2].partition("</li>")[0].count('class="no"') == 2
        assert f"the budget of {request['metadata']['uid']} allows none" in shown.replace("<wbr>", "")
        assert "the budget of another" not in shown


def request_for(pod: Obj) -> Obj:
    meta = pod["metadata"]
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": "EvictionRequest",
        "metadata": {"name": meta["uid"], "namespace": meta["namespace"]},
        "spec": {
            "type": "Soft",
            "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": "me.example.com"}],
        },
    }


async def test_only_what_changed_is_sent() -> None:
    async with web() as page:
        await drain(page.admin, BLOCKED)
        await page.enter()
        await page.text_with("/drains", "Stuck: 1 cause needs you")
        async with page.stream("/drains") as stream:
            found = await page.admin.get(NODEMAINTENANCES, "drain-a")
            status = json.loads(json.dumps(found["status"]))
            status["nodes"][0]["podsEvicted"] = 3
            await page.admin.update(NODEMAINTENANCES, {**found, "status": status}, subresource="status")
            message = await stream.until("drain/drain-a/node/node-1")
            assert "main" not in message["parts"]
            assert "causes" not in message["parts"]


async def test_a_tab_that_missed_something_gets_all_of_it() -> None:
    async with web() as page:
        await page.enter()
        async with page.stream("/drains", **{"Last-Event-ID": "7"}) as stream:
            assert {"body", "main", "top"} <= set((await stream.next())["parts"])


async def test_a_tab_that_begins_anew_gets_what_was_sent_and_never_arrived() -> None:
    """The script makes a new connection where the browser gave up; it says what it has seen."""
    async with web() as page:
        await page.enter()
        async with page.stream("/drains") as lost:
            tab = lost.tab
            await drain(page.admin, BLOCKED)
            while not page.visitors.visitor.tab(tab).number:
                await CLOCK.sleep(0.02)
            async with page.browser.get("/events", params={"at": "/drains", "tab": tab}) as answer:
                message = await Differences(answer, tab).next()
                assert {"body", "main", "top"} <= set(message["parts"])
        number = page.visitors.visitor.tab(tab).number
        seen = {"at": "/drains", "tab": tab, "last": str(number)}
        async with page.browser.get("/events", params=seen) as answer:
            await page.admin.delete(NODEMAINTENANCES, "drain-a")
            assert "body" not in (await Differences(answer, tab).next())["parts"]


async def test_the_older_stream_of_a_tab_ends() -> None:
    """What it would send reaches nobody, and would count as seen."""
    async with web() as page:
        await page.enter()
        async with page.stream("/drains") as older:
            params = {"at": "/drains", "tab": older.tab}
            async with page.browser.get("/events", params=params) as newer:
                with contextlib.suppress(ClientPayloadError):
                    await older.answer.content.read()  # to its end
                await drain(page.admin, BLOCKED)
                await Differences(newer, older.tab).until("Stuck: 1 cause needs you")
        assert page.visitors.visitor.tab(older.tab).number


async def test_the_program_is_heard_while_a_page_takes_long() -> None:
    async with web() as page:
        await page.enter()
        async with page.stream("/drains") as stream:

            async def never(path: str, query: object) -> object:
                return await asyncio.Event().wait()

            page.visitors.visitor.site.page = never  # type: ignore[method-assign,assignment]
            await drain(page.admin, BLOCKED)  # so that the page is made again
            for _ in range(2):
                while (await stream.answer.content.readline()) != b"event: alive\n":
                    pass


async def test_a_frozen_api_server_is_shown_with_the_age_and_so_is_its_return() -> None:
    """It breaks no connection. What a page asks it for ends by that, too."""
    async with web() as page:
        one = build_pod("db", node="node-1", interceptors=["backup.example.com"])
        made = await page.admin.create(PODS, one)
        await page.enter()
        await page.text_with("/pods/default/db", "No eviction of pod db is requested")
        async with page.stream("/pods/default/db") as stream:
            page.transport.freeze()
            asked = asyncio.create_task(page.text("/health"))  # asks many things
            await stream.until("The API server has not answered")
            assert "The API server has not answered" in await asked
            text = await page.text("/pods/default/db")
            assert "No eviction of pod db is requested" in text  # what was known stays
            assert "Not while the API server does not answer" in text
            page.transport.thawed.set()
            await page.admin.create(EVICTIONREQUESTS, request_for(made))
            await stream.until('"Live"')
            await page.text_with("/pods/default/db", "requested by me.example.com")


async def test_a_tab_that_comes_back_gets_what_it_missed() -> None:
    async with web() as page:
        await page.enter()
        async with page.stream("/drains") as stream:
            await drain(page.admin, BLOCKED)
            await stream.until("Stuck: 1 cause needs you")
            tab, number = stream.tab, stream.number
        found = await page.admin.get(NODEMAINTENANCES, "drain-a")
        changed = {**found["status"], "phase": "Drained", "blockers": []}
        await page.admin.update(NODEMAINTENANCES, {**found, "status": changed}, subresource="status")
        back = {"Last-Event-ID": number}
        async with page.browser.get("/events", params={"at": "/drains", "tab": tab}, headers=back) as answer:
            message = await Differences(answer, tab).until("Nothing is stuck")
            assert "body" not in message["parts"]


async def test_a_lost_api_server_is_shown_with_the_age_and_so_is_its_return() -> None:
    async with web() as page:
        await page.admin.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
        await page.enter()
        await page.text_with("/nodes", "node-1")
        async with page.stream("/nodes") as stream:
            began = format_time(CLOCK.now())
            page.transport.lose()
            text = await page.text_with("/nodes", "The API server has not answered")
            assert "node-1" in text  # what was known stays
            since = text.partition("The API server has not answered")[2].partition('datetime="')[2][:20]
            assert since >= began
            await stream.until("The API server has not answered")
            page.transport.cut.clear()
            await stream.until('"Live"')


async def test_a_plan_is_made_once_and_shown_when_it_is_there() -> None:
    """The command itself is a process of minutes: here stands what it prints."""
    asked: list[Sequence[str]] = []
    ready = asyncio.Event()

    async def run(words: Sequence[str]) -> Outcome:
        asked.append(words)
        await ready.wait()
        return Outcome(5, f"<svg>{HOSTILE}</svg>" if "--output=svg" in words else f"WOULD BLOCK {HOSTILE}")

    async with web() as page:
        site = page.visitors.visitor.site
        site._reads = replace(site._reads, run=run)
        await page.enter()
        assert "This page cannot be shown" in await page.text("/plan?nodes=--force")
        async with page.stream("/plan?nodes=node-1+node-2") as stream:
            assert "Planning the drain of node-1 node-2" in await page.text("/plan?nodes=node-1+node-2")
            ready.set()
            await stream.until("The drain would block")
            await page.text_with("/plan?nodes=node-1+node-2", "/plan.svg?nodes=node-1%20node-2")
        words = ["plan", "node/node-1", "node/node-2", "--ignore-daemonsets"]
        assert asked == [words, [*words, "--output=svg"]]
        assert HOSTILE not in await page.text("/plan?nodes=node-1,node-2")
        picture = await page.browser.get("/plan.svg?nodes=node-1+node-2")
        assert "sandbox" in picture.headers["Content-Security-Policy"]
        assert await picture.text() == f"<svg>{HOSTILE}</svg>"


async def test_where_no_plan_can_be_made_the_page_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Vacate's image, which has no embedded cluster."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "vacate.plan" else found(name)
    )
    async with web() as page:
        await page.enter()
        shown = re.sub("<[^>]*>", "", await page.text("/plan"))
        assert "vacate plan --cluster" in shown
        shown = re.sub("<[^>]*>", "", await page.text("/plan?nodes=node-1"))
        assert "Make a plan on your machine" in shown
        assert "vacate plan node/node-1 --ignore-daemonsets" in shown
        assert "Planning the drain" not in shown


async def test_a_kind_that_may_not_be_read_is_named_and_the_rest_works() -> None:
    async with web(Peer("reader", ())) as page:
        await page.admin.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
        await page.enter()
        text = await page.text_with("/drains", "Some of the cluster is not shown")
        assert "you may not read them" in text
        assert "nodemaintenances" in text
        for path in ("/drains", "/blockers", "/nodes", "/requests", "/fencing", "/interceptors"):
            assert "hidden from you" in await page.text(path)  # and not that all is well
        health = await page.text("/health")
        assert "You may" in health or "you may not" in health


async def test_who_may_read_one_namespace_only_has_the_pages_of_its_pods() -> None:
    """The lists are of the whole cluster, and so not theirs. What decides about an action is unknown."""
    async with web(Peer("dev", ())) as page:
        anything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        await page.admin.create(ROLES, rbac("Role", rules=anything), "default")
        subject = {"apiGroup": ROLES.group, "kind": "User", "name": "dev"}
        ref = {"apiGroup": ROLES.group, "kind": "Role", "name": "dev"}
        await page.admin.create(ROLEBINDINGS, rbac("RoleBinding", roleRef=ref, subjects=[subject]), "default")
        await page.admin.create(PODS, build_pod("db", interceptors=["backup.example.com"]))
        await page.enter()
        text = await page.text_with("/pods/default/db", "No eviction of pod db is requested")
        assert "/act/evict?namespace=default&amp;pod=db" in text
        assert "Whether you may is not known" in text
        assert "You may not read evictionrequests" in text
        assert "hidden from you" in await page.text("/requests")


def rbac(kind: str, **more: Any) -> Obj:
    return {
        "apiVersion": ROLES.api_version,
        "kind": kind,
        "metadata": {"name": "dev", "namespace": "default"},
        **more,
    }


class Slow(SystemClock):
    """A machine on which whatever is measured takes three seconds; what is waited for is written down."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waited: list[float] = []

    def monotonic(self) -> float:
        self.seconds += 3.0
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        if seconds in (ALIVE_SECONDS, ASK_SECONDS):  # these do not wait for pages
            await super().sleep(seconds)
            return
        self.waited.append(seconds)
        await super().sleep(0)


async def test_a_page_that_takes_long_to_make_is_made_again_within_a_second() -> None:
    async with web() as page:
        await drain(page.admin, BLOCKED)
        await page.enter()
        await page.text_with("/drains", "Stuck: 1 cause needs you")
        clock = page.visitors.visitor.site.feed.clock = Slow()
        async with page.stream("/drains") as stream:
            for name in ("firmware", "kernel"):
                await page.admin.create(NODEMAINTENANCES, maintenance(name))
                await stream.until(f"drain/{name}")
            assert clock.waited
            assert max(clock.waited) < 1


async def test_a_tab_that_never_reads_does_not_hold_up_the_others() -> None:
    async with web() as page:
        await page.enter()
        host, port = "127.0.0.1", page.browser.server.port
        cookie = f"{page.visitors.gate.cookie_name}={page.visitors.gate.session}"
        ask = f"GET /events?at=/drains HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n\r\n"
        silent = []
        for _ in range(20):
            _, writer = await asyncio.open_connection(host, port, limit=1)
            writer.write(ask.encode())
            silent.append(writer)
        async with page.stream("/drains") as stream:
            for number in range(30):
                name = f"drain-{number}"
                await page.admin.create(NODEMAINTENANCES, maintenance(name))
            await stream.until("drain/drain-29")
        for writer in silent:
            writer.transport.abort()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        b"\x00\xff\x16\x03\x01 nonsense\r\n\r\n",
        b"POST /act/drain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /drains/%00%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://attacker.example/ HTTP/1.1\r\nHost: attacker.example\r\n\r\n",
    ],
)
async def test_malformed_requests_get_nothing_and_others_are_served(sent: bytes) -> None:
    async with web() as page:
        await page.enter()
        reader, writer = await asyncio.open_connection("127.0.0.1", page.browser.server.port)
        writer.write(sent)
        line = await reader.readline()
        assert not line or int(line.split()[1]) in range(400, 500), line
        writer.close()
        assert "Nothing is stuck" in await page.text("/drains")


@pytest.mark.parametrize(
    "path",
    [
        "/drains/%3Cscript%3E", "/nodes/..%2F..%2Fetc", "/pods/a/b/c/d", "/pods/%00/%0d%0a",
        "/nodes/" + "n" * 4000,
        "/%2Fattacker.example/", "/act/drain?node=%0d%0aX-Evil:1", "/act/none", "/static/..%2Fserver.py",
        "/drains?q=" + "%F0%9F%92%A9" * 300, "/plan?nodes=" + "a," * 400,
        "/events?at=//attacker.example&tab=%00",
        "/drains?open=%00&open=x&q=%ff",
    ],
)  # fmt: skip
async def test_hostile_addresses_are_answered_with_a_page_of_ours(path: str) -> None:
    async with web() as page:
        await page.enter()
        async with page.browser.get(URL(path, encoded=True), allow_redirects=False) as answer:
            assert answer.status in (200, 303, 404)
            assert "X-Evil" not in answer.headers
            assert not answer.headers.get("Location", "/drains").startswith(("//", "http"))
            if answer.content_type == "text/html":
                assert "<script>" not in (await answer.text()).partition("<main")[2]
