"""An agent that starts in the middle of a shutdown: hooks run before SIGTERM, once, and no status is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.nodes.agents import NODE, AgentCluster, agent_place, ready
from support.nodes.shutdown_agents import PipeLogind, eventually
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.bootstrap.identities import node
from vacate.errors import TransportError
from vacate.nodeagent.podrecord import FILE
from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.process

SCRIPT = "trap 'echo term >> events; exit 3' TERM; echo on; while :; do sleep 0.02; done"
STUBBORN = "trap 'echo term >> events' TERM; echo on; while :; do sleep 0.02; done"
HOOK = (
    "echo hook $KUBE_POD_TERM_REASON $NAME >> events; until [ -e go ]; do sleep 0.02; done; "
    "echo done >> events"
)


@dataclass
class Line:
    """The way to an API server, which may not answer."""

    server: ApiServer
    away: bool = True

    async def send(self, request: Request) -> Response:
        if self.away:
            raise TransportError("the API server is away")
        return await InProcessTransport(self.server, node(NODE)).send(request)

    async def aclose(self) -> None:
        return


@pytest.fixture
def seconds() -> float:
    """Of the only bucket."""
    return 60.0


@pytest.fixture
async def logind() -> AsyncIterator[PipeLogind]:
    made = PipeLogind()
    yield made
    await made.stop()
    made.close_all()


@pytest.fixture
async def place(tmp_path: Path, logind: PipeLogind, seconds: float) -> AsyncIterator[AgentCluster]:
    config = ShutdownConfig((Bucket(0, seconds),), "")
    async with agent_place(tmp_path / "node", logind=logind, shutdown=config) as made:
        await eventually(lambda: logind.held()[-1:] == [True])
        yield made
        for one in (await made.client.list(PODS, "default")).items:
            options = DeleteOptions(grace_period_seconds=0)
            await made.client.delete(PODS, one["metadata"]["name"], "default", options)
        if logind.is_preparing:  # an agent that ended before would leave the lock to the next one
            await eventually(lambda: logind.held()[-1] is False)


async def run_hooked(place: AgentCluster, script: str = SCRIPT) -> Obj:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", HOOK]}}}
    env = [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    made = await place.create("db", script, container={"lifecycle": hook, "env": env})
    await place.logged(made, "on")
    await place.until("db", ready)
    return made


@contextlib.asynccontextmanager
async def started(place: AgentCluster, *, api: bool) -> AsyncIterator[None]:
    """An agent that runs, also where it waits for the API server for ever."""
    starting = asyncio.create_task(place.start_agent(transport=Line(place.server, not api)))
    try:
        yield
    finally:
        starting.cancel()
        await asyncio.wait([starting])


def events(place: AgentCluster, pod: Obj) -> list[str]:
    file = place.own_folder(pod) / "events"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.thorough
@pytest.mark.parametrize("api", [True, False], ids=["api", "no api"])
@pytest.mark.parametrize("stage", ["idle", "hook"])
async def test_hooks_run_before_sigterm_and_once(
    place: AgentCluster, logind: PipeLogind, stage: str, api: bool
) -> None:
    db = await run_hooked(place)
    if stage == "hook":
        logind.power_off()
        await eventually(lambda: events(place, db))
    await place.stop_agent()
    logind.is_preparing = True
    async with started(place, api=api):
        await eventually(lambda: events(place, db))
        await asyncio.sleep(0.3)  # time in which a wrong SIGTERM, or a second hook, would come
        assert events(place, db) == ["hook Eviction db"]
        place.let_end(db)
        await eventually(lambda: len(events(place, db)) == 3)
        assert events(place, db) == ["hook Eviction db", "done", "term"]
    if not api:
        await place.stop_agent()
        await place.start_agent()
    ended = await place.until("db", lambda one: one["status"]["phase"] == "Failed")
    assert ended["status"]["reason"] == "Terminated"


class HookService:
    """What an HTTP hook calls; it answers when it is let."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.go = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.calls.append(head.split()[1] + head.partition("KUBE-POD-TERM-REASON:")[2].splitlines()[0])
        await self.go.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()


