"""Bad requests leave nothing behind: memory after many of them is what it was after few."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from multidict import CIMultiDict, MultiDict

from support.embedded import ADMIN, Embedded, a_pod, embedded
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.wire.message import Peer, Request

pytestmark = pytest.mark.unit

MAPS = "/api/v1/namespaces/d/configmaps"


def varied(number: int) -> list[Request]:
    """Requests that are all different, so that whatever remembers them grows."""
    text, caller = f"x{number}", f"u{number % 20}"
    json = CIMultiDict({"Content-Type": "application/json"})
    return [
        Request("GET", f"/{text}", peer=ADMIN),
        Request("GET", f"/apis/{text}/v1/things", peer=ADMIN),
        Request("GET", f"{MAPS}/{text}", peer=ADMIN),
        Request("GET", f"/api/v1/{text}", peer=ADMIN),
        Request(text.upper(), MAPS, peer=ADMIN),
        Request("GET", MAPS, MultiDict(labelSelector=f"{text} in ("), peer=ADMIN),
        Request("GET", MAPS, MultiDict(labelSelector=f"{text}=a"), peer=ADMIN),
        Request("GET", MAPS, MultiDict(fieldSelector=f"{text}=a"), peer=ADMIN),
        Request("GET", MAPS, MultiDict({"continue": text}), peer=ADMIN),
        Request("GET", MAPS, headers=CIMultiDict(Accept=f"application/json;as={text}"), peer=ADMIN),
        Request("GET", MAPS, headers=CIMultiDict(Authorization=f"Bearer {text}")),
        Request("GET", MAPS, headers=CIMultiDict({"Impersonate-User": caller}), peer=Peer("mallory")),
        Request("GET", MAPS, headers=CIMultiDict({"Impersonate-User": caller}), peer=ADMIN),
        Request("GET", MAPS, peer=Peer(caller, (caller,), caller)),
        Request("POST", MAPS, headers=json, body=b'{"kind":"%b"}' % text.encode(), peer=ADMIN),
        Request("POST", MAPS, headers=json, body=b"{" + b" " * 50_000 + text.encode(), peer=ADMIN),
        Request("PATCH", f"{MAPS}/c", headers=CIMultiDict({"Content-Type": text}), body=b"{}", peer=ADMIN),
        Request("GET", f"{MAPS}", MultiDict(watch="1", timeoutSeconds="1"), peer=ADMIN),
    ]


async def bombard(server: Embedded, numbers: range) -> int:
    """Send them all and say how much memory is held afterwards."""
    for number in numbers:
        for request in varied(number):
            response = await server.server.handle(request)
            if not isinstance(response.body, bytes):
                await response.body.aclose()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_bad_requests_leave_nothing_behind() -> None:
    async with embedded() as server:
        tracemalloc.start()
        try:
            after_few = await bombard(server, range(100))
            after_many = await bombard(server, range(100, 250))
        finally:
            tracemalloc.stop()
        assert after_many - after_few < 300_000
        assert server.store.watchers == 0


@pytest.mark.thorough
async def test_long_questions_and_texts_are_not_remembered() -> None:
    """Answers and checks are kept for those that come again, and nobody asks these twice."""
    long = "x" * 20_000
    async with embedded() as server:
        tracemalloc.start()
        try:
            for number in range(60):
                text = f"{long}{number}"
                meta = {"name": "n", "labels": {text: text}, "annotations": {text: "a"}}
                await server.server.handle(Request("GET", f"/{text}"))
                await server.server.handle(Request("GET", f"/api/v1/{text}"))
                await server.ask("POST", MAPS, {"metadata": meta})
                limits = {"cpu": "0" * 20_000 + f"{number}"}
                container = {"name": text, "image": text, "resources": {"limits": limits}}
                pod = {"metadata": {"name": "n"}, "spec": {"containers": [container]}}
                await server.ask("POST", "/api/v1/namespaces/d/pods", pod)
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert held < 2_000_000


async def test_the_objects_of_a_server_are_bounded_in_bytes() -> None:
    """Beyond the quota nothing is created, and everything can be deleted, pods with a grace too."""
    limit = 4 * 1024 * 1024
    async with embedded() as server:
        await server.seed(PODS, a_pod("held"))
        server.store.limit(limit)
        created = 0
        while (answer := await server.ask("POST", MAPS, large_map(created))).code == 201:
            created += 1
        assert answer.code == 500
        assert answer.body["reason"] == "InternalError"
        assert "storage is full" in answer.body["message"]
        assert "--storage-quota" in answer.body["message"]
        assert limit - 1024 * 1024 < server.store.size <= limit
        await fill_up(server, limit)
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "d", "name": "held"}}
        assert (await server.ask("POST", "/api/v1/namespaces/d/events", event)).code == 500
        pod = "/api/v1/namespaces/d/pods/held"
        assert (await server.ask("DELETE", pod)).code == 200
        assert (await server.ask("DELETE", pod, {"gracePeriodSeconds": 0})).code == 200
        assert server.stored(PODS, "held") is None
        for number in range(created):
            assert (await server.ask("DELETE", f"{MAPS}/c{number}")).code == 200
        assert (await server.ask("POST", MAPS, large_map(0))).code == 201


def large_map(number: int) -> Obj:
    return {"metadata": {"name": f"c{number}"}, "data": {"text": "x" * 900_000}}


async def fill_up(server: Embedded, limit: int) -> None:
    """Leave no room for any object."""
    meta = {"name": "rest"}
    room = limit - server.store.size - 2 * 1024
    for size in range(room, 0, -256):
        obj = {"metadata": meta, "data": {"text": "x" * size}}
        if (await server.ask("POST", MAPS, obj)).code == 201:
            break
    assert limit - server.store.size < 1024 + 256
