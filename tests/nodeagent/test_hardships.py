"""Pods as processes when hooks fail, the clock is set, the disk is full, or the agent dies at any request."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.effort import CRASH_STEP
from support.nodes.agents import NODE, AgentCluster, agent_place, main_status, ready
from support.nodes.containers import processes_of
from vacate.api.kinds import EVENTS, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.bootstrap.identities import node
from vacate.errors import Conflict, TransportError
from vacate.nodeagent.containers.manager import ContainerManager
from vacate.nodeagent.podworker import PodWorker
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

ENDS = "trap 'echo ended; exit 3' TERM; echo on; while :; do sleep 0.02; done"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[AgentCluster]:
    async with agent_place(tmp_path) as made:
        yield made


async def event_messages(place: AgentCluster, reason: str) -> str:
    """The messages of Events with the reason, once there is one."""
    async with asyncio.timeout(60):
        while True:
            found = await place.client.list(EVENTS, "default")
            if texts := [one["message"] for one in found.items if one["reason"] == reason]:
                return "\n".join(texts)
            await asyncio.sleep(0.02)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ({"exec": {"command": ["sh", "-c", "echo broken; exit 7"]}}, "broken"),
        ({"exec": {"command": ["no-such-program"]}}, "no-such-program"),
        ({"httpGet": {"port": 1}}, "PreStopHook failed"),
    ],
)
async def test_a_prestop_hook_that_fails_is_an_event_and_the_end_goes_on(
    place: AgentCluster, hook: Obj, words: str
) -> None:
    made = await place.create("web", ENDS, container={"lifecycle": {"preStop": hook}})
    await place.logged(made, "on")
    await place.until("web", ready)
    last, output = await place.output_until_deleted(made)
    assert output.endswith("ended\n")
    assert main_status(last)["state"]["terminated"]["exitCode"] == 3
    assert words in await event_messages(place, "FailedPreStopHook")


async def test_a_container_that_cannot_be_prepared_says_why_and_is_tried_again_after_a_pause(
    place: AgentCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, start = list[str](), ContainerManager.start

    def counted(self: ContainerManager, held: PodWorker, name: str) -> None:
        tries.append(name)
        start(self, held, name)

    monkeypatch.setattr(ContainerManager, "start", counted)
    mount = {"name": "data", "mountPath": "/data", "subPath": "a\0b"}  # which API servers take
    volumes = [{"name": "data", "emptyDir": {}}]
    await place.create("web", "exec sleep 1000", container={"volumeMounts": [mount]}, volumes=volumes)
    shown = await place.until("web", lambda one: "message" in main_status(one)["state"].get("waiting", {}))
    waiting = main_status(shown)["state"]["waiting"]
    assert (waiting["reason"], waiting["message"]) == ("CreateContainerError", "embedded null byte")
    assert tries == ["main"]
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")


class SettableClock(SystemClock):
    """The wall clock of a machine that someone sets."""

    ahead = dt.timedelta()

    def now(self) -> dt.datetime:
        return super().now() + self.ahead


@pytest.mark.parametrize("days", [-400, 400])
async def test_a_clock_that_is_set_in_the_middle_changes_no_grace_and_starts_and_restarts_go_on(
    tmp_path: Path, days: int
) -> None:
    clock = SettableClock()
    async with agent_place(tmp_path, clock=clock) as place:
        hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo > asked; sleep 1; echo > finished"]}}}
        script = "trap 'test -f finished && echo whole; exit 0' TERM; echo on; while :; do sleep 0.02; done"
        made = await place.create("web", script, container={"lifecycle": hook})
        again = await place.create("again", "test -f once && exec sleep 1000; echo > once; exit 1")
        await place.logged(made, "on")
        await place.until("web", ready)
        deleting = asyncio.create_task(place.output_until_deleted(made))
        own = place.settings.pods_folder / made["metadata"]["uid"] / "containers/main"
        while not (own / "asked").exists():  # noqa: ASYNC110  a file tells nobody
            await asyncio.sleep(0.01)
        clock.ahead = dt.timedelta(days=days)
        _, output = await deleting
        assert output.endswith("whole\n")
        assert main_status(await place.until("again", ready))["restartCount"] == 1
        later = await place.create("later", "echo on; exec sleep 1000")
        await place.logged(later, "on")
        for name in (again["metadata"]["name"], "later"):
            await place.client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=1))
            await place.gone(name)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"this machine mounts nothing: {mounted.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_on_a_full_disk_what_runs_goes_on_and_a_new_pod_waits_until_there_is_space(
    small_disk: Path,
) -> None:
    async with agent_place(small_disk / "node") as place:
        before = await place.create("before", ENDS)
        await place.logged(before, "on")
        await place.until("before", ready)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 512)
        blocked = await place.create("blocked", "echo on; exec sleep 1000")
        await place.until(
            "blocked", lambda one: "No space left" in str(main_status(one))
        )  # or its last state
        last, _ = await place.output_until_deleted(before)
        assert main_status(last)["state"]["terminated"]["exitCode"] == 3
        filler.unlink()
        await place.logged(blocked, "on")
        await place.client.delete(PODS, "blocked", "default", DeleteOptions(grace_period_seconds=1))
        await place.gone("blocked")


class RefusingTransport(InProcessTransport):
    """Answers the first attempt to remove a pod with a conflict, as something between agent and store may."""

    refused = False

    async def send(self, request: Request) -> Response:
        if request.method == "DELETE" and not self.refused:
            self.refused = True
            raise Conflict("try again")
        return await super().send(request)


async def test_a_pod_whose_removal_meets_a_conflict_goes_all_the_same(place: AgentCluster) -> None:
    await place.stop_agent()
    transport = RefusingTransport(place.server, node(NODE))
    await place.start_agent(transport=transport)
    made = await place.create("web", ENDS)
    await place.logged(made, "on")
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")
    assert transport.refused


class DyingTransport(InProcessTransport):
    """Answers so many requests and none after them, as for an agent that was killed in the middle of one."""

    def __init__(self, place: AgentCluster, answers: int) -> None:
        super().__init__(place.server, node(NODE))
        self.left, self.count = answers, 0
        self.dead = asyncio.Event()

    async def send(self, request: Request) -> Response:
        self.count += 1
        if self.dead.is_set():
            raise TransportError("the agent is dead")
        if self.count > self.left:
            self.dead.set()
            await asyncio.Event().wait()
        return await super().send(request)


async def _die(place: AgentCluster, transport: DyingTransport) -> None:
    """Start an agent, and another one when it has died."""
    starting = asyncio.create_task(place.start_agent(transport=transport))
    await transport.dead.wait()
    starting.cancel()
    await asyncio.wait([starting])
    await place.stop_agent()
    await place.start_agent()


async def lived(place: AgentCluster, number: int, answers: int) -> tuple[bool, int]:
    """A pod from its creation to its end, with an agent that dies after so many requests; whether it died."""
    transport = DyingTransport(place, answers)
    await place.stop_agent()
    dying = asyncio.create_task(_die(place, transport))
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook"]}}}
    init = [{"name": "first", "image": "none", "command": ["sh", "-c", "echo first"]}]
    name = f"web-{number}"
    made = await place.create(name, ENDS, container={"lifecycle": hook}, initContainers=init)
    try:
        running = await place.logged(made, "on")
        initial = await place.logged(made, "first", "first")
        shown = await place.until(name, ready)
        assert (running, initial) == ("on\n", "first\n"), "a container ran twice"
        assert main_status(shown)["restartCount"] == 0
        await place.client.delete(PODS, name, "default")
        await place.gone(name)
    finally:
        if not transport.dead.is_set():
            dying.cancel()
        await asyncio.wait([dying])
    assert not any(made["metadata"]["uid"] in one.name for one in place.settings.pods_folder.iterdir())
    return transport.dead.is_set(), transport.count


@pytest.mark.thorough
async def test_killed_at_every_request_it_runs_each_container_once_and_ends_it(tmp_path: Path) -> None:
    async with agent_place(tmp_path) as place:
        died, answers = True, 0
        while died:
            answers += CRASH_STEP
            died, count = await lived(place, answers, answers)
        assert count > 10, "the agent sends more requests than that for one pod"
        assert len([pid for pid in processes_of(tmp_path) if pid]) <= 1  # the supervisor
