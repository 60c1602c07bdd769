"""An owner that keeps a pod from being evicted counts only while it exists with the UID of the reference."""

from __future__ import annotations

import pytest

from support.tiny_server import TinyServer
from vacate.api.kinds import NODES
from vacate.api.status import forbidden
from vacate.api.types import ObjectMeta, OwnerReference, Pod
from vacate.client.client import Client
from vacate.controllers.eviction.owners import DAEMONSETS, owner_exists
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit


def a_pod(uid: str, kind: str = "DaemonSet", version: str = "apps/v1") -> Pod:
    owner = OwnerReference(api_version=version, kind=kind, name="agent", uid=uid, controller=True)
    return Pod(metadata=ObjectMeta(name="agent-x", namespace="default", uid="p", owner_references=[owner]))


def client_of(server: TinyServer) -> Client:
    return Client(InProcessTransport(server))


@pytest.mark.parametrize(("uid", "owned"), [("real", True), ("made-up", False)])
async def test_a_daemon_set_counts_by_its_uid(uid: str, owned: bool) -> None:
    server = TinyServer(kinds=[DAEMONSETS])
    made = server.put(DAEMONSETS, "agent")
    pod = a_pod(made["metadata"]["uid"] if uid == "real" else uid)
    assert await owner_exists(client_of(server), pod) is owned


async def test_a_daemon_set_that_is_not_there_does_not_count() -> None:
    assert not await owner_exists(client_of(TinyServer(kinds=[DAEMONSETS])), a_pod("u"))


async def test_a_node_counts_by_its_uid() -> None:
    server = TinyServer(kinds=[NODES])
    server.objects["nodes", "", "agent"] = {"metadata": {"name": "agent", "uid": "n"}}
    assert await owner_exists(client_of(server), a_pod("n", "Node", "v1"))
    assert not await owner_exists(client_of(server), a_pod("made-up", "Node", "v1"))


async def test_what_cannot_be_found_out_counts_as_it_stands() -> None:
    """Evicted by mistake, a pod of a DaemonSet would come back for ever."""

    class Closed(TinyServer):
        async def handle(self, request: Request) -> Response:
            raise forbidden(DAEMONSETS, "agent", "not for you")

    assert await owner_exists(client_of(Closed()), a_pod("u"))
