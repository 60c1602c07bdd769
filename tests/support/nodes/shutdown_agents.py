"""A shutdown agent beside a node that runs real processes, on an embedded server in memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from support.nodes.agents import NODE, AgentCluster
from support.simulated.shutdown import SimLogind, SimSession
from vacate.api.kinds import NODES
from vacate.api.objects import Obj
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.entropy import system_entropy
from vacate.errors import TransportError
from vacate.metrics import Metrics
from vacate.nodeagent.runtime.protocol import Held
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.protocol import Inhibitor, LogindSession
from vacate.nodeagent.shutdownagent.agent import ShutdownAgent, ShutdownAgentSettings
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext
from vacate.wiring.shutdownagent import build_shutdown_agent

KUBELET_LOCK = Inhibitor("shutdown", "kubelet", "Kubelet needs time to handle node shutdown", "delay")


class PipeLogind(SimLogind):
    """Its locks are real descriptors: one end of a pipe, of which it sees whether the other is still open."""

    def __init__(self) -> None:
        super().__init__(SystemClock(), limit=100.0)
        self.readers: list[int] = []

    async def connect(self) -> LogindSession:  # type: ignore[override]
        await super().connect()
        session = self.sessions[-1] = PipeSession(self)
        return session

    def held(self) -> list[bool]:
        return [not select.select([one], [], [], 0)[0] for one in self.readers]

    def close_all(self) -> None:
        for one in self.readers:
            os.close(one)


class PipeSession(SimSession):
    async def inhibit(self, why: str) -> int:
        assert isinstance(self.logind, PipeLogind)
        reader, writer = os.pipe()
        self.logind.readers.append(reader)
        return writer


class LockHolder:
    """The parent, as far as descriptors go: it outlives agents."""

    def __init__(self) -> None:
        self.fd: int | None = None

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        await self.release()
        self.fd = fd

    async def holds(self, *, listening: bool = False) -> Held | None:
        return Held() if self.fd is not None else None

    async def release(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None


@dataclass
class Kubelet:
    """Answers /configz as a kubelet does, and nothing else."""

    config: Obj = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        self.asked.append(request.path)
        return Response(200, orjson.dumps({"kubeletconfig": self.config}))

    async def aclose(self) -> None:
        return


@dataclass
class FailingTransport:
    """The way to the API server, on which some requests are lost."""

    inner: InProcessTransport
    place: ShutdownAgentCluster

    async def send(self, request: Request) -> Response:
        if self.place.fails(request):
            raise TransportError("the API server is away")
        return await self.inner.send(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class AgentRun:
    """One run of the agent, which can be stopped as its pod is."""

    agent: ShutdownAgent
    stop: asyncio.Event
    task: asyncio.Task[None]

    async def kill(self) -> None:
        """As SIGKILL: the holder is another process, and nothing is tidied up by it."""
        self.task.cancel()
        await asyncio.wait([self.task])


@dataclass
class ShutdownAgentCluster:
    """The node, its logind and its agent."""

    place: AgentCluster
    logind: PipeLogind
    config: ShutdownConfig
    kubelet: Kubelet = field(default_factory=Kubelet)
    holder: LockHolder = field(default_factory=LockHolder)
    pod_uid: str = ""
    boot: str = "boot"
    reload: Callable[[], ShutdownConfig] | None = None
    fails: Callable[[Request], bool] = lambda _: False  # which requests to the API server get no answer

    def start(self) -> AgentRun:
        around = ComponentContext(SystemClock(), system_entropy(), Metrics())
        folder = self.place.folder / "shutdown-agent"
        folder.mkdir(exist_ok=True, parents=True)
        settings = ShutdownAgentSettings(
            NODE, self.config, folder, self.pod_uid, self.boot, reload=self.reload
        )
        transport = FailingTransport(InProcessTransport(self.place.server, ADMIN), self)
        agent = build_shutdown_agent(transport, self.kubelet, settings, self.logind, self.holder, around)
        stop = asyncio.Event()
        return AgentRun(agent, stop, asyncio.get_running_loop().create_task(agent.run(stop)))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[AgentRun]:
        run = self.start()
        try:
            yield run
        finally:
            await run.kill()

    async def node(self) -> Obj:
        return await self.place.client.get(NODES, NODE)

    async def condition(self, type_: str) -> Obj:
        conditions = (await self.node())["status"]["conditions"]
        return next((one for one in conditions if one["type"] == type_), {})

    async def until_condition(self, type_: str, **wanted: Any) -> Obj:
        async def holds() -> Obj:
            found = await self.condition(type_)
            return found if all(found.get(key) == value for key, value in wanted.items()) else {}

        found: Obj = await eventually(holds)
        return found


async def eventually(look: Callable[[], Any]) -> Any:
    """What the look finds, as soon as it finds something."""
    async with asyncio.timeout(60):
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.02)