@pytest.mark.parametrize("stage", ["sent", "recorded"])
async def test_an_http_hook_is_sent_once_and_waited_for(
    place: AgentCluster, logind: PipeLogind, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the agent dies between the record of the stage and the request."""
    service, recorded, sending = HookService(), asyncio.Event(), ProcessRuntime.exec

    async def stalls(self: ProcessRuntime, *given: Any, **more: Any) -> Any:
        if more.get("once"):
            recorded.set()
            await asyncio.Event().wait()
        return await sending(self, *given, **more)

    server = await asyncio.start_server(service.handle, "127.0.0.1")
    async with server:
        action = {"host": "127.0.0.1", "port": server.sockets[0].getsockname()[1], "path": "/bye"}
        hook = {"lifecycle": {"preStop": {"httpGet": action}}}
        db = await place.create("db", SCRIPT, container=hook)
        await place.logged(db, "on")
        await place.until("db", ready)
        if stage == "recorded":
            monkeypatch.setattr(ProcessRuntime, "exec", stalls)
        logind.power_off()
        await eventually(lambda: bool(service.calls) if stage == "sent" else recorded.is_set())
        await place.stop_agent()
        monkeypatch.setattr(ProcessRuntime, "exec", sending)
        async with started(place, api=False):
            await eventually(lambda: service.calls)
            await asyncio.sleep(0.3)  # time in which a wrong SIGTERM, or a second request, would come
            assert (service.calls, events(place, db)) == (["/bye Eviction"], [])
            service.go.set()
            await eventually(lambda: events(place, db) == ["term"])
        assert len(service.calls) == 1
    await place.stop_agent()
    await place.start_agent()
    await place.until("db", lambda one: one["status"]["phase"] == "Failed")


async def test_a_pod_without_a_record_waits_for_the_api_server(
    place: AgentCluster, logind: PipeLogind
) -> None:
    """As after an update from a version that kept none."""
    db = await run_hooked(place)
    await place.stop_agent()
    (place.settings.pods_folder / db["metadata"]["uid"] / FILE).unlink()
    logind.is_preparing = True
    place.let_end(db)
    await place.start_agent()
    await eventually(lambda: len(events(place, db)) == 3)
    assert events(place, db) == ["hook Eviction db", "done", "term"]


@pytest.mark.thorough
@pytest.mark.parametrize("stage", ["hook", "term"])
async def test_a_deletion_goes_on_where_it_was(place: AgentCluster, stage: str) -> None:
    db = await run_hooked(place, STUBBORN)
    await place.client.delete(PODS, "db", "default")
    await eventually(lambda: events(place, db))
    if stage == "term":
        place.let_end(db)
        await eventually(lambda: "term" in events(place, db))
    await place.stop_agent()
    async with started(place, api=False):
        place.let_end(db)
        await eventually(lambda: "term" in events(place, db))
        await asyncio.sleep(0.3)
        assert events(place, db) == ["hook db", "done", "term"]
    await place.stop_agent()
    await place.start_agent()
    await place.client.delete(PODS, "db", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("db")


@pytest.mark.parametrize("seconds", [2.0])
async def test_a_pod_that_is_killed_in_the_last_bucket_is_failed(
    place: AgentCluster, logind: PipeLogind
) -> None:
    await run_hooked(place, STUBBORN)  # its hook never ends either
    logind.power_off()
    await eventually(lambda: logind.held()[-1] is False)
    found = await place.get("db")  # the lock was not released before it was written
    assert found is not None
    assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Terminated")


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [3.0])
async def test_an_api_server_that_is_back_after_the_next_boot_learns_how_it_ended(
    place: AgentCluster, logind: PipeLogind
) -> None:
    db = await run_hooked(place, STUBBORN)
    await place.stop_agent()
    line = Line(place.server, away=False)
    await place.start_agent(transport=line)
    await eventually(lambda: logind.held()[-1] is True)
    line.away = True
    began = place.clock.monotonic()
    logind.power_off()
    await eventually(lambda: logind.held()[-1] is False)
    assert place.clock.monotonic() - began >= 3.0  # as long as it may, it waits for the API server
    await place.stop_agent()
    stale = await place.get("db")
    assert stale is not None
    assert stale["status"]["phase"] == "Running"
    logind.cancel()
    before = events(place, db)
    await place.start_agent("another")
    found = await place.until("db", lambda one: one["status"]["phase"] == "Failed")
    assert found["status"]["reason"] == "Terminated"
    assert found["status"]["containerStatuses"][0]["restartCount"] == 0
    assert events(place, db) == before
