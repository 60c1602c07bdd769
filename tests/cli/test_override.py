"""The administrator's override, while others write to the same request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from support.embedded import ADMIN, Embedded, a_pod, embedded
from vacate.api.identity import EVICTION_CONTROLLER, MASTERS
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.cancel.override import override
from vacate.cli.common.connection import Cluster
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import VacateError
from vacate.wire.message import Peer, Request, Response

pytestmark = pytest.mark.unit

NAME = "uid-p"
PATH = EVICTIONREQUESTS.object_path(NAME, "d")


class Meddled(InProcessTransport):
    """Someone else acts just before some of the requests that change things."""

    def __init__(
        self, server: Embedded, meddle: Callable[[int], Awaitable[None]], peer: Peer = ADMIN
    ) -> None:
        super().__init__(server.server, peer)
        self._meddle = meddle
        self._changes = 0

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH":
            self._changes += 1
            await self._meddle(self._changes)
        return await super().send(request)


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as running:
        await running.seed(PODS, a_pod(spec={"evictionInterceptors": [{"name": "a.example.com"}]}))
        body = {
            "apiVersion": EVICTIONREQUESTS.api_version,
            "kind": EVICTIONREQUESTS.kind,
            "metadata": {"name": NAME},
            "spec": {
                "target": {"podRef": {"name": "p", "uid": NAME}},
                "requesters": [{"name": "x.example.com"}, {"name": "y.example.com"}],
            },
        }
        made = await running.ask("POST", EVICTIONREQUESTS.collection_path("d"), body)
        assert made.code == 201, made.message
        yield running


async def status(server: Embedded, peer: Peer = ADMIN, **fields: Any) -> None:
    patch = await server.ask(
        "PATCH", f"{PATH}/status", {"status": fields}, content_type="application/merge-patch+json", peer=peer
    )
    assert patch.code == 200, patch.message


async def end(server: Embedded) -> None:
    """The controller has seen that the pod is gone."""
    done = {
        "type": "Complete",
        "status": "True",
        "reason": "PodDeleted",
        "message": "",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }
    gone = await server.ask("DELETE", PODS.object_path("p", "d"), {"gracePeriodSeconds": 0})
    assert gone.code == 200, gone.message
    controller = Peer(EVICTION_CONTROLLER, (MASTERS,))
    await status(server, controller, conditions=[done], message="The pod is deleted.")


def stored(server: Embedded) -> Obj:
    found = server.stored(EVICTIONREQUESTS, NAME)
    assert found is not None
    return found


async def nobody(_number: int) -> None:
    """Does not meddle."""


async def overridden(server: Embedded, meddle: Callable[[int], Awaitable[None]] = nobody) -> str:
    client = Client(Meddled(server, meddle))
    request = msgspec.convert(stored(server), EvictionRequest)
    return await override(Cluster(client, "d", server.clock), request, "me.cli.vacate.dev")


async def events(server: Embedded) -> list[Obj]:
    found: list[Obj] = (await server.ask("GET", EVENTS.collection_path("d"))).body["items"]
    return found


async def test_everyone_is_removed(server: Embedded) -> None:
    result = await overridden(server)
    assert result == "is not evicted: all requesters were removed (x.example.com and y.example.com)"
    assert not stored(server)["spec"].get("requesters")
    (event,) = await events(server)
    assert (event["reason"], event["type"]) == ("CancellationOverridden", "Warning")
    assert event["message"] == "admin removed all requesters (x.example.com and y.example.com)."


async def test_forbid_is_undone_first(server: Embedded) -> None:
    await status(server, evictionRequestCancellationPolicy="Forbid")
    assert "Forbid was set to Allow" in await overridden(server)
    assert stored(server)["status"]["evictionRequestCancellationPolicy"] == "Allow"
    assert not stored(server)["spec"].get("requesters")
    (event,) = await events(server)
    assert event["message"] == (
        "admin set the cancellation policy from Forbid to Allow and removed all requesters "
        "(x.example.com and y.example.com)."
    )


async def test_an_interceptor_that_forbids_it_meanwhile(server: Embedded) -> None:
    async def forbid(number: int) -> None:
        if number == 1:
            await status(server, evictionRequestCancellationPolicy="Forbid")

    assert "Forbid was set to Allow" in await overridden(server, forbid)
    assert not stored(server)["spec"].get("requesters")


async def test_someone_who_joins_meanwhile_is_removed_too(server: Embedded) -> None:
    async def join(number: int) -> None:
        if number == 1:
            names = [{"name": name} for name in ("x.example.com", "y.example.com", "z.example.com")]
            await server.ask(
                "PATCH", PATH, {"spec": {"requesters": names}}, content_type="application/merge-patch+json"
            )

    assert "z.example.com" in await overridden(server, join)
    assert not stored(server)["spec"].get("requesters")


async def test_a_request_that_ends_meanwhile(server: Embedded) -> None:
    async def meanwhile(number: int) -> None:
        if number == 1:
            await end(server)

    with pytest.raises(VacateError, match=r"it is too late: The pod is deleted\."):
        await overridden(server, meanwhile)
    assert await events(server) == []


async def test_a_request_that_never_stands_still(server: Embedded) -> None:
    async def touch(number: int) -> None:
        await status(server, message=f"step {number}")

    with pytest.raises(VacateError, match="changes too quickly"):
        await overridden(server, touch)
    assert len(stored(server)["spec"]["requesters"]) == 2


async def test_what_was_done_before_a_refusal_is_reported(server: Embedded) -> None:
    await status(server, evictionRequestCancellationPolicy="Forbid")

    async def end_the_pod(number: int) -> None:
        if number == 2:
            await end(server)

    with pytest.raises(VacateError):
        await overridden(server, end_the_pod)
    (event,) = await events(server)
    assert event["message"] == "admin set the cancellation policy from Forbid to Allow."


async def test_nobody_left_to_remove(server: Embedded) -> None:
    """Forbid and an empty list coexist where the list was emptied just before."""
    await server.ask("PATCH", PATH, {"spec": {"requesters": []}}, content_type="application/merge-patch+json")
    result = await overridden(server)
    assert result == "is not evicted: all requesters were removed (none)"
