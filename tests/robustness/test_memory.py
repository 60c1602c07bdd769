"""Bad requests leave nothing behind: memory after many of them is what it was after few."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from multidict import CIMultiDict, MultiDict

from support.embedded import ADMIN, Embedded, embedded
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
