"""The client over a tiny server in the same process."""

from __future__ import annotations

import orjson
import pytest

from support.tiny_server import TinyServer
from vacate.api.kinds import CONFIGMAPS, PODS
from vacate.api.options import ListOptions, WatchOptions
from vacate.api.types import Pod
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.entropy import seeded_entropy
from vacate.errors import AlreadyExists, Conflict, Gone, NotFound, ServiceUnavailable, TransportError
from vacate.sim.faults.transport import Fault, FaultyTransport, RandomPlan, RequestFaultRates, Script
from vacate.wire.framing import frame
from vacate.wire.message import Peer, Request, Response

pytestmark = pytest.mark.unit


def over(server: TinyServer, *faults: Fault) -> Client:
    transport = InProcessTransport(server, Peer("admin"))
    return Client(FaultyTransport(transport, Script(faults), SystemClock()))


async def test_verbs_and_refusals() -> None:
    server = TinyServer()
    client = Client(InProcessTransport(server, Peer("admin", ("team",))), user_agent="test/1")
    made = await client.create(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}}, "default")
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, "default")
    patched = await client.patch(CONFIGMAPS, "a", {"data": {"k": "2"}}, "default")
    assert patched["data"] == {"k": "2"}
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"k": "3"}}
    with pytest.raises(Conflict):
        await client.patch(CONFIGMAPS, "a", stale, "default")
    assert (await client.get(CONFIGMAPS, "a", "default"))["data"] == {"k": "2"}
    await client.delete(CONFIGMAPS, "a", "default")
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "a", "default")
    assert server.requests[0].peer == Peer("admin", ("team",))
    assert server.requests[0].headers["User-Agent"] == "test/1"


async def test_pages() -> None:
    server = TinyServer()
    for number in range(5):
        server.put(PODS, f"p{number}")
    client = over(server)
    names, token = [], ""
    while True:
        page = await client.list(PODS, options=ListOptions(limit=2, continue_token=token), into=Pod)
        names.append([pod.metadata.name for pod in page.items])
        token = page.continue_token
        if not token:
            break
    assert names == [["p0", "p1"], ["p2", "p3"], ["p4"]]


async def test_a_collection_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vacate.client.client.PAGE", 2)
    server = TinyServer()
    for number in range(5):
        server.put(PODS, f"p{number}")
    pages = [page.items async for page in over(server).pages(PODS, into=Pod)]
    assert [[pod.metadata.name for pod in page] for page in pages] == [["p0", "p1"], ["p2", "p3"], ["p4"]]


async def test_a_watch_is_sent_at_the_first_read_and_closed_at_the_end() -> None:
    server = TinyServer()
    server.put(PODS, "a")
    watch = over(server).watch(PODS, options=WatchOptions(resource_version="1"), into=Pod)
    assert server.requests == []
    await watch.open()
    server.put(PODS, "b")
    server.remove(PODS, "a")
    server.streams[0].end()
    stream = server.streams[0]
    seen = [(event.type, event.object.metadata.name) async for event in watch if event.object]
    assert seen == [("ADDED", "b"), ("DELETED", "a")]
    assert stream.closed
    assert await watch.read() is None


async def test_a_refused_watch_raises() -> None:
    server = TinyServer()
    server.put(PODS, "a")
    server.put(PODS, "b")
    server.compact()
    with pytest.raises(Gone):
        await over(server).watch(PODS, options=WatchOptions(resource_version="1")).read()


async def test_what_came_before_an_error_is_handed_out_first() -> None:
    server = TinyServer()
    watch = over(server).watch(PODS, options=WatchOptions(resource_version="0"))
    await watch.open()
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    pod = {"metadata": {"name": "a", "resourceVersion": "5"}}
    server.streams[0].feed(frame("ADDED", orjson.dumps(pod)) + frame("ERROR", orjson.dumps(gone)))
    batch = await watch.read()
    assert batch is not None
    assert [event.resource_version for event in batch] == ["5"]
    with pytest.raises(Gone):
        await watch.read()
    await watch.aclose()
    await watch.aclose()


async def test_a_stream_that_breaks_off_in_a_line_is_an_error() -> None:
    server = TinyServer()
    watch = over(server).watch(PODS, options=WatchOptions(resource_version="0"))
    await watch.open()
    server.streams[0].feed(b'{"type":"ADD')
    server.streams[0].end()
    with pytest.raises(TransportError, match="middle of an event"):
        await watch.read()


async def test_faults() -> None:
    server = TinyServer()
    config = {"metadata": {"name": "a"}}
    client = over(server, Fault(lost=True), Fault(status=503), Fault(unanswered=True))
    with pytest.raises(TransportError, match="request was lost"):
        await client.create(CONFIGMAPS, config, "default")
    with pytest.raises(ServiceUnavailable):
        await client.create(CONFIGMAPS, config, "default")
    assert server.objects == {}
    with pytest.raises(TransportError, match="answer was lost"):
        await client.create(CONFIGMAPS, config, "default")
    assert len(server.objects) == 1
    assert (await client.get(CONFIGMAPS, "a", "default"))["metadata"]["name"] == "a"


async def test_streams_are_cut_and_repeated() -> None:
    server = TinyServer()
    server.put(PODS, "a")
    watch = over(server, Fault(cut_after=1, repeat=True)).watch(
        PODS, options=WatchOptions(resource_version="0")
    )
    assert await watch.read() == await watch.read()
    with pytest.raises(TransportError, match="cut"):
        await watch.read()


def test_a_plan_by_chance_is_the_same_for_the_same_seed() -> None:
    chances = RequestFaultRates(
        delay=2.0, lost=0.2, unanswered=0.2, refused=0.2, cut=0.3, stall=0.1, repeat=0.5
    )
    request = Request("GET", "/api/v1/pods")
    first, second = (
        [RandomPlan(chances, entropy).fault(request) for _ in range(50)]
        for entropy in (seeded_entropy(3), seeded_entropy(3))
    )
    assert first == second
    assert any(fault.lost for fault in first)
    assert any(not fault.lost for fault in first)


async def test_a_stream_where_none_belongs_is_closed() -> None:
    server = TinyServer()

    class Odd:
        async def handle(self, request: Request) -> Response:
            request.query.add("watch", "true")  # type: ignore[union-attr]
            return await server.handle(request)

    with pytest.raises(TransportError, match="answered with a stream"):
        await Client(InProcessTransport(Odd())).list(PODS)
    assert server.streams == []
